/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRITICAL_H
#define CRITICAL_H
/*
 * The critical path of a request: from its end back to its start, at each
 * node to the pred that came last.  What is on it could not have been late
 * without the request being late.
 *
 * An edge is the time from one step to the next; edges add up to the total
 * exactly.  Linear in the steps; never enumerates paths.
 */
#include <stddef.h>
#include <stdint.h>

#include "requests/graph/cpath.h"

struct arena;
struct graph;
struct points;

/* Steps and total alone; they live in arena. */
void critical_steps(const struct graph *graph, struct arena *arena, struct cpath *ret);

/* The path lives in arena.  Cannot fail on what graph_build made. */
int critical_path(const struct graph *graph, const struct points *points, struct arena *arena,
		  struct cpath *ret);

/* A stretch of the path in which one span ran: neighbouring edges of one owner. */
struct csection {
	uint32_t span;
	int64_t begin_ns, end_ns;	/* from the root's begin */
};

/* In order of time, empty ones left out; lives in arena. */
const struct csection *critical_sections(const struct cpath *path, struct arena *arena,
					 size_t *ret_cnt);

#endif /* CRITICAL_H */
