/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMPORT_H
#define IMPORT_H
/*
 * Traces of system calls that other programs wrote, as sources: text of
 * strace, perf trace and perf script, packed by gzip or not, and directories
 * of LTTng (CTF).  The content shows the format.  Lines that are not
 * understood are counted and shown, never fatal; memory does not grow with
 * the length of the trace.
 *
 * To add a format: 1. fill a struct import_format (import_int.h) in a file of
 * its own, 2. name it in the table of import.c, 3. tests/unit/t_import.c runs
 * its fixtures, tests/fuzz/fuzz_import_NAME.c its fuzz target.
 */
#include <stdbool.h>
#include <stddef.h>

struct err;
struct source;

/*
 * fd is taken over; first holds what was read of it.  -EBADMSG: it is no
 * trace that is known, fd is closed.
 */
int import_open(int fd, const char *path, const void *first, size_t first_len,
		struct source **ret_src, struct err *err);

/* A directory.  -EBADMSG: no trace is in it; -ENOTSUP: built without libbabeltrace2. */
int import_open_dir(const char *path, struct source **ret_src, struct err *err);

#endif /* IMPORT_H */
