/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which groups are a problem, and which of their edges to blame first.
 *
 * VARIANCE	A path that varies more than the threshold and whose variance
 *	is not one or two requests'.  Blamed are the edges that carry it.
 * SLOW		A group the half of which takes longer than nearly all (95 %) of
 *	the other requests of its type.  Of the others, since a group that is a
 *	good part of its type would else be measured by itself: with every tenth
 *	request slow, the type's 95th percentile is among the slow ones.
 *	Blamed are the edges that take longer than in the others.
 * PATHS	Most of a type's variance is between groups, more than chance
 *	makes of that many: which path is taken decides.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "requests/requests_int.h"
#include "requests/stats.h"

/* Edges are named until they make up this part of what is wrong. */
static const double blamed_part = 0.9;

/* PATHS: over half of the variance, and by chance once in a thousand. */
static const double paths_share = 0.5, paths_p = 0.001;

struct finding {
	struct request_problem problem;
	uint64_t type_hash, group_hash;
};

struct findings {
	VEC(struct finding) items;
	struct arena *arena;
	const struct requests_opts *opts;
};

typedef double (*edge_weight)(const struct request_edge *);

static double weight_of_share(const struct request_edge *e)
{
	return e->share;
}

static double weight_of_excess(const struct request_edge *e)
{
	return e->excess_ns;
}

struct ranking {
	const struct request_edge *edges;
	edge_weight weight;
};

static int by_rank(const void *a, const void *b, void *ctx)
{
	const struct ranking *r = ctx;
	const struct request_edge *x = &r->edges[*(const uint32_t *)a];
	const struct request_edge *y = &r->edges[*(const uint32_t *)b];

	CMP(r->weight(y), r->weight(x));
	CMP(x->hash, y->hash);
	return 0;
}

/* The edges of positive weight, as many as make up most of it. */
static void blame(struct findings *f, const struct request_group *g, edge_weight weight,
		  struct request_problem *ret)
{
	struct ranking ranking = {.edges = g->edges, .weight = weight};
	uint32_t *edges = ARENA_ARRAY(f->arena, uint32_t, g->edge_cnt + 1), cnt = 0;
	double all = 0, named = 0;

	for (uint32_t i = 0; i < g->edge_cnt; i++) {
		if (weight(&g->edges[i]) > 0) {
			edges[cnt++] = i;
			all += weight(&g->edges[i]);
		}
	}
	qsort_r(edges, cnt, sizeof(*edges), by_rank, &ranking);
	ret->edges = edges;
	for (uint32_t i = 0; i < cnt && named < blamed_part * all; i++) {
		named += weight(&g->edges[edges[i]]);
		/* what may as well carry nothing is not blamed, unless it is all there is */
		if (!i || weight != weight_of_share || g->edges[edges[i]].share_low > 0)
			edges[ret->edge_cnt++] = edges[i];
	}
}

static void found(struct findings *f, const struct request_type *type,
		  const struct request_group *g, const struct request_problem *problem)
{
	struct finding *new = vec_add(&f->items);

	new->problem = *problem;
	new->type_hash = type->hash;
	new->group_hash = g->hash;
}

static void look_at_variance(struct findings *f, const struct request_type *type,
			     uint32_t type_idx, uint32_t group_idx)
{
	const struct request_group *g = &type->groups[group_idx];
	struct request_problem p = {.kind = PROBLEM_VARIANCE, .type = type_idx, .group = group_idx};

	if (!(g->latency.cv > f->opts->cv_min) || g->by_outliers)
		return;
	p.weight = g->variance_share;
	p.cost_ns = (double)g->latency.cnt * g->latency.sd_ns;
	blame(f, g, weight_of_share, &p);
	found(f, type, g, &p);
}

/* The quantile of those in all that are not in part. */
static double quantile_of_others(const struct tails *all, const struct tails *part, double q)
{
	uint64_t cnt = all->cnt - part->cnt, before = 0;
	uint64_t rank = (uint64_t)ceil(q * (double)cnt);

	for (size_t i = 0, j = 0; i < all->buckets.cnt; i++) {
		const struct tails_bucket *b = &all->buckets.items[i];
		uint64_t left = b->cnt;
		u128 total = b->total;

		if (j < part->buckets.cnt && part->buckets.items[j].no == b->no) {
			left -= part->buckets.items[j].cnt;
			total -= part->buckets.items[j++].total;
		}
		before += left;
		if (left && before >= rank)
			return (double)((long double)total / (long double)left);
	}
	return INFINITY;
}

static void look_at_slowness(struct findings *f, const struct request_type *type,
			     const struct type *from, uint32_t type_idx, uint32_t group_idx)
{
	const struct request_group *g = &type->groups[group_idx];
	const struct tails *all = &from->all.tails, *part = &from->groups.items[group_idx]->tails;
	struct request_problem p = {.kind = PROBLEM_SLOW, .type = type_idx, .group = group_idx};
	double usual, bound;

	if (all->cnt - part->cnt < f->opts->min_cnt)
		return;
	bound = quantile_of_others(all, part, f->opts->slow_pct / 100);
	if (!(g->latency.p50_ns > bound))
		return;
	usual = quantile_of_others(all, part, 0.5);
	p.weight = g->latency.mean_ns * g->type_share / type->all->latency.mean_ns;
	p.cost_ns = (double)g->latency.cnt * (g->latency.p50_ns - usual);
	p.excess_ns = g->latency.p50_ns - bound;
	blame(f, g, weight_of_excess, &p);
	found(f, type, g, &p);
}

static void look_at_paths(struct findings *f, const struct request_type *type, uint32_t type_idx)
{
	struct request_problem p = {.kind = PROBLEM_PATHS, .type = type_idx, .group = REQUEST_ALL};
	const struct latency *l = &type->all->latency;
	double df1 = (double)type->group_cnt - 1, df2 = (double)l->cnt - type->group_cnt;
	double between = type->between_share;

	if (!type->all->decided || !(l->cv > f->opts->cv_min) || df1 < 1 || df2 < 1)
		return;
	if (between < paths_share ||
	    stats_f_p(between / df1 / ((1 - between) / df2), df1, df2) > paths_p)
		return;
	p.weight = between;
	p.cost_ns = (double)l->cnt * l->sd_ns * sqrt(between);
	blame(f, type->all, weight_of_share, &p);
	found(f, type, type->all, &p);
}

static int by_cost(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	CMP(x->problem.kind, y->problem.kind);
	CMP(y->problem.cost_ns, x->problem.cost_ns);
	CMP(x->type_hash, y->type_hash);
	CMP(x->group_hash, y->group_hash);
	return 0;
}

void problems_find(const struct requests *r, struct requests_result *result,
		   struct arena *arena)
{
	struct findings f = {.arena = arena, .opts = &r->opts};
	struct request_problem *problems;

	for (uint32_t t = 0; t < result->type_cnt; t++) {
		const struct request_type *type = &result->types[t];

		for (uint32_t g = 0; g < type->group_cnt; g++) {
			if (!type->groups[g].decided)
				continue;
			look_at_variance(&f, type, t, g);
			look_at_slowness(&f, type, r->types.items[t], t, g);
		}
		look_at_paths(&f, type, t);
	}
	vec_sort(&f.items, by_cost);
	problems = ARENA_ARRAY(arena, struct request_problem, f.items.cnt);
	for (size_t i = 0; i < f.items.cnt; i++)
		problems[i] = f.items.items[i].problem;
	result->problems = problems;
	result->problem_cnt = (uint32_t)f.items.cnt;
	vec_release(&f.items);
}
