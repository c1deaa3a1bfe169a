/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GRAPH_STATS_H
#define GRAPH_STATS_H
/* Rules that were applied while traces became trees and graphs (graph.h says which), counted. */
#include <stdint.h>

enum { GRAPH_SPAN_MAX = 1 << 22 };	/* of one trace: -E2BIG above */

struct graph_stats {
	uint64_t trace_cnt, span_cnt;
	uint64_t duplicate_cnt, same_id_cnt, shared_cnt;
	uint64_t orphan_cnt, extra_root_cnt, rootless_cnt;	/* rootless: traces */
	uint64_t outside_cnt, async_cnt, cycle_cnt;
	uint64_t open_cnt, negative_cnt;
	uint64_t ref_lost_cnt, ref_backward_cnt, raised_cnt, join_cut_cnt;
	uint64_t skew_trace_cnt, skew_span_cnt;
};

#endif /* GRAPH_STATS_H */
