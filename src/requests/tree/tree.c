/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parents by id, in a few linear passes: an open-addressed table from id to
 * span; twins and shared ids apart (rare, so by sorting); parents and
 * references looked up; rings of parents cut; one root chosen and the other
 * parentless spans given to it; an order in which parents come first.
 */
#include "requests/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "trace/points.h"
#include "requests/tree/graph_stats.h"

struct making {
	const struct tree_ctx *ctx;
	struct span_tree *tree;
	const struct span *spans;
	uint32_t *table;	/* index + 1 of the first span of an id */
	uint32_t mask;
	uint32_t *same;		/* spans whose id another one has too; made when there are any */
	uint32_t same_cnt;
	uint32_t *of_service;	/* for a shared id, by table's span: the client's half + 1 */
};

static int64_t since(int64_t at, int64_t base)
{
	int64_t diff;

	if (__builtin_sub_overflow(at, base, &diff))
		return at < base ? -TREE_NS_MAX : TREE_NS_MAX;
	return diff < -TREE_NS_MAX ? -TREE_NS_MAX : diff > TREE_NS_MAX ? TREE_NS_MAX : diff;
}

int span_tree_cmp(const struct span_tree *tree, uint32_t a, uint32_t b)
{
	const struct tnode *x = &tree->nodes[a], *y = &tree->nodes[b];
	const struct span *s = &tree->trace->spans[a], *t = &tree->trace->spans[b];

	CMP(x->begin, y->begin);
	CMP(s->rank, t->rank);
	CMP(x->end, y->end);
	CMP(x->hash, y->hash);
	CMP(s->id, t->id);
	CMP(s->parent, t->parent);
	CMP(s->kind, t->kind);
	CMP(s->flags, t->flags);
	CMP(s->attr_cnt, t->attr_cnt);
	return 0;
}

/* The first begun, of those the longest. */
static bool begun_before(const struct span_tree *tree, uint32_t a, uint32_t b)
{
	const struct tnode *x = &tree->nodes[a], *y = &tree->nodes[b];

	if (x->begin != y->begin)
		return x->begin < y->begin;
	if (x->end != y->end)
		return x->end > y->end;
	return span_tree_cmp(tree, a, b) < 0;
}

static void nodes_fill(struct making *m)
{
	struct span_tree *tree = m->tree;
	struct graph_stats *stats = m->ctx->stats;
	struct points *points = m->ctx->points;

	for (uint32_t i = 0; i < tree->trace->span_cnt; i++) {
		const struct span *span = &m->spans[i];
		struct tnode *node = &tree->nodes[i];

		node->point = points_add(points, m->ctx->strings, span->service, span->name);
		node->hash = points->items.items[node->point].hash;
		node->begin = span->begin_ns;
		node->end = span->end_ns;
		if (span->flags & SPANF_POINT) {
			node->flags |= TNODE_POINT;
			node->end = node->begin;
		} else if (span->flags & SPANF_OPEN) {
			node->flags |= TNODE_OPEN;
			tree->has_open = true;
			node->end = node->begin;
			stats->open_cnt++;
		} else if (node->end < node->begin) {
			node->end = node->begin;
			stats->negative_cnt++;
		}
		node->parent = node->first_child = node->next = TREE_NONE;
	}
}

/* The place of id: that of its span, or the empty one where it would stand. */
static uint32_t *table_place(const struct making *m, uint64_t id)
{
	/* Ids are random, or counted up: one multiplication spreads the latter too. */
	uint32_t at = (uint32_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & m->mask;

	while (m->table[at] && m->spans[m->table[at] - 1].id != id)
		at = (at + 1) & m->mask;
	return &m->table[at];
}

static void table_fill(struct making *m)
{
	uint32_t cnt = m->tree->trace->span_cnt, cap = 16;

	while (cap < 2 * cnt)
		cap *= 2;
	m->table = ARENA_ARRAY(m->ctx->arena, uint32_t, cap);
	m->mask = cap - 1;
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t *place = table_place(m, m->spans[i].id);

		if (!*place) {
			*place = i + 1;
			continue;
		}
		if (!m->same)
			m->same = ARENA_ARRAY(m->ctx->arena, uint32_t, 2 * (size_t)cnt);
		m->same[m->same_cnt++] = i;
	}
}

static bool serves(const struct span *span)
{
	return span->flags & SPANF_SHARED || span->kind == SPAN_SERVER ||
	       span->kind == SPAN_CONSUMER;
}

/* Sorts spans of one id: the one that serves last, and by time. */
static int same_cmp(const void *a, const void *b, void *ctx)
{
	const struct span_tree *tree = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct span *s = &tree->trace->spans[x], *t = &tree->trace->spans[y];

	CMP(s->id, t->id);
	CMP(serves(s), serves(t));
	CMP(tree->nodes[x].begin, tree->nodes[y].begin);
	CMP(tree->nodes[y].end, tree->nodes[x].end);
	return span_tree_cmp(tree, x, y);
}

static bool is_twin(const struct making *m, uint32_t a, uint32_t b)
{
	const struct span *s = &m->spans[a], *t = &m->spans[b];
	const struct tnode *x = &m->tree->nodes[a], *y = &m->tree->nodes[b];

	return x->begin == y->begin && x->end == y->end && x->hash == y->hash &&
	       s->parent == t->parent && s->kind == t->kind && s->flags == t->flags;
}

static bool is_client(const struct span *span)
{
	return !(span->flags & SPANF_SHARED) &&
	       (span->kind == SPAN_CLIENT || span->kind == SPAN_PRODUCER);
}

/* same[from..to) have one id and are in the order of same_cmp. */
static void same_id_settle(struct making *m, uint32_t from, uint32_t to)
{
	struct graph_stats *stats = m->ctx->stats;
	uint32_t first = m->same[from], server = TREE_NONE;

	m->tree->nodes[first].flags |= TNODE_SAME;
	for (uint32_t i = from + 1; i < to; i++) {
		uint32_t idx = m->same[i];

		m->tree->nodes[idx].flags |= TNODE_SAME;
		if (is_twin(m, m->same[i - 1], idx)) {
			m->same[i] = m->same[i - 1];
			m->tree->nodes[idx].flags |= TNODE_DROPPED;
			stats->duplicate_cnt++;
		} else if (server == TREE_NONE && serves(&m->spans[idx]) &&
			   (is_client(&m->spans[first]) ||
			    (m->spans[idx].flags & SPANF_SHARED && !serves(&m->spans[first])))) {
			server = idx;
			m->tree->nodes[idx].parent = first;
			stats->shared_cnt++;
		} else {
			stats->same_id_cnt++;
		}
	}
	*table_place(m, m->spans[first].id) = (server == TREE_NONE ? first : server) + 1;
	if (server != TREE_NONE)
		m->of_service[server] = first + 1;
}

static void same_ids(struct making *m)
{
	uint32_t cnt = m->tree->trace->span_cnt, later = m->same_cnt;

	if (!later)
		return;
	m->of_service = ARENA_ARRAY(m->ctx->arena, uint32_t, cnt);
	/* The first of each id is in the table only: once for each id. */
	for (uint32_t i = 0; i < later; i++) {
		uint32_t first = *table_place(m, m->spans[m->same[i]].id) - 1;

		if (!m->of_service[first])
			m->same[m->same_cnt++] = first;
		m->of_service[first] = 1;
	}
	memset(m->of_service, 0, cnt * sizeof(*m->of_service));
	qsort_r(m->same, m->same_cnt, sizeof(*m->same), same_cmp, m->tree);
	for (uint32_t from = 0, to; from < m->same_cnt; from = to) {
		uint64_t id = m->spans[m->same[from]].id;

		for (to = from + 1; to < m->same_cnt && m->spans[m->same[to]].id == id;)
			to++;
		same_id_settle(m, from, to);
	}
}

/* The span that who's reference to id means; TREE_NONE when there is none but itself. */
static uint32_t span_of_id(const struct making *m, uint32_t who, uint64_t id)
{
	uint32_t place = *table_place(m, id);
	uint32_t found = place - 1, client;

	if (!id || !place)
		return TREE_NONE;
	client = m->of_service ? m->of_service[found] : 0;
	if (client && m->spans[who].service == m->spans[client - 1].service &&
	    m->spans[who].service != m->spans[found].service)
		found = client - 1;
	return found == who ? TREE_NONE : found;
}

static bool in_trace(const struct trace *trace, const struct span_ref *ref)
{
	return (!ref->trace.hi && !ref->trace.lo) || !trace_id_cmp(&ref->trace, &trace->id);
}

static void refs_resolve(struct making *m, uint32_t who)
{
	struct span_tree *tree = m->tree;
	struct tnode *node = &tree->nodes[who];
	const struct span *span = &m->spans[who];

	for (uint32_t i = 0; i < span->ref_cnt; i++) {
		const struct span_ref *ref = &tree->trace->refs[span->ref_idx + i];
		uint32_t target;

		if (ref->kind == SPAN_REF_LINK)
			continue;
		target = in_trace(tree->trace, ref) ? span_of_id(m, who, ref->span) : TREE_NONE;
		if (target == TREE_NONE) {
			m->ctx->stats->ref_lost_cnt++;
			continue;
		}
		if (ref->kind == SPAN_REF_FOLLOWS &&
		    (node->parent == TREE_NONE || node->parent == target)) {
			node->parent = target;
			node->flags &= (uint16_t)~TNODE_ORPHAN;
			node->flags |= TNODE_TOLD;
			continue;
		}
		if (ref->kind == SPAN_REF_AFTER)
			node->flags |= TNODE_AFTER;
		tree->refs[tree->ref_cnt++] =
			(struct tref){.span = who, .target = target, .kind = ref->kind};
	}
}

static void parents_resolve(struct making *m)
{
	struct span_tree *tree = m->tree;

	if (tree->trace->ref_cnt)
		tree->refs = ARENA_ARRAY(m->ctx->arena, struct tref, tree->trace->ref_cnt);
	for (uint32_t i = 0; i < tree->trace->span_cnt; i++) {
		struct tnode *node = &tree->nodes[i];

		if (node->flags & TNODE_DROPPED)
			continue;
		if (node->parent == TREE_NONE && m->spans[i].parent) {
			node->parent = span_of_id(m, i, m->spans[i].parent);
			if (node->parent == TREE_NONE)
				node->flags |= TNODE_ORPHAN;
		}
		if (m->spans[i].ref_cnt)
			refs_resolve(m, i);
	}
}

/* Each walk up ends at what an earlier walk has seen, so all of them are linear. */
static void rings_cut(struct making *m)
{
	struct span_tree *tree = m->tree;
	uint32_t cnt = tree->trace->span_cnt;
	uint32_t *walk = ARENA_ARRAY(m->ctx->arena, uint32_t, cnt);

	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t at = i, first;

		while (at != TREE_NONE && !walk[at]) {
			walk[at] = i + 1;
			at = tree->nodes[at].parent;
		}
		if (at == TREE_NONE || walk[at] != i + 1)
			continue;
		first = at;
		for (uint32_t on = tree->nodes[at].parent; on != at; on = tree->nodes[on].parent) {
			if (begun_before(tree, on, first))
				first = on;
		}
		tree->nodes[first].parent = TREE_NONE;
		tree->nodes[first].flags |= TNODE_ORPHAN;
		m->ctx->stats->cycle_cnt++;
	}
}

/* Without parent and not ordered by references either. */
static bool is_root(const struct tnode *node)
{
	return node->parent == TREE_NONE && !(node->flags & (TNODE_DROPPED | TNODE_AFTER));
}

static bool better_root(const struct span_tree *tree, uint32_t a, uint32_t best)
{
	int x, y;

	if (best == TREE_NONE)
		return true;
	x = is_root(&tree->nodes[a]) ? tree->nodes[a].flags & TNODE_ORPHAN : TNODE_AFTER;
	y = is_root(&tree->nodes[best]) ? tree->nodes[best].flags & TNODE_ORPHAN : TNODE_AFTER;
	return x != y ? x < y : begun_before(tree, a, best);
}

static void root_choose(struct making *m)
{
	struct span_tree *tree = m->tree;
	struct graph_stats *stats = m->ctx->stats;
	uint32_t root = TREE_NONE;

	for (uint32_t i = 0; i < tree->trace->span_cnt; i++) {
		const struct tnode *node = &tree->nodes[i];

		if (node->parent != TREE_NONE || node->flags & TNODE_DROPPED)
			continue;
		stats->orphan_cnt += !!(node->flags & TNODE_ORPHAN);
		if (better_root(tree, i, root))
			root = i;
	}
	tree->root = root;
	stats->rootless_cnt += !!(tree->nodes[root].flags & (TNODE_ORPHAN | TNODE_AFTER));
	for (uint32_t i = 0; i < tree->trace->span_cnt; i++) {
		struct tnode *node = &tree->nodes[i];

		if (i == root || !is_root(node))
			continue;
		stats->extra_root_cnt += !(node->flags & TNODE_ORPHAN);
		node->parent = root;
		node->flags |= TNODE_ADOPTED;
	}
}

static void order_make(struct making *m)
{
	struct span_tree *tree = m->tree;
	uint32_t cnt = tree->trace->span_cnt;

	tree->order = ARENA_ARRAY(m->ctx->arena, uint32_t, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		struct tnode *node = &tree->nodes[i];

		if (node->flags & TNODE_DROPPED)
			continue;
		if (node->parent == TREE_NONE) {
			tree->order[tree->order_cnt++] = i;
			continue;
		}
		node->next = tree->nodes[node->parent].first_child;
		tree->nodes[node->parent].first_child = i;
	}
	for (uint32_t i = 0; i < tree->order_cnt; i++) {
		uint32_t child = tree->nodes[tree->order[i]].first_child;

		for (; child != TREE_NONE; child = tree->nodes[child].next)
			tree->order[tree->order_cnt++] = child;
	}
}

static void times_from_root(struct span_tree *tree)
{
	int64_t base = tree->nodes[tree->root].begin;

	for (uint32_t i = 0; i < tree->trace->span_cnt; i++) {
		tree->nodes[i].begin = since(tree->nodes[i].begin, base);
		tree->nodes[i].end = since(tree->nodes[i].end, base);
	}
}

void span_tree_make(const struct tree_ctx *ctx, const struct trace *trace, struct span_tree *ret)
{
	struct making m = {.ctx = ctx, .tree = ret, .spans = trace->spans};

	*ret = (struct span_tree){.trace = trace};
	ret->nodes = ARENA_ARRAY(ctx->arena, struct tnode, trace->span_cnt);
	nodes_fill(&m);
	table_fill(&m);
	same_ids(&m);
	parents_resolve(&m);
	rings_cut(&m);
	root_choose(&m);
	order_make(&m);
	times_from_root(ret);
}
