/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parents first: the nearest ancestor that is whole is that of a hidden parent.
 * Then references: for each hidden node, in order, the kept nodes that reach
 * it through hidden ones, from the same of its preds; what refers to a hidden
 * span refers to those instead.
 */
#include "requests/graph/mask.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/keysort.h"
#include "trace/points.h"
#include "trace/trace.h"
#include "requests/graph/graph.h"
#include "requests/graph/span_ends.h"
#include "requests/tree/tree.h"

struct reach {			/* kept nodes, latest last */
	const uint32_t *nodes;
	uint32_t cnt;
};

struct stripping {
	const struct trace *trace;
	struct arena *arena;
	struct span_tree tree;
	struct graph graph;
	uint8_t *keep;		/* by span: enum sides */
	uint16_t *rank;		/* by node: of those at the same instant */
	uint32_t *above;	/* nearest ancestor kept whole, TREE_NONE: none */
	bool *unwaited;		/* nobody waits for something from there up to above */
	struct reach *reach;	/* of hidden nodes */
	struct keyed *keys, *tmp;
	uint32_t key_cnt;
	struct span_ref *refs;
	uint32_t ref_cnt, ref_cap;
};

enum { REACH_KEYS_MAX = 64 * STRIP_REF_MAX };	/* gathered before they are cut */

void strip_points(const struct trace *trace, struct points *points, const struct strtab *strings)
{
	for (uint32_t i = 0; i < trace->span_cnt; i++)
		points_add(points, strings, trace->spans[i].service, trace->spans[i].name);
}

static bool is_half(const struct stripping *s, uint32_t idx)
{
	return s->keep[idx] && s->keep[idx] != SIDES_BOTH &&
	       !(s->trace->spans[idx].flags & SPANF_POINT);
}

/* True if it encloses its children: a side that was seen alone does not. */
static bool is_whole(const struct stripping *s, uint32_t idx)
{
	return s->keep[idx] && !is_half(s, idx);
}

static bool node_kept(const struct stripping *s, uint32_t node)
{
	const struct gnode *n = &s->graph.nodes[node];

	return s->keep[n->span] & side_of(n->kind);
}

static void keep_choose(struct stripping *s, const uint8_t *on)
{
	const struct graph *g = &s->graph;

	for (uint32_t i = 0; i < s->trace->span_cnt; i++) {
		if (s->tree.nodes[i].flags & TNODE_DROPPED)
			continue;
		s->keep[i] = on[s->tree.nodes[i].point] & sides_of_span(&s->trace->spans[i]);
	}
	s->keep[g->root_span] = sides_of_span(&s->trace->spans[g->root_span]);
	s->keep[g->type_span] = sides_of_span(&s->trace->spans[g->type_span]);
	s->keep[g->nodes[g->end].span] = sides_of_span(&s->trace->spans[g->nodes[g->end].span]);
}

/*
 * The order that the graph has them in, for those that their times do not tell apart: a half
 * is beside what it was around or in.  Where references brought another order, they do again.
 */
static void rank_make(struct stripping *s)
{
	const struct graph *g = &s->graph;

	s->rank = ARENA_ARRAY(s->arena, uint16_t, g->node_cnt);
	for (uint32_t i = 1; i < g->node_cnt && !g->reordered; i++) {
		if (g->nodes[i].at_ns == g->nodes[i - 1].at_ns)
			s->rank[i] = s->rank[i - 1] < UINT16_MAX ? s->rank[i - 1] + 1 : UINT16_MAX;
	}
}

static void above_find(struct stripping *s)
{
	for (uint32_t i = 0; i < s->tree.order_cnt; i++) {
		uint32_t idx = s->tree.order[i], parent = s->tree.nodes[idx].parent;

		s->above[idx] = TREE_NONE;
		/* Orders no child by a hidden span that references alone had ordered. */
		if (parent == TREE_NONE && idx != s->tree.root && !is_whole(s, idx))
			s->above[idx] = s->tree.root;
		if (parent == TREE_NONE)
			continue;
		s->unwaited[idx] = s->graph.spans[idx].flags & GSPAN_ASYNC;
		s->above[idx] = parent;
		if (!is_whole(s, parent)) {
			s->above[idx] = s->above[parent];
			s->unwaited[idx] |= s->unwaited[parent];
		}
	}
}

/* The latest STRIP_REF_MAX of what was gathered, each once. */
static void keys_cut(struct stripping *s)
{
	uint32_t kept = 0;

	keysort(s->keys, s->tmp, s->key_cnt);
	for (uint32_t i = 0; i < s->key_cnt; i++) {
		if (!kept || s->keys[kept - 1].key != s->keys[i].key)
			s->keys[kept++] = s->keys[i];
	}
	s->key_cnt = kept;
	if (kept > STRIP_REF_MAX) {
		memmove(s->keys, s->keys + kept - STRIP_REF_MAX,
			STRIP_REF_MAX * sizeof(*s->keys));
		s->key_cnt = STRIP_REF_MAX;
	}
}

static void key_add(struct stripping *s, uint32_t node)
{
	if (s->key_cnt == REACH_KEYS_MAX)
		keys_cut(s);
	s->keys[s->key_cnt++].key = node;
}

static void reach_gather(struct stripping *s, uint32_t node)
{
	const struct reach *reach = &s->reach[node];

	if (node_kept(s, node)) {
		key_add(s, node);
		return;
	}
	for (uint32_t i = 0; i < reach->cnt; i++)
		key_add(s, reach->nodes[i]);
}

/* Preds stand before their node, so theirs is known. */
static void reach_make(struct stripping *s)
{
	const struct graph *g = &s->graph;

	s->reach = ARENA_ARRAY(s->arena, struct reach, g->node_cnt);
	s->keys = ARENA_ARRAY(s->arena, struct keyed, REACH_KEYS_MAX);
	s->tmp = ARENA_ARRAY(s->arena, struct keyed, REACH_KEYS_MAX);
	for (uint32_t i = 0; i < g->node_cnt; i++) {
		const uint32_t *preds = g->preds + g->nodes[i].pred_idx;
		uint32_t *nodes;

		if (node_kept(s, i))
			continue;
		if (g->nodes[i].pred_cnt == 1 && !node_kept(s, preds[0])) {
			s->reach[i] = s->reach[preds[0]];
			continue;
		}
		s->key_cnt = 0;
		for (uint32_t p = 0; p < g->nodes[i].pred_cnt; p++)
			reach_gather(s, preds[p]);
		keys_cut(s);
		nodes = ARENA_ARRAY(s->arena, uint32_t, s->key_cnt);
		for (uint32_t p = 0; p < s->key_cnt; p++)
			nodes[p] = (uint32_t)s->keys[p].key;
		s->reach[i] = (struct reach){nodes, s->key_cnt};
	}
}

/* Its own where no other span has it; else made of what tells them apart. */
static uint64_t id_of(const struct stripping *s, uint32_t idx)
{
	const struct tnode *node = &s->tree.nodes[idx];
	const struct span *span = &s->trace->spans[idx];
	uint64_t hash = hash_pair(span->id, node->hash);

	if (!(node->flags & TNODE_SAME))
		return span->id;
	hash = hash_pair(hash, (uint64_t)span->begin_ns);
	hash = hash_pair(hash, (uint64_t)span->end_ns);
	hash = hash_pair(hash, span->parent);
	return hash_pair(hash, (uint64_t)span->kind << 8 | span->flags) | 1;
}

static void ref_add(struct stripping *s, uint32_t target, enum span_ref_kind kind)
{
	if (s->ref_cnt == s->ref_cap) {
		struct span_ref *old = s->refs;

		s->ref_cap = s->ref_cap ? 2 * s->ref_cap : 64;
		s->refs = ARENA_ARRAY(s->arena, struct span_ref, s->ref_cap);
		if (s->ref_cnt)
			memcpy(s->refs, old, s->ref_cnt * sizeof(*old));
	}
	s->refs[s->ref_cnt++] = (struct span_ref){
		.trace = s->trace->id, .span = id_of(s, target), .kind = kind};
}

/* Keeps order by references alone, also where a side of a span is left. */
static uint32_t parent_of(const struct stripping *s, uint32_t idx)
{
	return s->tree.nodes[idx].parent == TREE_NONE ? TREE_NONE : s->above[idx];
}

/* An entry of an ancestor says no more than being its child. */
static bool is_ancestor(const struct stripping *s, uint32_t who, uint32_t span)
{
	return parent_of(s, who) == span;
}

static uint32_t target_node(const struct stripping *s, const struct tref *ref)
{
	const struct gspan *target = &s->graph.spans[ref->target];

	return ref->kind == SPAN_REF_AFTER ? target->exit : target->entry;
}

/* References to what was gathered. */
static void gathered_add(struct stripping *s, uint32_t who)
{
	keys_cut(s);
	for (uint32_t i = 0; i < s->key_cnt; i++) {
		const struct gnode *node = &s->graph.nodes[s->keys[i].key];

		if (node->span == who || is_ancestor(s, who, node->span))
			continue;
		ref_add(s, node->span,
			node->kind == NODE_ENTRY ? SPAN_REF_FOLLOWS : SPAN_REF_AFTER);
	}
}

static void hidden_ref_add(struct stripping *s, uint32_t who, const struct tref *ref)
{
	s->key_cnt = 0;
	reach_gather(s, target_node(s, ref));
	gathered_add(s, who);
}

/* An end that is left alone comes after all that its begin, which is hidden, came after. */
static void end_refs_add(struct stripping *s, uint32_t who)
{
	const struct gnode *exit = &s->graph.nodes[s->graph.spans[who].exit];

	s->key_cnt = 0;
	for (uint32_t i = 0; i < exit->pred_cnt; i++)
		reach_gather(s, s->graph.preds[exit->pred_idx + i]);
	gathered_add(s, who);
}

/* Not one that contradicted the clock or closed a ring. */
static bool ref_holds(const struct stripping *s, const struct tref *ref)
{
	const struct gnode *entry = &s->graph.nodes[s->graph.spans[ref->span].entry];
	uint32_t want = target_node(s, ref);

	for (uint32_t i = 0; i < entry->pred_cnt; i++) {
		if (s->graph.preds[entry->pred_idx + i] == want)
			return true;
	}
	return false;
}

/* tree.refs are in order of their spans: *at is the first not yet taken. */
static void refs_write(struct stripping *s, uint32_t who, struct span *span, uint32_t *at)
{
	const struct span_tree *tree = &s->tree;
	bool any_of_end = false;

	span->ref_idx = s->ref_cnt;
	if (s->unwaited[who])
		ref_add(s, s->above[who], SPAN_REF_FOLLOWS);
	for (; *at < tree->ref_cnt && tree->refs[*at].span <= who; ++*at) {
		const struct tref *ref = &tree->refs[*at];

		if (ref->span != who || !ref_holds(s, ref))
			continue;
		if (is_half(s, who) && s->keep[who] == SIDE_END) {
			any_of_end = true;
			continue;
		}
		if (node_kept(s, target_node(s, ref)))
			ref_add(s, ref->target, ref->kind);
		else
			hidden_ref_add(s, who, ref);
	}
	if (any_of_end)
		end_refs_add(s, who);
	/* All its references were in rings: it began after the root, no more. */
	if (!span->parent && who != tree->root && s->ref_cnt == span->ref_idx)
		ref_add(s, tree->root, SPAN_REF_FOLLOWS);
	span->ref_cnt = s->ref_cnt - span->ref_idx;
}

static int64_t later(int64_t base, int64_t by)
{
	int64_t sum;

	if (__builtin_add_overflow(base, by, &sum))
		return by < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static void span_write(struct stripping *s, uint32_t idx, struct span *to)
{
	const struct graph *g = &s->graph;
	const struct gspan *has = &g->spans[idx];
	const struct span *root = &s->trace->spans[g->root_span];

	*to = s->trace->spans[idx];
	to->id = id_of(s, idx);
	to->parent = parent_of(s, idx) == TREE_NONE ? 0 : id_of(s, parent_of(s, idx));
	to->begin_ns = later(root->begin_ns, g->nodes[has->entry].at_ns);
	to->end_ns = later(root->begin_ns, g->nodes[has->exit].at_ns);
	to->rank = s->rank[has->entry];
	to->flags &= (uint8_t)~(SPANF_OPEN | SPANF_SHARED);
	if (is_half(s, idx) && s->keep[idx] == SIDE_END) {
		to->begin_ns = to->end_ns;
		to->rank = s->rank[has->exit];
		to->flags |= SPANF_POINT | SPANF_END;
	} else if (is_half(s, idx)) {
		to->end_ns = to->begin_ns;
		to->flags |= SPANF_POINT | SPANF_BEGIN;
		to->flags &= (uint8_t)~SPANF_ERROR; /* that it failed its end tells */
	}
	to->host = root->host ? root->host : root->service;
}

void trace_strip(const struct trace *trace, const uint8_t *on, struct points *points,
		 const struct strtab *strings, struct arena *arena, struct trace *ret)
{
	struct graph_stats stats = {0};
	struct tree_ctx ctx = {points, strings, arena, &stats};
	struct stripping s = {.trace = trace, .arena = arena};
	struct span *spans;
	uint32_t cnt = 0, ref_at = 0;

	*ret = (struct trace){.id = trace->id, .attrs = trace->attrs, .attr_cnt = trace->attr_cnt};
	if (graph_build(trace, points, strings, arena, &s.graph, &stats) < 0)
		return;
	span_tree_make(&ctx, trace, &s.tree);
	s.keep = ARENA_ARRAY(arena, uint8_t, trace->span_cnt);
	s.above = ARENA_ARRAY(arena, uint32_t, trace->span_cnt);
	s.unwaited = ARENA_ARRAY(arena, bool, trace->span_cnt);
	keep_choose(&s, on);
	rank_make(&s);
	above_find(&s);
	if (s.tree.ref_cnt)
		reach_make(&s);
	spans = ARENA_ARRAY(arena, struct span, trace->span_cnt);
	for (uint32_t i = 0; i < trace->span_cnt; i++) {
		if (!s.keep[i])
			continue;
		span_write(&s, i, &spans[cnt]);
		refs_write(&s, i, &spans[cnt++], &ref_at);
	}
	ret->spans = spans;
	ret->span_cnt = cnt;
	ret->refs = s.refs;
	ret->ref_cnt = s.ref_cnt;
}
