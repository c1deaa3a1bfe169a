/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CPATH_H
#define CPATH_H
/* A critical path: its steps, and hashes of it from exact to coarse. */
#include <stdint.h>

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

#endif /* CPATH_H */
