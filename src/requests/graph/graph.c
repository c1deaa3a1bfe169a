/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tree by ids (tree.c), clocks corrected (skew.c), ends settled (fix_ends.c); then
 * here: children of each span in order, one walk down and up that numbers
 * entries and exits so that what must come first at the same instant does,
 * nodes sorted by time on top of that, preds (graph_preds.c), and, only where
 * references contradict the clock, an order by preds (graph_order.c).
 */
#include "requests/graph/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/keysort.h"
#include "trace/trace.h"
#include "requests/graph/graph_int.h"
#include "requests/clocks/skew.h"

static int by_rest(const void *a, const void *b, void *tree)
{
	return span_tree_cmp(tree, ((const struct keyed *)a)->idx, ((const struct keyed *)b)->idx);
}

/* Spans by begin, then as span_tree_cmp has it: no two ever change places by their input order. */
static void spans_sort(struct graph_making *m)
{
	struct keyed *keys = m->keys;
	const struct tnode *nodes = m->tree->nodes;
	uint32_t cnt = 0;

	/* As the trace has them: from the assembler they are nearly in order. */
	for (uint32_t i = 0; i < m->tree->trace->span_cnt; i++) {
		if (!(nodes[i].flags & TNODE_DROPPED))
			keys[cnt++] = (struct keyed){keysort_signed(nodes[i].begin), i, 0};
	}
	keysort(keys, m->tmp, cnt);
	for (uint32_t from = 0, to; from < cnt; from = to) {
		for (to = from + 1; to < cnt && keys[to].key == keys[from].key;)
			to++;
		if (to - from == 2 && by_rest(&keys[from], &keys[from + 1], m->tree) > 0) {
			struct keyed first = keys[from];

			keys[from] = keys[from + 1];
			keys[from + 1] = first;
		} else if (to - from > 2) {
			qsort_r(&keys[from], to - from, sizeof(*keys), by_rest, m->tree);
		}
	}
}

/* Lists of children in that order; returns the first of those without parent. */
static uint32_t children_link(struct graph_making *m)
{
	struct tnode *nodes = m->tree->nodes;
	uint32_t first = TREE_NONE;

	for (uint32_t i = 0; i < m->tree->order_cnt; i++)
		nodes[m->keys[i].idx].first_child = TREE_NONE;
	for (uint32_t i = m->tree->order_cnt; i-- > 0;) {
		uint32_t idx = m->keys[i].idx;
		uint32_t *list = nodes[idx].parent == TREE_NONE
					 ? &first : &nodes[nodes[idx].parent].first_child;

		nodes[idx].next = *list;
		*list = idx;
	}
	return first;
}

static void node_add(struct graph_making *m, uint32_t span, enum node_kind kind)
{
	const struct tnode *node = &m->tree->nodes[span];

	m->nodes[m->node_cnt++] = (struct gnode){
		.at_ns = kind == NODE_EXIT ? node->end : node->begin,
		.point = node->point,
		.span = span,
		.kind = (uint8_t)kind,
	};
}

static enum node_kind first_kind(const struct span *span)
{
	if (!(span->flags & SPANF_POINT) || span->flags & SPANF_BEGIN)
		return NODE_ENTRY;
	return span->flags & SPANF_END ? NODE_EXIT : NODE_NOTE;
}

/* Down and up without recursion: a trace may be as deep as it has spans. */
static void nodes_number(struct graph_making *m, uint32_t first)
{
	const struct tnode *nodes = m->tree->nodes;
	uint32_t at = first;

	while (at != TREE_NONE) {
		node_add(m, at, first_kind(&m->tree->trace->spans[at]));
		if (nodes[at].first_child != TREE_NONE) {
			at = nodes[at].first_child;
			continue;
		}
		for (;;) {
			if (!(nodes[at].flags & TNODE_POINT))
				node_add(m, at, NODE_EXIT);
			if (nodes[at].next != TREE_NONE) {
				at = nodes[at].next;
				break;
			}
			at = nodes[at].parent;
			if (at == TREE_NONE)
				return;
		}
	}
}

static void spans_fill(struct graph_making *m)
{
	for (uint32_t i = 0; i < m->tree->trace->span_cnt; i++) {
		const struct tnode *node = &m->tree->nodes[i];

		m->spans[i] = (struct gspan){
			.entry = GRAPH_NONE,
			.exit = GRAPH_NONE,
			.parent = node->parent,
			.flags = (node->flags & TNODE_ASYNC ? GSPAN_ASYNC : 0) |
				 (node->flags & TNODE_DROPPED ? GSPAN_DROPPED : 0) |
				 (node->flags & TNODE_ORPHAN ? GSPAN_ORPHAN : 0) |
				 (node->flags & TNODE_ADOPTED ? GSPAN_ADOPTED : 0),
		};
	}
}

static void nodes_make(struct graph_making *m)
{
	struct arena *arena = m->ctx->arena;
	uint32_t cnt = m->tree->trace->span_cnt;

	m->keys = ARENA_ARRAY(arena, struct keyed, 2 * (size_t)cnt);
	m->tmp = ARENA_ARRAY(arena, struct keyed, 2 * (size_t)cnt);
	m->nodes = ARENA_ARRAY(arena, struct gnode, 2 * (size_t)cnt);
	m->spans = ARENA_ARRAY(arena, struct gspan, cnt);
	spans_fill(m);
	spans_sort(m);
	nodes_number(m, children_link(m));
	graph_nodes_sort(m);
}

static void result_fill(const struct graph_making *m, struct graph *ret)
{
	uint32_t root = m->tree->root;
	bool instant = m->tree->nodes[root].flags & TNODE_POINT;

	*ret = (struct graph){
		.nodes = m->nodes,
		.preds = m->preds,
		.spans = m->spans,
		.node_cnt = m->node_cnt,
		.span_cnt = m->tree->trace->span_cnt,
		.root_span = root,
		.reordered = m->backward,
		.start = m->spans[root].entry,
		.end = instant ? m->node_cnt - 1 : m->spans[root].exit,
	};
	ret->total_ns = m->nodes[ret->end].at_ns - m->nodes[ret->start].at_ns;
}

int graph_tree(const struct tree_ctx *ctx, const struct trace *trace, struct span_tree *ret)
{
	if (!trace->span_cnt)
		return -ENODATA;
	if (trace->span_cnt > GRAPH_SPAN_MAX)
		return -E2BIG;
	ctx->stats->trace_cnt++;
	ctx->stats->span_cnt += trace->span_cnt;
	span_tree_make(ctx, trace, ret);
	skew_mend_tree(ret, ctx->arena, ctx->stats);
	span_tree_settle(ret, ctx->stats);
	return 0;
}

void graph_of_tree(const struct tree_ctx *ctx, struct span_tree *tree, struct graph *ret)
{
	struct graph_making m = {.ctx = ctx, .tree = tree};

	nodes_make(&m);
	graph_preds_make(&m);
	if (m.backward)
		graph_order_mend(&m);
	result_fill(&m, ret);
	graph_type_find(ctx, tree, ret);
}

int graph_build(const struct trace *trace, struct points *points, const struct strtab *strings,
		struct arena *arena, struct graph *ret, struct graph_stats *stats)
{
	struct tree_ctx ctx = {points, strings, arena, stats};
	struct span_tree tree;
	int err = graph_tree(&ctx, trace, &tree);

	if (!err)
		graph_of_tree(&ctx, &tree, ret);
	return err;
}
