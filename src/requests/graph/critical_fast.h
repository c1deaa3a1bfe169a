/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRITICAL_FAST_H
#define CRITICAL_FAST_H
/*
 * A request's critical path without its graph.  Where nothing but parents
 * orders the spans, the path needs only the children of the spans that are on
 * it; where something else does, the graph is made after all.  Either way the
 * path is the one that graph_build and critical_path find.
 */
#include <stdint.h>

struct cpath;
struct graph;
struct trace;
struct tree_ctx;

/*
 * bins: as struct graph's.  Of ret_graph the nodes, preds and spans may be
 * missing, of ret_path's shapes all but CSHAPE_EXACT are (path_hash.h).  What is
 * returned lives in ctx->arena.  0, or -errno as graph_build.
 */
int quick_path(const struct tree_ctx *ctx, const struct trace *trace, const uint64_t *bins,
	       struct graph *ret_graph, struct cpath *ret_path);

#endif /* CRITICAL_FAST_H */
