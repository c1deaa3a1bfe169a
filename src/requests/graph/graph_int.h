/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GRAPH_INT_H
#define GRAPH_INT_H
/* Between the files that make a graph: graph.c, graph_preds.c, graph_order.c, graph_type.c. */
#include "requests/graph/graph.h"
#include "requests/tree/tree.h"

struct keyed;

struct graph_making {
	const struct tree_ctx *ctx;
	struct span_tree *tree;
	struct gnode *nodes;
	struct gspan *spans;
	uint32_t node_cnt;
	uint32_t *preds;
	size_t pred_cnt, pred_cap;
	uint32_t *ref_preds;	/* how many of a node's preds, the last ones, are references */
	struct keyed *keys, *tmp;	/* room for a key for each node */
	bool backward;		/* a reference leads to a node from a later one */
};

/* Sorts the nodes by time, keeping their order at the same instant; spans point at them. */
void graph_nodes_sort(struct graph_making *m);

/* Fills in preds; nodes are in order. */
void graph_preds_make(struct graph_making *m);

/* Repairs contradictions of references and order, breaking rings, raising times. */
void graph_order_mend(struct graph_making *m);

/* Sets ret's type, type_span, type_point, type_detail and type_hash. */
void graph_type_find(const struct tree_ctx *ctx, const struct span_tree *tree, struct graph *ret);

/* The first half of graph_build: the tree, its clocks corrected and its ends settled. */
int graph_tree(const struct tree_ctx *ctx, const struct trace *trace, struct span_tree *ret);

/* The second half. */
void graph_of_tree(const struct tree_ctx *ctx, struct span_tree *tree, struct graph *ret);

#endif /* GRAPH_INT_H */
