/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CSHAPES_H
#define CSHAPES_H
/* The hashes of a critical path: see enum cshape. */
#include "requests/critical.h"

/* Sets shape[CSHAPE_EXACT] and hash of a path that has its steps. */
void cshape_exact(const struct graph *graph, const struct points *points, struct cpath *path);

/* Sets all of them. */
void cshapes_make(const struct graph *graph, const struct points *points, struct arena *arena,
		  struct cpath *path);

#endif /* CSHAPES_H */
