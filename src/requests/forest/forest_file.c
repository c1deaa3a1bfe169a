/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/stats/attr_bins.h"
#include "requests/forest/forest_file.h"

#include <errno.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "requests/forest/packed.h"
#include "requests/graph/span_ends.h"

/* The least a thing takes in the file: hashes and doubles are 8 bytes, all else one. */
enum {
	TIMES_MIN = 1,
	EDGE_MIN = 6 + 5 * 8 + TIMES_MIN,
	BIN_MIN = 2,
	GROUP_MIN = 3 + 8 + 3 * 16 + TIMES_MIN,
	KEY_MIN = 4 + 3 * 8,
	NODE_MIN = 13 + 4 * 8,
	TREE_MIN = 3 + 2 * 8,
	DECISION_MIN = 14 + 8 * 8,
};

/* ---- writing */

static void put_times(struct packer *p, const struct forest_times *t)
{
	uint64_t used = 0;

	put_u64(p, t->cnt);
	if (!t->cnt)
		return;
	put_f64(p, t->mean_ns);
	put_f64(p, t->sd_ns);
	put_f64(p, t->min_ns);
	put_f64(p, t->max_ns);
	for (int i = 0; i < FOREST_BUCKETS; i++)
		used |= (uint64_t)(t->buckets[i] > 0) << i;
	put_fixed(p, used);
	for (int i = 0; i < FOREST_BUCKETS; i++)
		if (t->buckets[i])
			put_u64(p, t->buckets[i]);
}

static void put_event(struct packer *p, const struct forest_event *e)
{
	put_point(p, e->point);
	put_u64(p, e->kind);
}

static void put_trace_id(struct packer *p, const struct trace_id *id)
{
	put_fixed(p, id->hi);
	put_fixed(p, id->lo);
}

static void put_edge(struct packer *p, const struct forest_edge *e)
{
	put_event(p, &e->from);
	put_event(p, &e->to);
	put_point(p, e->owner);
	put_u64(p, e->hidden_cnt);
	put_f64(p, e->share_time);
	put_f64(p, e->share_variance);
	put_f64(p, e->share_low);
	put_f64(p, e->share_high);
	put_f64(p, e->usual_ns);
	put_times(p, &e->times);
}

static void put_group(struct packer *p, const struct forest_group *g)
{
	put_fixed(p, g->hash);
	put_u64(p, (uint64_t)g->variable | (uint64_t)g->slow << 1);
	put_trace_id(p, &g->representative);
	put_trace_id(p, &g->fastest);
	put_trace_id(p, &g->slowest);
	put_times(p, &g->times);
	put_u64(p, g->bin_cnt);
	for (uint32_t i = 0; i < g->bin_cnt; i++) {
		put_point(p, g->bins[i].point);
		put_text(p, g->bins[i].label);
	}
	put_u64(p, g->edge_cnt);
	for (uint32_t i = 0; i < g->edge_cnt; i++)
		put_edge(p, &g->edges[i]);
}

/* 0: FOREST_NONE. */
static void put_index(struct packer *p, uint32_t index)
{
	put_u64(p, index == FOREST_NONE ? 0 : (uint64_t)index + 1);
}

static void put_key(struct packer *p, const struct forest_key *k)
{
	put_point(p, k->point);
	put_text(p, k->key);
	put_u64(p, k->numeric);
	put_f64(p, k->strength);
	put_f64(p, k->p);
	put_f64(p, k->q);
	put_u64(p, k->cnt);
}

static void put_node(struct packer *p, const struct forest_node *n)
{
	put_index(p, n->parent);
	put_index(p, n->other);
	put_point(p, n->point);
	put_u64(p, n->sides);
	put_u64(p, n->present);
	put_u64(p, n->status);
	put_u64(p, n->round);
	put_u64(p, n->trace_cnt);
	put_f64(p, n->mean_ns);
	put_f64(p, n->cv);
	put_f64(p, n->explained);
	put_f64(p, n->split);
	put_u64(p, n->other_trace_cnt);
	put_u64(p, n->refused_cnt);
	put_u64(p, n->edge_over_cnt);
	put_u64(p, n->group_cnt);
	for (uint32_t i = 0; i < n->group_cnt; i++)
		put_group(p, &n->groups[i]);
	put_u64(p, n->key_cnt);
	for (uint32_t i = 0; i < n->key_cnt; i++)
		put_key(p, &n->keys[i]);
}

static void put_tree(struct packer *p, const struct forest_tree *t)
{
	put_fixed(p, t->type);
	put_point(p, t->point);
	put_u64(p, t->trace_cnt);
	put_f64(p, t->explained);
	put_u64(p, t->node_cnt);
	for (uint32_t i = 0; i < t->node_cnt; i++)
		put_node(p, &t->nodes[i]);
}

static void put_decision(struct packer *p, const struct forest_decision *d)
{
	put_u64(p, d->kind);
	put_u64(p, d->round);
	put_index(p, d->tree);
	put_index(p, d->node);
	put_point(p, d->point);
	put_u64(p, d->sides);
	put_u64(p, d->hidden_cnt);
	put_fixed(p, d->group);
	put_event(p, &d->from);
	put_event(p, &d->to);
	put_point(p, d->owner);
	put_u64(p, d->trace_cnt);
	put_f64(p, d->cv);
	put_f64(p, d->mean_ns);
	put_f64(p, d->usual_ns);
	put_f64(p, d->share_variance);
	put_f64(p, d->share_time);
	put_f64(p, d->p);
	put_f64(p, d->explained);
	put_str(p, d->why);
}

void forest_write(const struct forest *f, const struct points *points,
		  const struct strtab *strings, struct buf *out)
{
	struct packer p;

	packer_begin(&p, FOREST_FILE_WHAT, FOREST_FILE_VERSION, points, strings);
	put_fixed(&p, f->fingerprint);
	put_u64(&p, f->round);
	put_u64(&p, f->tree_cnt);
	for (uint32_t i = 0; i < f->tree_cnt; i++)
		put_tree(&p, &f->trees[i]);
	put_u64(&p, f->decision_cnt);
	for (uint32_t i = 0; i < f->decision_cnt; i++)
		put_decision(&p, &f->decisions[i]);
	packer_end(&p, out);
}

/* ---- reading */

struct loader {
	struct unpacker u;
	struct arena *arena;
};

static struct forest_times get_times(struct unpacker *u)
{
	struct forest_times t = {.cnt = get_u64(u, UINT64_MAX)};
	uint64_t used;

	if (!t.cnt)
		return t;
	t.mean_ns = get_f64(u);
	t.sd_ns = get_f64(u);
	t.min_ns = get_f64(u);
	t.max_ns = get_f64(u);
	used = get_fixed(u);
	for (int i = 0; i < FOREST_BUCKETS; i++)
		if (used >> i & 1)
			t.buckets[i] = (uint32_t)get_u64(u, UINT32_MAX);
	return t;
}

static struct forest_event get_event(struct unpacker *u)
{
	struct forest_event e = {.point = get_point(u)};

	e.kind = (uint32_t)get_u64(u, UINT8_MAX);
	return e;
}

static struct trace_id get_trace_id(struct unpacker *u)
{
	struct trace_id id = {.hi = get_fixed(u)};

	id.lo = get_fixed(u);
	return id;
}

static bool get_bool(struct unpacker *u)
{
	return get_u64(u, 1) == 1;
}

static void get_edge(struct unpacker *u, struct forest_edge *e)
{
	e->from = get_event(u);
	e->to = get_event(u);
	e->owner = get_point(u);
	e->hidden_cnt = (uint32_t)get_u64(u, UINT32_MAX);
	e->share_time = get_f64(u);
	e->share_variance = get_f64(u);
	e->share_low = get_f64(u);
	e->share_high = get_f64(u);
	e->usual_ns = get_f64(u);
	e->times = get_times(u);
	if (e->from.point == FOREST_NONE || e->to.point == FOREST_NONE)
		unpack_bad(u, "an edge without its ends");
}

static void get_group(struct loader *l, struct forest_group *g)
{
	struct unpacker *u = &l->u;
	struct forest_edge *edges;
	struct path_bin *bins;
	uint64_t flags;

	g->hash = get_fixed(u);
	flags = get_u64(u, 3);
	g->variable = flags & 1;
	g->slow = flags >> 1;
	g->representative = get_trace_id(u);
	g->fastest = get_trace_id(u);
	g->slowest = get_trace_id(u);
	g->times = get_times(u);
	g->bin_cnt = get_cnt(u, FOREST_BINS_MAX, BIN_MIN, sizeof(*bins));
	g->bins = bins = ARENA_ARRAY(l->arena, struct path_bin, g->bin_cnt);
	for (uint32_t i = 0; i < g->bin_cnt && unpack_ok(u); i++) {
		bins[i].point = get_a_point(u);
		bins[i].label = get_text(u);
	}
	g->edge_cnt = get_cnt(u, FOREST_FILE_EDGES_MAX, EDGE_MIN, sizeof(*edges));
	g->edges = edges = ARENA_ARRAY(l->arena, struct forest_edge, g->edge_cnt);
	for (uint32_t i = 0; i < g->edge_cnt && unpack_ok(u); i++)
		get_edge(u, &edges[i]);
}

static void get_key(struct unpacker *u, struct forest_key *k)
{
	k->point = get_a_point(u);
	k->key = get_text(u);
	k->numeric = get_bool(u);
	k->strength = get_f64(u);
	k->p = get_f64(u);
	k->q = get_f64(u);
	k->cnt = get_u64(u, UINT64_MAX);
}

/* Parents come before their children, and the other sign has the same parent. */
static void check_place(struct unpacker *u, const struct forest_node *nodes, uint32_t i,
			uint32_t node_cnt)
{
	const struct forest_node *n = &nodes[i];

	if (i == 0 ? n->parent != FOREST_NONE : n->parent >= i)
		unpack_bad(u, "a node without its parent");
	else if (n->other != FOREST_NONE && (n->other >= node_cnt || n->other == i || i == 0))
		unpack_bad(u, "a node whose other sign is not there");
	else if (n->other < i && nodes[n->other].parent != n->parent)
		unpack_bad(u, "two signs of one tracepoint at two places");
}

static void get_node(struct loader *l, struct forest_node *n)
{
	struct unpacker *u = &l->u;
	struct forest_group *groups;
	struct forest_key *keys;

	n->parent = (uint32_t)get_u64(u, FOREST_FILE_NODES_MAX) - 1;
	n->other = (uint32_t)get_u64(u, FOREST_FILE_NODES_MAX) - 1;
	n->point = get_a_point(u);
	n->sides = (uint8_t)get_u64(u, SIDES_BOTH);
	n->present = get_bool(u);
	n->status = (uint8_t)get_u64(u, HYP_STOPPED);
	n->round = (uint32_t)get_u64(u, UINT32_MAX);
	n->trace_cnt = get_u64(u, UINT64_MAX);
	n->mean_ns = get_f64(u);
	n->cv = get_f64(u);
	n->explained = get_f64(u);
	n->split = get_f64(u);
	n->other_trace_cnt = get_u64(u, UINT64_MAX);
	n->refused_cnt = get_u64(u, UINT64_MAX);
	n->edge_over_cnt = get_u64(u, UINT64_MAX);
	n->group_cnt = get_cnt(u, FOREST_FILE_GROUPS_MAX, GROUP_MIN, sizeof(*groups));
	n->groups = groups = ARENA_ARRAY(l->arena, struct forest_group, n->group_cnt);
	for (uint32_t i = 0; i < n->group_cnt && unpack_ok(u); i++)
		get_group(l, &groups[i]);
	n->key_cnt = get_cnt(u, FOREST_FILE_KEYS_MAX, KEY_MIN, sizeof(*keys));
	n->keys = keys = ARENA_ARRAY(l->arena, struct forest_key, n->key_cnt);
	for (uint32_t i = 0; i < n->key_cnt && unpack_ok(u); i++)
		get_key(u, &keys[i]);
}

static void get_tree(struct loader *l, struct forest_tree *t)
{
	struct unpacker *u = &l->u;
	struct forest_node *nodes;

	t->type = get_fixed(u);
	t->point = get_a_point(u);
	t->trace_cnt = get_u64(u, UINT64_MAX);
	t->explained = get_f64(u);
	t->node_cnt = get_cnt(u, FOREST_FILE_NODES_MAX, NODE_MIN, sizeof(*nodes));
	if (!t->node_cnt)
		unpack_bad(u, "a tree without root");
	t->nodes = nodes = ARENA_ARRAY(l->arena, struct forest_node, t->node_cnt);
	for (uint32_t i = 0; i < t->node_cnt && unpack_ok(u); i++) {
		get_node(l, &nodes[i]);
		check_place(u, nodes, i, t->node_cnt);
	}
}

static void get_decision(struct loader *l, struct forest_decision *d, const struct forest *f)
{
	struct unpacker *u = &l->u;

	d->kind = (uint32_t)get_u64(u, DECIDE_STOP);
	d->round = (uint32_t)get_u64(u, UINT32_MAX);
	d->tree = (uint32_t)get_u64(u, f->tree_cnt) - 1;
	d->node = (uint32_t)get_u64(u, FOREST_FILE_NODES_MAX) - 1;
	d->point = get_point(u);
	d->sides = (uint32_t)get_u64(u, SIDES_BOTH);
	d->hidden_cnt = (uint32_t)get_u64(u, UINT32_MAX);
	d->group = get_fixed(u);
	d->from = get_event(u);
	d->to = get_event(u);
	d->owner = get_point(u);
	d->trace_cnt = (uint32_t)get_u64(u, UINT32_MAX);
	d->cv = get_f64(u);
	d->mean_ns = get_f64(u);
	d->usual_ns = get_f64(u);
	d->share_variance = get_f64(u);
	d->share_time = get_f64(u);
	d->p = get_f64(u);
	d->explained = get_f64(u);
	d->why = get_str(u, l->arena);
	if (d->node != FOREST_NONE &&
	    (d->tree == FOREST_NONE || d->node >= f->trees[d->tree].node_cnt))
		unpack_bad(u, "a decision on a node that is not there");
}

static void get_forest(struct loader *l, struct forest *f)
{
	struct unpacker *u = &l->u;
	struct forest_tree *trees;
	struct forest_decision *decisions;

	f->fingerprint = get_fixed(u);
	f->round = (uint32_t)get_u64(u, UINT32_MAX);
	f->tree_cnt = get_cnt(u, FOREST_FILE_TREES_MAX, TREE_MIN, sizeof(*trees));
	f->trees = trees = ARENA_ARRAY(l->arena, struct forest_tree, f->tree_cnt);
	for (uint32_t i = 0; i < f->tree_cnt && unpack_ok(u); i++)
		get_tree(l, &trees[i]);
	f->decision_cnt = get_cnt(u, FOREST_FILE_DECISIONS_MAX, DECISION_MIN, sizeof(*decisions));
	f->decisions = decisions =
		ARENA_ARRAY(l->arena, struct forest_decision, f->decision_cnt);
	for (uint32_t i = 0; i < f->decision_cnt && unpack_ok(u); i++)
		get_decision(l, &decisions[i], f);
}

int forest_read(const void *bytes, size_t len, struct points *points, struct strtab *strings,
		struct arena *arena, struct forest *ret, struct err *err)
{
	struct loader l = {.arena = arena};
	struct forest f = {0};
	int code = unpacker_begin(&l.u, FOREST_FILE_WHAT, FOREST_FILE_VERSION, bytes, len, err);

	if (code < 0)
		return code;
	l.u.points = points;
	l.u.strings = strings;
	get_forest(&l, &f);
	code = unpacker_end(&l.u);
	unpacker_release(&l.u);
	if (code == 0)
		*ret = f;
	return code;
}
