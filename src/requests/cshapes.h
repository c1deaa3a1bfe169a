/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CSHAPES_H
#define CSHAPES_H
/* The hashes of a critical path: see enum cshape. */
#include "requests/critical.h"

/* Sets shape[] of a path that has its steps. */
void cshapes_make(const struct graph *graph, const struct points *points, struct arena *arena,
		  struct cpath *path);

#endif /* CSHAPES_H */
