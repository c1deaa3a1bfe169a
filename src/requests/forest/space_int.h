/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPACE_INT_H
#define SPACE_INT_H
/*
 * From one full trace, as graph and critical path, to what the search space
 * keeps of it.  Private to space.c.
 */
#include "requests/graph/critical.h"
#include "requests/graph/graph.h"
#include "requests/forest/space.h"

enum {
	SPACE_BRANCHES_MAX = 256,  /* of one trace: of the forks, the earliest */
};

struct space_lesson {
	struct space *space;
	const struct trace *trace;
	const struct points *points;
	const struct strtab *strings;
	struct arena *arena;
	struct graph graph;
	struct cpath path;
};

/* Puts type, points, contexts, paths, keys and the sample. */
void space_learn(const struct space_lesson *l);

/* Adds to the context under c->parent; its number, UINT32_MAX when there are too many. */
uint32_t space_context(struct space *s, uint64_t type, const struct space_context *c);

#endif /* SPACE_INT_H */
