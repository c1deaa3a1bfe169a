/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATH_HASH_H
#define PATH_HASH_H
/* The hashes of a critical path: see enum cshape. */
#include "requests/graph/cpath.h"

struct arena;
struct graph;
struct points;

/* Sets shape[CSHAPE_EXACT] and hash of a path that has its steps. */
void cshape_exact(const struct graph *graph, const struct points *points, struct cpath *path);

/* Sets all of them. */
void cshapes_make(const struct graph *graph, const struct points *points, struct arena *arena,
		  struct cpath *path);

#endif /* PATH_HASH_H */
