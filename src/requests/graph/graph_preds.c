/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What had to happen before each node.  For the children of one span, sorted
 * by begin, those already ended are a growing prefix of them sorted by end,
 * and the join before a child is a window of that: from the first that ended
 * after the last of them began.  So one pass finds every join.
 */
#include "base/arena.h"
#include "base/keysort.h"
#include "requests/graph/graph_int.h"

#include <string.h>

struct siblings {		/* children of one span */
	struct keyed *ends;	/* those waited for: key is the end, idx the place among all */
	uint32_t end_cnt;
	uint32_t ended, first;	/* ends[first..ended) is the join before what comes now */
	const uint32_t *spans;	/* by place */
};

static void pred_add(struct graph_making *m, struct gnode *to, uint32_t pred)
{
	if (m->pred_cnt == m->pred_cap) {
		uint32_t *old = m->preds;

		m->pred_cap *= 2;
		m->preds = ARENA_ARRAY(m->ctx->arena, uint32_t, m->pred_cap);
		memcpy(m->preds, old, m->pred_cnt * sizeof(*old));
	}
	if (!to->pred_cnt++)
		to->pred_idx = (uint32_t)m->pred_cnt;
	m->preds[m->pred_cnt++] = pred;
}

/* Takes in those that ended by at_ns and stand before place. */
static void siblings_advance(const struct graph_making *m, struct siblings *s, int64_t at_ns,
			     uint32_t place)
{
	const struct tnode *nodes = m->tree->nodes;

	for (; s->ended < s->end_cnt; s->ended++) {
		uint32_t last = s->ends[s->ended].idx;

		if (nodes[s->spans[last]].end > at_ns || last >= place)
			return;
		while (s->first < s->ended &&
		       nodes[s->spans[s->ends[s->first].idx]].end <= nodes[s->spans[last]].begin)
			s->first++;
	}
}

static void join_add(struct graph_making *m, const struct siblings *s, struct gnode *to,
		     uint32_t max)
{
	uint32_t from = s->first;

	if (s->ended - from > max) {
		m->ctx->stats->join_cut_cnt += s->ended - from - max;
		from = s->ended - max;
	}
	for (uint32_t i = from; i < s->ended; i++)
		pred_add(m, to, m->spans[s->spans[s->ends[i].idx]].exit);
}

/* Their list as an array in m->tmp's memory; those waited for sorted by end. */
static uint32_t siblings_list(struct graph_making *m, uint32_t parent, uint32_t *spans,
			      struct siblings *ret)
{
	const struct tnode *nodes = m->tree->nodes;
	uint32_t cnt = 0;

	*ret = (struct siblings){.ends = m->keys, .spans = spans};
	for (uint32_t c = nodes[parent].first_child; c != TREE_NONE; c = nodes[c].next) {
		if (!(nodes[c].flags & TNODE_ASYNC))
			ret->ends[ret->end_cnt++] =
				(struct keyed){keysort_signed(nodes[c].end), cnt, 0};
		spans[cnt++] = c;
	}
	keysort(ret->ends, m->tmp, ret->end_cnt);
	return cnt;
}

static void children_order(struct graph_making *m, uint32_t parent, uint32_t *list)
{
	struct gspan *span = &m->spans[parent];
	struct gnode *exit = &m->nodes[span->exit];
	struct siblings s;
	uint32_t cnt = siblings_list(m, parent, list, &s);

	for (uint32_t i = 0; i < cnt; i++) {
		struct gnode *entry = &m->nodes[m->spans[list[i]].entry];

		siblings_advance(m, &s, m->tree->nodes[list[i]].begin, i);
		if (s.ended)
			join_add(m, &s, entry, GRAPH_JOIN_MAX);
		else
			pred_add(m, entry, span->entry);
	}
	if (span->exit == span->entry)
		return;
	siblings_advance(m, &s, INT64_MAX, cnt);
	if (s.ended)
		join_add(m, &s, exit, UINT32_MAX);
	else
		pred_add(m, exit, span->entry);
}

/* A pred list must be one run: what a reference adds is put behind a copy of the node's own. */
static void ref_pred_add(struct graph_making *m, uint32_t node, uint32_t pred)
{
	struct gnode *to = &m->nodes[node];
	uint32_t own = to->pred_cnt, from = to->pred_idx;

	if (own && from + own != m->pred_cnt) {
		to->pred_cnt = 0;
		for (uint32_t i = 0; i < own; i++)
			pred_add(m, to, m->preds[from + i]);
	}
	pred_add(m, to, pred);
	m->ref_preds[node]++;
	m->backward |= pred >= node;
}

static void refs_add(struct graph_making *m)
{
	struct span_tree *tree = m->tree;

	if (!tree->ref_cnt)
		return;
	m->ref_preds = ARENA_ARRAY(m->ctx->arena, uint32_t, m->node_cnt);
	for (uint32_t i = 0; i < tree->ref_cnt; i++) {
		const struct tref *ref = &tree->refs[i];
		uint32_t entry = m->spans[ref->span].entry;
		uint32_t pred = ref->kind == SPAN_REF_AFTER ? m->spans[ref->target].exit
							    : m->spans[ref->target].entry;

		/* Nothing comes before the root. */
		if (ref->span == tree->root ||
		    (tree->nodes[ref->span].parent != TREE_NONE &&
		     m->nodes[pred].at_ns > m->nodes[entry].at_ns)) {
			m->ctx->stats->ref_backward_cnt++;
			continue;
		}
		ref_pred_add(m, entry, pred);
	}
}

void graph_preds_make(struct graph_making *m)
{
	const struct span_tree *tree = m->tree;
	uint32_t *list = ARENA_ARRAY(m->ctx->arena, uint32_t, tree->trace->span_cnt);

	m->pred_cap = 3 * (size_t)m->node_cnt + tree->ref_cnt;
	m->preds = ARENA_ARRAY(m->ctx->arena, uint32_t, m->pred_cap);
	for (uint32_t i = 0; i < tree->order_cnt; i++) {
		uint32_t span = tree->order[i];
		const struct gspan *has = &m->spans[span];

		if (tree->nodes[span].first_child != TREE_NONE)
			children_order(m, span, list);
		else if (has->exit != has->entry)
			pred_add(m, &m->nodes[has->exit], has->entry);
	}
	refs_add(m);
}
