/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nearly all traces contradict nothing: one pass over the tree says so.  Only
 * where something impossible is found are hosts numbered and bounds made.
 */
#include "requests/clocks/skew.h"

#include <stdlib.h>

#include "base/arena.h"
#include "requests/clocks/offset_solve.h"
#include "requests/clocks/skew_int.h"
#include "requests/tree/graph_stats.h"
#include "requests/tree/tree.h"

uint64_t skew_clock(const struct span *span)
{
	return span->host ? span->host : UINT64_C(1) << 32 | span->service;
}

bool skew_child_bound(const struct span_tree *tree, uint32_t child, struct skew_bound *ret)
{
	const struct tnode *node = &tree->nodes[child];
	const struct tnode *parent = &tree->nodes[node->parent];
	const struct span *a = &tree->trace->spans[node->parent];
	const struct span *b = &tree->trace->spans[child];

	if (skew_clock(a) == skew_clock(b) || node->flags & TNODE_ADOPTED)
		return false;
	*ret = (struct skew_bound){
		.host = node->parent,
		.moved = child,
		.low = parent->begin - node->begin,
		.high = OFFSET_NO_HIGH,
		.impossible = parent->begin - node->begin > TREE_TICK_NS,
	};
	if ((node->flags | parent->flags) & (TNODE_OPEN | TNODE_POINT) ||
	    span_tree_told_async(tree, child) ||
	    node->end - node->begin > parent->end - parent->begin)
		return true;
	ret->high = parent->end - node->end;
	if (a->kind == SPAN_CLIENT && b->kind == SPAN_SERVER &&
	    !((a->flags | b->flags) & SPANF_ERROR)) {
		ret->high_is_hard = true;
		ret->impossible |= ret->high < -TREE_TICK_NS;
	}
	return true;
}

bool skew_ref_bound(const struct span_tree *tree, const struct tref *ref, struct skew_bound *ret)
{
	const struct span *spans = tree->trace->spans;

	if (ref->kind != SPAN_REF_AFTER ||
	    skew_clock(&spans[ref->span]) == skew_clock(&spans[ref->target]))
		return false;
	*ret = (struct skew_bound){
		.host = ref->target,
		.moved = ref->span,
		.low = tree->nodes[ref->target].end - tree->nodes[ref->span].begin,
		.high = OFFSET_NO_HIGH,
	};
	ret->impossible = ret->low > TREE_TICK_NS;
	return true;
}

static bool anything_impossible(const struct span_tree *tree)
{
	struct skew_bound bound;

	for (uint32_t i = 0; i < tree->order_cnt; i++) {
		if (tree->nodes[tree->order[i]].parent != TREE_NONE &&
		    skew_child_bound(tree, tree->order[i], &bound) && bound.impossible)
			return true;
	}
	for (uint32_t i = 0; i < tree->ref_cnt; i++) {
		if (skew_ref_bound(tree, &tree->refs[i], &bound) && bound.impossible)
			return true;
	}
	return false;
}

struct hosts {
	uint64_t clock[SKEW_TRACE_HOSTS_MAX];
	uint32_t first[SKEW_TRACE_HOSTS_MAX];	/* span: the first by span_tree_cmp */
	uint32_t cnt;
};

static uint32_t host_find(const struct hosts *h, uint64_t clock)
{
	uint32_t i = 0;

	while (i < h->cnt && h->clock[i] != clock)
		i++;
	return i;
}

/* Numbered by their first spans, so that the spans' order in the trace is no matter. */
static bool hosts_number(const struct span_tree *tree, struct hosts *h)
{
	for (uint32_t i = 0; i < tree->order_cnt; i++) {
		uint32_t span = tree->order[i];
		uint64_t clock = skew_clock(&tree->trace->spans[span]);
		uint32_t at = host_find(h, clock);

		if (at == SKEW_TRACE_HOSTS_MAX)
			return false;
		if (at == h->cnt) {
			h->clock[h->cnt] = clock;
			h->first[h->cnt++] = span;
		} else if (span_tree_cmp(tree, span, h->first[at]) < 0) {
			h->first[at] = span;
		}
	}
	for (uint32_t i = 1; i < h->cnt; i++) {
		uint64_t clock = h->clock[i];
		uint32_t first = h->first[i], to = i;

		for (; to && span_tree_cmp(tree, first, h->first[to - 1]) < 0; to--) {
			h->clock[to] = h->clock[to - 1];
			h->first[to] = h->first[to - 1];
		}
		h->clock[to] = clock;
		h->first[to] = first;
	}
	return true;
}

struct mending {
	struct span_tree *tree;
	struct hosts hosts;
	uint8_t *host;		/* by span */
	struct bound *bounds;
	size_t bound_cnt;
	struct offset *pairs;
	size_t pair_cnt;
};

static void bound_take(struct mending *m, const struct skew_bound *bound)
{
	m->bounds[m->bound_cnt++] = bound_of(m->host[bound->host], m->host[bound->moved],
					     bound->low, bound->high);
}

static void bounds_gather(struct mending *m, struct arena *arena)
{
	struct span_tree *tree = m->tree;
	struct skew_bound bound;

	m->bounds = ARENA_ARRAY(arena, struct bound, (size_t)tree->order_cnt + tree->ref_cnt);
	for (uint32_t i = 0; i < tree->order_cnt; i++) {
		if (tree->nodes[tree->order[i]].parent != TREE_NONE &&
		    skew_child_bound(tree, tree->order[i], &bound))
			bound_take(m, &bound);
	}
	for (uint32_t i = 0; i < tree->ref_cnt; i++) {
		if (skew_ref_bound(tree, &tree->refs[i], &bound))
			bound_take(m, &bound);
	}
	qsort(m->bounds, m->bound_cnt, sizeof(*m->bounds), bound_cmp);
}

static void pairs_make(struct mending *m, struct arena *arena)
{
	int64_t *highs = ARENA_ARRAY(arena, int64_t, m->bound_cnt);

	m->pairs = ARENA_ARRAY(arena, struct offset, m->bound_cnt);
	for (size_t from = 0, to; from < m->bound_cnt; from = to) {
		const struct bound *first = &m->bounds[from];

		for (to = from + 1; to < m->bound_cnt && m->bounds[to].a == first->a &&
				    m->bounds[to].b == first->b;)
			to++;
		m->pairs[m->pair_cnt++] = offset_find(&m->bounds[from], to - from, highs);
	}
}

static void skew_span_move(struct tnode *node, int64_t by)
{
	node->begin += by;
	node->end += by;
	if (node->begin < -TREE_NS_MAX)
		node->begin = -TREE_NS_MAX;
	if (node->end > TREE_NS_MAX)
		node->end = TREE_NS_MAX;
	if (node->begin > node->end)
		node->begin = node->end;
}

void skew_mend_tree(struct span_tree *tree, struct arena *arena, struct graph_stats *stats)
{
	struct mending m = {.tree = tree};
	int64_t by[SKEW_TRACE_HOSTS_MAX] = {0}, unsure[SKEW_TRACE_HOSTS_MAX] = {0};
	bool known[SKEW_TRACE_HOSTS_MAX] = {false};
	struct offsets offsets = {.ns = by, .unsure = unsure, .known = known};
	uint64_t moved = 0;

	if (!anything_impossible(tree) || !hosts_number(tree, &m.hosts))
		return;
	m.host = ARENA_ARRAY(arena, uint8_t, tree->trace->span_cnt);
	for (uint32_t i = 0; i < tree->order_cnt; i++)
		m.host[tree->order[i]] = (uint8_t)host_find(
			&m.hosts, skew_clock(&tree->trace->spans[tree->order[i]]));
	bounds_gather(&m, arena);
	pairs_make(&m, arena);
	offsets_spread(&offsets, m.pairs, m.pair_cnt, m.host[tree->root]);
	for (uint32_t i = 0; i < tree->order_cnt; i++) {
		if (!by[m.host[tree->order[i]]])
			continue;
		skew_span_move(&tree->nodes[tree->order[i]], by[m.host[tree->order[i]]]);
		moved++;
	}
	stats->skew_trace_cnt += moved > 0;
	stats->skew_span_cnt += moved;
}
