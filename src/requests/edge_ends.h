/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_ENDS_H
#define EDGE_ENDS_H
/*
 * One end of an edge, and the two sets of requests: plain values, part of
 * edge_rank.h and lost_spans.h.
 */
#include <stdint.h>

enum edge_rank_side { EDGE_RANK_BAD, EDGE_RANK_GOOD, EDGE_RANK_SIDES };

struct edge_rank_end {
	uint32_t point;
	uint32_t kind;		/* enum node_kind */
};

#endif /* EDGE_ENDS_H */
