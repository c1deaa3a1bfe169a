/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FOREST_FILE_READ_H
#define FOREST_FILE_READ_H
/*
 * A hypothesis forest from its file, and the way of one request through it.
 */
struct arena;
struct err;
struct forest;
struct forest_walked;
struct points;
struct strtab;
struct trace;

/* Tracepoints and strings are added to points and strings, the rest lives in arena. */
int forest_file_read(const char *path, struct points *points, struct strtab *strings,
		     struct arena *arena, struct forest *ret, struct err *err);

/* -EINVAL: the request has no path.  ret->tree is FOREST_NONE where there is none of its type. */
int forest_walked_make(const struct forest *f, const struct trace *t, struct points *points,
		       const struct strtab *strings, struct arena *arena,
		       struct forest_walked *ret);

#endif /* FOREST_FILE_READ_H */
