/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KNOWN_SPACE_H
#define KNOWN_SPACE_H
/*
 * The search space that a run keeps for later ones (requests/forest/space_file.h): --space FILE of
 * replay and explore.
 */
#include <stdbool.h>

struct err;
struct points;
struct space;
struct strtab;

/* Adds the file's to space.  Where there is no file yet that is no error: *ret_known says so. */
int known_space_read(const char *path, struct space *space, struct points *points,
		     struct strtab *strings, bool *ret_known, struct err *err);

int known_space_write(const char *path, const struct space *space, const struct points *points,
		      const struct strtab *strings, struct err *err);

#endif /* KNOWN_SPACE_H */
