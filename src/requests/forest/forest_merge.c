/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "base/vec.h"
#include "trace/points.h"
#include "requests/forest/forest_file.h"

/* ---- numbers: each with how many requests it is of */

struct weights {
	double a, b;	/* add to 1; both 0 if there is nothing */
};

static struct weights weights_of(uint64_t a, uint64_t b)
{
	double all = (double)a + (double)b;

	return all > 0 ? (struct weights){(double)a / all, (double)b / all}
		       : (struct weights){0, 0};
}

static double mix(struct weights w, double a, double b)
{
	/* an interval's end may be infinite: 0 times that is no number */
	return (w.a > 0 ? w.a * a : 0) + (w.b > 0 ? w.b * b : 0);
}

/* Standard deviation of both together. */
static double mix_sd(struct weights w, const double mean[2], const double sd[2])
{
	double mean_all = mix(w, mean[0], mean[1]);
	double da = mean[0] - mean_all, db = mean[1] - mean_all;

	return sqrt(mix(w, sd[0] * sd[0] + da * da, sd[1] * sd[1] + db * db));
}

static struct forest_times times_of_both(const struct forest_times *a,
					 const struct forest_times *b)
{
	struct weights w = weights_of(a->cnt, b->cnt);
	struct forest_times t = *b;

	if (!a->cnt)
		return *b;
	if (!b->cnt)
		return *a;
	t.cnt = a->cnt + b->cnt;
	t.mean_ns = mix(w, a->mean_ns, b->mean_ns);
	t.sd_ns = mix_sd(w, (double[]){a->mean_ns, b->mean_ns}, (double[]){a->sd_ns, b->sd_ns});
	t.min_ns = fmin(a->min_ns, b->min_ns);
	t.max_ns = fmax(a->max_ns, b->max_ns);
	for (int i = 0; i < FOREST_BUCKETS; i++)
		if (__builtin_add_overflow(a->buckets[i], b->buckets[i], &t.buckets[i]))
			t.buckets[i] = UINT32_MAX;
	return t;
}

/* ---- groups */

static bool same_event(const struct forest_event *a, const struct forest_event *b)
{
	return a->point == b->point && a->kind == b->kind;
}

static bool same_edges(const struct forest_group *a, const struct forest_group *b)
{
	if (a->edge_cnt != b->edge_cnt)
		return false;
	for (uint32_t i = 0; i < a->edge_cnt; i++)
		if (!same_event(&a->edges[i].from, &b->edges[i].from) ||
		    !same_event(&a->edges[i].to, &b->edges[i].to))
			return false;
	return true;
}

static void edge_add(struct forest_edge *to, const struct forest_edge *a, struct weights w)
{
	to->share_time = mix(w, a->share_time, to->share_time);
	to->share_variance = mix(w, a->share_variance, to->share_variance);
	to->share_low = fmin(a->share_low, to->share_low);
	to->share_high = fmax(a->share_high, to->share_high);
	if (to->usual_ns < 0)
		to->usual_ns = a->usual_ns;
	to->times = times_of_both(&a->times, &to->times);
}

static struct forest_group group_of_both(const struct forest_group *a,
					 const struct forest_group *b, struct arena *arena)
{
	struct forest_group g = *b;
	struct weights w = weights_of(a->times.cnt, b->times.cnt);

	if (same_edges(a, b)) {
		struct forest_edge *edges =
			arena_dup(arena, b->edges, b->edge_cnt * sizeof(*edges));

		for (uint32_t i = 0; i < b->edge_cnt; i++)
			edge_add(&edges[i], &a->edges[i], w);
		g.edges = edges;
	}
	g.variable |= a->variable;
	g.slow |= a->slow;
	if (a->times.cnt > b->times.cnt)
		g.representative = a->representative;
	if (a->times.cnt && (!b->times.cnt || a->times.min_ns < b->times.min_ns))
		g.fastest = a->fastest;
	if (a->times.cnt && (!b->times.cnt || a->times.max_ns > b->times.max_ns))
		g.slowest = a->slowest;
	g.times = times_of_both(&a->times, &b->times);
	return g;
}

static int cmp_group_hash(const void *pa, const void *pb)
{
	const struct forest_group *const *a = pa, *const *b = pb;

	CMP((*a)->hash, (*b)->hash);
	return 0;
}

static int cmp_group(const void *pa, const void *pb)
{
	const struct forest_group *a = pa, *b = pb;

	CMP(b->times.cnt, a->times.cnt);
	CMP(a->hash, b->hash);
	return 0;
}

static void merge_groups(const struct forest_node *a, const struct forest_node *b,
			 struct arena *arena, struct forest_node *ret)
{
	size_t all = (size_t)a->group_cnt + b->group_cnt;
	const struct forest_group **by_hash = ARENA_ARRAY(arena, const struct forest_group *, all);
	struct forest_group *groups = ARENA_ARRAY(arena, struct forest_group, all);
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < a->group_cnt; i++)
		by_hash[i] = &a->groups[i];
	qsort(by_hash, a->group_cnt, sizeof(*by_hash), cmp_group_hash);
	for (uint32_t i = 0; i < b->group_cnt; i++) {
		const struct forest_group *key = &b->groups[i];
		const struct forest_group **have = bsearch(&key, by_hash, a->group_cnt,
							   sizeof(*by_hash), cmp_group_hash);

		groups[cnt++] = have ? group_of_both(*have, key, arena) : *key;
		by_hash[a->group_cnt + i] = key;
	}
	qsort(by_hash + a->group_cnt, b->group_cnt, sizeof(*by_hash), cmp_group_hash);
	for (uint32_t i = 0; i < a->group_cnt; i++)
		if (!bsearch(&by_hash[i], by_hash + a->group_cnt, b->group_cnt, sizeof(*by_hash),
			     cmp_group_hash))
			groups[cnt++] = *by_hash[i];
	qsort(groups, cnt, sizeof(*groups), cmp_group);
	ret->groups = groups;
	ret->group_cnt = cnt;
}

/* ---- keys: of one that both have, the one of more requests */

static void merge_keys(const struct forest_node *a, const struct forest_node *b,
		       struct arena *arena, struct forest_node *ret)
{
	struct forest_key *keys =
		ARENA_ARRAY(arena, struct forest_key, (size_t)a->key_cnt + b->key_cnt);
	uint32_t cnt = 0;

	for (; cnt < b->key_cnt; cnt++)
		keys[cnt] = b->keys[cnt];
	for (uint32_t i = 0; i < a->key_cnt; i++) {
		const struct forest_key *k = &a->keys[i];
		uint32_t at = 0;

		while (at < b->key_cnt && (keys[at].point != k->point || keys[at].key != k->key))
			at++;
		if (at == b->key_cnt)
			keys[cnt++] = *k;
		else if (k->cnt > keys[at].cnt)
			keys[at] = *k;
	}
	ret->keys = keys;
	ret->key_cnt = cnt;
}

/* ---- nodes and trees */

static struct forest_node node_of_both(const struct forest_node *a, const struct forest_node *b,
				       struct arena *arena)
{
	struct forest_node n = *b;
	struct weights w = weights_of(a->trace_cnt, b->trace_cnt);

	n.round = a->round;
	n.trace_cnt = a->trace_cnt + b->trace_cnt;
	n.other_trace_cnt = a->other_trace_cnt + b->other_trace_cnt;
	n.refused_cnt = a->refused_cnt + b->refused_cnt;
	n.edge_over_cnt = a->edge_over_cnt + b->edge_over_cnt;
	n.mean_ns = mix(w, a->mean_ns, b->mean_ns);
	n.cv = mix_sd(w, (double[]){a->mean_ns, b->mean_ns},
		      (double[]){a->cv * a->mean_ns, b->cv * b->mean_ns});
	n.cv = n.mean_ns > 0 ? n.cv / n.mean_ns : 0;
	n.explained = mix(w, a->explained, b->explained);
	n.split = mix(w, a->split, b->split);
	merge_groups(a, b, arena, &n);
	merge_keys(a, b, arena, &n);
	return n;
}

/* Index of b's node among those of both, which already have its parent; cnt: nowhere. */
static uint32_t node_find(const struct forest_node *nodes, uint32_t cnt, uint32_t parent,
			  const struct forest_node *n)
{
	uint32_t i = 0;

	while (i < cnt && (nodes[i].parent != parent || nodes[i].point != n->point ||
			   nodes[i].sides != n->sides || nodes[i].present != n->present))
		i++;
	return parent == FOREST_NONE ? 0 : i;
}

/* map: where each of b's nodes went. */
static struct forest_tree tree_of_both(const struct forest_tree *a, const struct forest_tree *b,
				       uint32_t rounds, uint32_t *map, struct arena *arena)
{
	struct forest_node *nodes =
		ARENA_ARRAY(arena, struct forest_node, (size_t)a->node_cnt + b->node_cnt);
	struct weights w = weights_of(a->trace_cnt, b->trace_cnt);
	struct forest_tree t = *b;
	uint32_t cnt = 0;

	for (; cnt < a->node_cnt; cnt++)
		nodes[cnt] = a->nodes[cnt];
	for (uint32_t i = 0; i < b->node_cnt; i++) {
		const struct forest_node *n = &b->nodes[i];
		uint32_t parent = n->parent == FOREST_NONE ? FOREST_NONE : map[n->parent];
		uint32_t at = node_find(nodes, a->node_cnt, parent, n), other = nodes[at].other;

		map[i] = at < a->node_cnt ? at : cnt++;
		if (at < a->node_cnt) {
			nodes[at] = node_of_both(&a->nodes[at], n, arena);
			nodes[at].other = other;
		} else {
			nodes[map[i]] = *n;
			nodes[map[i]].round += rounds;
			nodes[map[i]].other = FOREST_NONE;
		}
		nodes[map[i]].parent = parent;
	}
	for (uint32_t i = 0; i < b->node_cnt; i++)
		if (b->nodes[i].other != FOREST_NONE && nodes[map[i]].other == FOREST_NONE)
			nodes[map[i]].other = map[b->nodes[i].other];
	t.nodes = nodes;
	t.node_cnt = cnt;
	t.trace_cnt = a->trace_cnt + b->trace_cnt;
	t.explained = mix(w, a->explained, b->explained);
	return t;
}

struct merged_tree {
	struct forest_tree tree;
	uint32_t from_a, from_b;	/* FOREST_NONE: not there */
};

struct merging {
	const struct points *points;
	const struct strtab *strings;
};

static int cmp_tree(const void *pa, const void *pb, void *ctx)
{
	const struct merged_tree *a = pa, *b = pb;
	const struct merging *m = ctx;
	int cmp = points_cmp(m->points, m->strings, a->tree.point, b->tree.point);

	if (cmp)
		return cmp;
	CMP(a->tree.type, b->tree.type);
	return 0;
}

static struct forest_tree moved_tree(const struct forest_tree *b, uint32_t rounds, uint32_t *map,
				     struct arena *arena)
{
	struct forest_tree t = *b;
	struct forest_node *nodes = arena_dup(arena, b->nodes, b->node_cnt * sizeof(*nodes));

	for (uint32_t i = 0; i < b->node_cnt; i++) {
		nodes[i].round += rounds;
		map[i] = i;
	}
	t.nodes = nodes;
	return t;
}

static void merge_decisions(const struct forest *a, const struct forest *b,
			    const struct merged_tree *trees, uint32_t **maps, struct arena *arena,
			    struct forest *ret)
{
	size_t all = (size_t)a->decision_cnt + b->decision_cnt;
	struct forest_decision *d = ARENA_ARRAY(arena, struct forest_decision, all);
	uint32_t *tree_a = ARENA_ARRAY(arena, uint32_t, a->tree_cnt + 1);
	uint32_t *tree_b = ARENA_ARRAY(arena, uint32_t, b->tree_cnt + 1);

	for (uint32_t i = 0; i < ret->tree_cnt; i++) {
		if (trees[i].from_a != FOREST_NONE)
			tree_a[trees[i].from_a] = i;
		if (trees[i].from_b != FOREST_NONE)
			tree_b[trees[i].from_b] = i;
	}
	for (size_t i = 0; i < all; i++) {
		bool first = i < a->decision_cnt;

		d[i] = first ? a->decisions[i] : b->decisions[i - a->decision_cnt];
		d[i].round += first ? 0 : a->round;
		if (d[i].tree == FOREST_NONE)
			continue;
		if (!first && d[i].node != FOREST_NONE)
			d[i].node = maps[d[i].tree][d[i].node];
		d[i].tree = first ? tree_a[d[i].tree] : tree_b[d[i].tree];
	}
	ret->decisions = d;
	ret->decision_cnt = (uint32_t)all;
}

void forest_merge(const struct forest *a, const struct forest *b, const struct points *points,
		  const struct strtab *strings, struct arena *arena, struct forest *ret)
{
	struct merging m = {points, strings};
	size_t all = (size_t)a->tree_cnt + b->tree_cnt;
	struct merged_tree *trees = ARENA_ARRAY(arena, struct merged_tree, all);
	uint32_t **maps = ARENA_ARRAY(arena, uint32_t *, b->tree_cnt + 1);
	struct forest_tree *out = ARENA_ARRAY(arena, struct forest_tree, all);
	struct forest f = {.round = a->round + b->round, .fingerprint = b->fingerprint};

	for (uint32_t i = 0; i < b->tree_cnt; i++) {
		const struct forest_tree *t = &b->trees[i];
		uint32_t have = forest_find(a, t->type);

		maps[i] = ARENA_ARRAY(arena, uint32_t, t->node_cnt);
		trees[f.tree_cnt++] = (struct merged_tree){
			have == FOREST_NONE ? moved_tree(t, a->round, maps[i], arena)
					    : tree_of_both(&a->trees[have], t, a->round, maps[i],
							   arena),
			have, i};
	}
	for (uint32_t i = 0; i < a->tree_cnt; i++)
		if (forest_find(b, a->trees[i].type) == FOREST_NONE)
			trees[f.tree_cnt++] = (struct merged_tree){a->trees[i], i, FOREST_NONE};
	qsort_r(trees, f.tree_cnt, sizeof(*trees), cmp_tree, &m);
	for (uint32_t i = 0; i < f.tree_cnt; i++)
		out[i] = trees[i].tree;
	f.trees = out;
	merge_decisions(a, b, trees, maps, arena, &f);
	*ret = f;
}
