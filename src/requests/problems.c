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
#include "requests/stats/tests.h"

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

/* A request that soon gave up does not tell how long one takes that does its work. */
static bool fails_fast(const struct request_type *type, const struct request_group *g)
{
	return 2 * g->failed_cnt > g->latency.cnt &&
	       g->latency.mean_ns < type->all->latency.mean_ns;
}

uint64_t others_of(const struct request_type *type, const struct type *from, uint32_t group,
		   struct arena *arena, struct others *ret)
{
	const struct tails **sets = ARENA_ARRAY(arena, const struct tails *, type->group_cnt + 1);
	uint64_t cnt = 0;

	*ret = (struct others){.sets = sets};
	for (uint32_t i = 0; i < type->group_cnt; i++) {
		if (i == group || fails_fast(type, &type->groups[i]))
			continue;
		sets[ret->set_cnt++] = &from->groups.items[i]->tails;
		cnt += type->groups[i].latency.cnt;
	}
	return cnt;
}

static void look_at_slowness(struct findings *f, const struct request_type *type,
			     const struct type *from, uint32_t type_idx, uint32_t group_idx)
{
	const struct request_group *g = &type->groups[group_idx];
	struct request_problem p = {.kind = PROBLEM_SLOW, .type = type_idx, .group = group_idx};
	struct others others;
	double usual, bound;

	if (type->group_cnt < 2 ||
	    others_of(type, from, group_idx, f->arena, &others) < f->opts->min_cnt)
		return;
	bound = tails_quantile_of(others.sets, others.set_cnt, f->opts->slow_pct / 100);
	if (!(g->latency.p50_ns > bound))
		return;
	usual = tails_quantile_of(others.sets, others.set_cnt, 0.5);
	p.weight = g->latency.mean_ns * g->type_share / type->all->latency.mean_ns;
	p.cost_ns = (double)g->latency.cnt * (g->latency.p50_ns - usual);
	p.excess_ns = g->latency.p50_ns - bound;
	blame(f, g, weight_of_excess, &p);
	found(f, type, g, &p);
}

/* The groups of a type that tell how long its requests take, and what lies between them. */
struct paths {
	uint32_t cnt;
	double member_cnt, mean_ns, between, within;	/* sums of squares */
	uint32_t slow;		/* that takes most of the time over the mean; REQUEST_ALL: none */
};

static struct paths paths_of(const struct request_type *type)
{
	struct paths p = {.slow = REQUEST_ALL};
	double over = 0;

	for (uint32_t i = 0; i < type->group_cnt; i++) {
		const struct latency *l = &type->groups[i].latency;

		if (fails_fast(type, &type->groups[i]))
			continue;
		p.cnt++;
		p.member_cnt += (double)l->cnt;
		p.mean_ns += (double)l->cnt * l->mean_ns;
		p.within += (double)(l->cnt - 1) * l->sd_ns * l->sd_ns;
	}
	p.mean_ns /= fmax(p.member_cnt, 1);
	for (uint32_t i = 0; i < type->group_cnt; i++) {
		const struct latency *l = &type->groups[i].latency;
		double d = l->mean_ns - p.mean_ns;

		if (fails_fast(type, &type->groups[i]))
			continue;
		p.between += (double)l->cnt * d * d;
		if ((double)l->cnt * d > over) {
			over = (double)l->cnt * d;
			p.slow = i;
		}
	}
	return p;
}

static void look_at_paths(struct findings *f, const struct request_type *type, uint32_t type_idx)
{
	struct request_problem p = {.kind = PROBLEM_PATHS, .type = type_idx, .group = REQUEST_ALL};
	struct paths paths = paths_of(type);
	double df1 = (double)paths.cnt - 1, df2 = paths.member_cnt - paths.cnt;
	double all = paths.between + paths.within;
	const struct latency *slow;

	if (!type->all->decided || df1 < 1 || df2 < 1 || paths.slow == REQUEST_ALL ||
	    !(sqrt(all / paths.member_cnt) > f->opts->cv_min * paths.mean_ns))
		return;
	p.weight = paths.between / all;
	if (p.weight < paths_share ||
	    stats_f_p(paths.between / df1 / (paths.within / df2), df1, df2) > paths_p)
		return;
	slow = &type->groups[paths.slow].latency;
	p.path_cnt = paths.cnt;
	p.slow_group = paths.slow;
	p.excess_ns = (slow->mean_ns - paths.mean_ns) * paths.member_cnt /
		      (paths.member_cnt - (double)slow->cnt);
	p.cost_ns = sqrt(paths.between * paths.member_cnt);
	blame(f, type->all, weight_of_share, &p);
	found(f, type, type->all, &p);
}

static int by_cost(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	CMP(y->problem.cost_ns, x->problem.cost_ns);
	CMP(x->problem.kind, y->problem.kind);
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
