/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPACE_FILE_H
#define SPACE_FILE_H
/*
 * A search space (space.h) to bytes and back.  Reading adds to a space, which
 * is how what several runs learnt is put together.  The bytes depend on what
 * was learnt only, not on its order and not on numbers of tracepoints or
 * strings.  docs/forest-file.md describes them.  No files: see
 * cli/files/packed_file.h.
 */
#include <stddef.h>

struct buf;
struct err;
struct points;
struct space;
struct strtab;

#define SPACE_FILE_WHAT "space"
enum { SPACE_FILE_VERSION = 2 };

/* Appends to out.  points and strings are those of the space. */
void space_write(const struct space *s, const struct points *points,
		 const struct strtab *strings, struct buf *out);

/*
 * Adds what is in the bytes to s, whose points and strings these are.  Any
 * bytes may be given: -EINVAL with the offset for what is no space, and s is
 * as it was but for tracepoints and strings.
 */
int space_read(const void *bytes, size_t len, struct points *points, struct strtab *strings,
	       struct space *s, struct err *err);

#endif /* SPACE_FILE_H */
