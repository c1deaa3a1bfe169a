/* SPDX-License-Identifier: Apache-2.0 */
/* Order by time: while the nodes are made, and again when references have moved them. */
#include "base/arena.h"
#include "base/keysort.h"
#include "requests/graph/graph_int.h"

static void spans_point_at_nodes(struct graph_making *m)
{
	for (uint32_t i = 0; i < m->node_cnt; i++) {
		struct gspan *span = &m->spans[m->nodes[i].span];
		bool one = m->tree->nodes[m->nodes[i].span].flags & TNODE_POINT;

		if (one || m->nodes[i].kind != NODE_EXIT)
			span->entry = i;
		if (one || m->nodes[i].kind != NODE_ENTRY)
			span->exit = i;
	}
}

/* Stable by time: the numbering holds at each instant. */
void graph_nodes_sort(struct graph_making *m)
{
	struct gnode *from = m->nodes;

	for (uint32_t i = 0; i < m->node_cnt; i++)
		m->keys[i] = (struct keyed){keysort_signed(from[i].at_ns), i, 0};
	keysort(m->keys, m->tmp, m->node_cnt);
	m->nodes = ARENA_ARRAY(m->ctx->arena, struct gnode, m->node_cnt);
	for (uint32_t i = 0; i < m->node_cnt; i++)
		m->nodes[i] = from[m->keys[i].idx];
	spans_point_at_nodes(m);
}
