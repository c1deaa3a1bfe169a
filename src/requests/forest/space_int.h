/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPACE_INT_H
#define SPACE_INT_H
/*
 * From one full trace, as graph and critical path, to what the search space
 * keeps of it.  Private to space.c and space_learn.c.
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
	struct points *points;
	const struct strtab *strings;
	struct arena *arena;
	struct graph graph;
	struct cpath path;
};

/* All but the graph and the path; forgets the lesson before. */
void space_lesson_begin(struct space *s, const struct trace *t, struct space_lesson *ret);

/* Counts a trace that no graph could be made of. */
void space_bad_trace(struct space *s);

/* Adds to the context under c->parent; its number, UINT32_MAX when there are too many. */
uint32_t space_context(struct space *s, uint64_t type, const struct space_context *c);

#endif /* SPACE_INT_H */
