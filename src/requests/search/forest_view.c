/* SPDX-License-Identifier: Apache-2.0 */
/* The forest as others see it, from the nodes of control.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "requests/search/hypothesis.h"
#include "requests/search/consistently_slow.h"

struct viewing {
	const struct control *c;
	const struct hyp_tree *t;
	struct arena *arena;
	struct hist times;	/* of all requests of the tree */
};

/* ---- distributions */

static void times_fill(const struct times *t, uint64_t cnt, double mean, double var,
		       struct forest_times *ret)
{
	*ret = (struct forest_times){.cnt = cnt, .mean_ns = mean, .sd_ns = sqrt(var),
				     .min_ns = (double)t->min_ns, .max_ns = (double)t->max_ns};
	memcpy(ret->buckets, t->buckets, sizeof(ret->buckets));
}

/* A trace of the bucket that the mean is in, or of the nearest that has any. */
static struct trace_id representative(const struct evidence_group *g)
{
	uint32_t mean = times_bucket((int64_t)moments_mean(&g->moments));

	for (uint32_t off = 0; off < FOREST_BUCKETS; off++) {
		if (mean >= off && g->total.buckets[mean - off])
			return g->by_bucket[mean - off];
		if (mean + off < FOREST_BUCKETS && g->total.buckets[mean + off])
			return g->by_bucket[mean + off];
	}
	return g->fastest;
}

/* Tracepoints that the space's traces have in an edge of the node. */
static uint32_t hidden_cnt(const struct viewing *v, const struct hyp_node *n,
			   const struct forest_edge *e)
{
	struct arena scratch = {0};	/* of one edge: of an answer there are many thousand */
	uint8_t *met = ARENA_ARRAY(&scratch, uint8_t, v->c->point_size);
	uint32_t cnt = 0;
	struct stretches ways;
	struct hidden_query q = {
		.known = v->t->known, .stripped = n->usual, .known_cnt = v->t->known_cnt,
		.on = n->on, .points = v->c->points,
		.from = e->from, .to = e->to, .owner = e->owner,
	};

	hidden_find(&q, &scratch, &ways);
	for (uint32_t i = 0; i < ways.cnt; i++)
		for (uint32_t k = 0; k < ways.items[i].event_cnt; k++) {
			struct forest_event event = ways.items[i].events[k];
			uint8_t side = v->c->opts.apart ? side_of(event.kind) : SIDES_BOTH;

			cnt += !(met[event.point] & side);
			met[event.point] |= side;
		}
	arena_release(&scratch);
	return cnt;
}

/* ---- groups */

static void edge_fill(const struct viewing *v, const struct hyp_node *n,
		      const struct evidence_group *g, uint32_t i, struct forest_edge *ret)
{
	double mean = moments_mean(&g->moments);
	struct moments_share share = moments_share(&g->moments, i);
	const struct beside *u;

	*ret = g->edges[i];
	u = beside_find(&n->e.usual_beside,
			evidence_key(v->c->points, ret->from, ret->to, ret->owner));
	ret->usual_ns = u ? (double)u->sum_ns / (double)u->cnt : -1;
	ret->share_time = mean > 0 ? moments_column_mean(&g->moments, i) / mean : 0;
	ret->share_variance = share.value;
	ret->share_low = share.low;
	ret->share_high = share.high;
	times_fill(&g->edge_times[i], moments_cnt(&g->moments),
		   moments_column_mean(&g->moments, i), moments_column_var(&g->moments, i),
		   &ret->times);
}

static void group_fill(const struct viewing *v, const struct hyp_node *n,
		       const struct evidence_group *g, struct forest_group *ret)
{
	struct forest_edge *edges = ARENA_ARRAY(v->arena, struct forest_edge, g->edge_cnt + 1);
	double mean = moments_mean(&g->moments);

	*ret = (struct forest_group){
		.hash = g->hash, .edges = edges, .edge_cnt = g->edge_cnt,
		.representative = representative(g),
		.fastest = g->fastest, .slowest = g->slowest,
		.bins = arena_dup(v->arena, g->names.items,
				  g->names.cnt * sizeof(*g->names.items)),
		.bin_cnt = (uint32_t)g->names.cnt,
	};
	for (uint32_t i = 0; i < g->edge_cnt; i++)
		edge_fill(v, n, g, i, &edges[i]);
	times_fill(&g->total, moments_cnt(&g->moments), mean, moments_var(&g->moments),
		   &ret->times);
	ret->variable = ret->times.sd_ns > v->c->opts.cv_min * mean;
	ret->slow = slow_over(&v->times, moments_cnt(&v->t->nodes.items[0]->e.live), g, mean,
			      v->c->opts.slow_pct);
}

static int group_cmp(const void *a, const void *b)
{
	const struct forest_group *x = a, *y = b;

	CMP(y->times.cnt, x->times.cnt);
	CMP(x->hash, y->hash);
	return 0;
}

/* eta²: sums of squares between the groups over all of it. */
static double explained(const struct hyp_node *n)
{
	double within = 0, all = moments_var(&n->e.live) * (double)moments_cnt(&n->e.live);

	for (size_t i = 0; i < n->e.groups.cnt; i++) {
		const struct moments *m = &n->e.groups.items[i].moments;

		within += moments_var(m) * (double)moments_cnt(m);
	}
	return all > 0 && n->e.other_cnt == 0 ? fmax(0, 1 - within / all) : 0;
}

/* eta² of the tracepoint being there against not. */
static double split(const struct hyp_tree *t, uint32_t node)
{
	const struct hyp_node *n = t->nodes.items[node];
	const struct moments *a = &n->e.live, *b;
	double na, nb, between, within;

	if (n->other == FOREST_NONE)
		return 0;
	b = &t->nodes.items[n->other]->e.live;
	na = (double)moments_cnt(a);
	nb = (double)moments_cnt(b);
	if (na == 0 || nb == 0)
		return 0;
	between = na * nb / (na + nb) * pow(moments_mean(a) - moments_mean(b), 2);
	within = na * moments_var(a) + nb * moments_var(b);
	return between + within > 0 ? between / (between + within) : 0;
}

static void node_fill(const struct viewing *v, uint32_t node, struct forest_node *ret)
{
	const struct hyp_node *n = v->t->nodes.items[node];
	const struct evidence *shown = &n->e;
	struct forest_group *groups = ARENA_ARRAY(v->arena, struct forest_group,
						  n->e.groups.cnt + 1);
	double mean = moments_mean(&n->e.live);

	*ret = (struct forest_node){
		.parent = n->parent, .point = n->point, .sides = n->sides,
		.present = n->present,
		.status = n->status, .other = n->other, .round = n->round,
		.trace_cnt = moments_cnt(&n->e.live), .mean_ns = mean,
		.cv = mean > 0 ? sqrt(moments_var(&n->e.live)) / mean : 0,
		.explained = explained(n), .split = split(v->t, node),
		.groups = groups, .group_cnt = (uint32_t)n->e.groups.cnt,
		.other_trace_cnt = shown->other_cnt, .refused_cnt = shown->refused_cnt,
		.edge_over_cnt = shown->class_dropped_cnt,
	};
	ret->keys = hyp_keys_find(v->c, n, v->arena, &ret->key_cnt);
	for (size_t i = 0; i < n->e.groups.cnt; i++)
		group_fill(v, n, &n->e.groups.items[i], &groups[i]);
	if (ret->group_cnt > 1)
		qsort(groups, ret->group_cnt, sizeof(*groups), group_cmp);
	/* Looking up what is hidden takes the samples' graphs: only for what is shown first. */
	for (uint32_t i = 0; i < ret->group_cnt && i < 8; i++)
		for (uint32_t k = 0; k < groups[i].edge_cnt; k++)
			((struct forest_edge *)groups[i].edges)[k].hidden_cnt =
				hidden_cnt(v, n, &groups[i].edges[k]);
}

/* ---- trees */

/* Variance left in the leaves under a node: by the pair that leaves the least. */
static double left_over(const struct forest_node *nodes, uint32_t cnt, uint32_t node)
{
	double best = (1 - nodes[node].explained) * pow(nodes[node].cv * nodes[node].mean_ns, 2);

	for (uint32_t i = node + 1; i + 1 < cnt; i++) {
		double na = (double)nodes[i].trace_cnt, nb = (double)nodes[i + 1].trace_cnt, left;

		if (nodes[i].parent != node || !nodes[i].present || na + nb == 0)
			continue;
		left = (na * left_over(nodes, cnt, i) + nb * left_over(nodes, cnt, i + 1)) /
		       (na + nb);
		best = left < best ? left : best;
	}
	return best;
}

static void tree_fill(const struct control *c, const struct hyp_tree *t, struct arena *arena,
		      struct forest_tree *ret)
{
	struct viewing v = {c, t, arena, slow_times(&t->nodes.items[0]->e)};
	uint32_t cnt = (uint32_t)t->nodes.cnt;
	struct forest_node *nodes = ARENA_ARRAY(arena, struct forest_node, cnt + 1);
	double var = moments_var(&t->nodes.items[0]->e.live);

	for (uint32_t i = 0; i < cnt; i++)
		node_fill(&v, i, &nodes[i]);
	*ret = (struct forest_tree){
		.type = t->type->hash, .point = t->type->point, .node_cnt = cnt, .nodes = nodes,
		.trace_cnt = nodes[0].trace_cnt,
		.explained = var > 0 ? fmax(0, 1 - left_over(nodes, cnt, 0) / var) : 0,
	};
	hist_release(&v.times);
}

const struct forest *control_forest(const struct control *c, struct arena *arena)
{
	struct forest *f = ARENA_NEW(arena, struct forest);
	struct forest_tree *trees = ARENA_ARRAY(arena, struct forest_tree, c->trees.cnt + 1);
	struct forest_decision *decisions =
		arena_dup(arena, c->decisions.items, c->decisions.cnt * sizeof(*decisions));

	for (size_t i = 0; i < c->trees.cnt; i++)
		tree_fill(c, c->trees.items[i], arena, &trees[i]);
	for (size_t i = 0; i < c->decisions.cnt; i++)
		decisions[i].why = arena_strdup(arena, decisions[i].why);
	*f = (struct forest){
		.trees = trees, .tree_cnt = (uint32_t)c->trees.cnt,
		.decisions = decisions, .decision_cnt = (uint32_t)c->decisions.cnt,
		.round = c->round, .fingerprint = c->view.fingerprint,
	};
	return f;
}
