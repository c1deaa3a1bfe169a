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

struct arena;
struct graph;
struct points;

/*
 * Hashes of one path, from exact to coarse.  Each is a function of the one
 * before it: paths that are the same at one level are so at all after it.
 * All hold the request type, all but the last which bins are on the path.
 */
enum cshape {
	CSHAPE_EXACT,		/* steps in order: tracepoints, entry or exit, bins */
	CSHAPE_REPEATS,		/* the same child again and again is once; of bins which */
	CSHAPE_UNORDERED,	/* of the children of each span on the path only which */
	CSHAPE_POINTS,		/* the set of tracepoints on the path */
	CSHAPE_ENTRIES,		/* the set of those by which it entered another service */
	CSHAPE_TYPE,		/* the request type alone */
	CSHAPE_CNT,
};

struct cstep {
	int64_t edge_ns;	/* from the step before; 0 for the first */
	int64_t at_ns;		/* as the node's */
	uint32_t point;
	uint32_t span;		/* index in the trace */
	uint32_t owner;		/* span that ran during the edge; its own for the first */
	uint32_t owner_point;
	uint8_t kind;		/* enum node_kind */
	uint8_t pad[7];
};

struct cpath {
	const struct cstep *steps;
	uint32_t step_cnt;
	int64_t total_ns;
	uint64_t hash;			/* shape[CSHAPE_EXACT] */
	uint64_t shape[CSHAPE_CNT];	/* the same in every run and process */
};

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
