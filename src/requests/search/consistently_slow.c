/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/search/consistently_slow.h"

#include <math.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"

/* So far over the mean of the others anybody calls slow; strategy_hedge.c takes it for shifts. */
#define OVER_MIN 0.05
/* One side of a 95 % interval with the 16 cells of struct moments. */
#define T_975_15 2.131

double slow_others_mean(const struct evidence *e, const struct evidence_group *g)
{
	double cnt = 0, sum = 0;

	VEC_FOREACH(&e->groups, o) {
		double own = o == g || o->bins != g->bins ? 0 : (double)moments_cnt(&o->moments);

		cnt += own;
		sum += own * moments_mean(&o->moments);
	}
	return cnt > 0 ? sum / cnt : -1;
}

/* Requests that are compared: all of a type, where keys were given those of the same bins. */
struct peers {
	struct hist times;
	double cnt, sum;
};

struct peerage {
	VEC(struct peers) items;
	struct hmap by_bins;
};

static struct peers *peers_of(struct peerage *all, uint64_t bins)
{
	uint64_t *at = hmap_slot(&all->by_bins, bins);

	if (!*at) {
		(void)vec_add(&all->items);
		*at = all->items.cnt;
	}
	return &all->items.items[*at - 1];
}

static bool steady(const struct evidence_group *g, const struct slow_opts *o)
{
	double mean = moments_mean(&g->moments);

	return moments_cnt(&g->moments) >= o->min_cnt && mean > 0 &&
	       sqrt(moments_var(&g->moments)) <= o->cv_min * mean;
}

struct hist slow_times(const struct evidence *e)
{
	struct hist all = {0};

	VEC_FOREACH(&e->groups, g)
		hist_merge(&all, &g->fine);
	return all;
}

bool slow_over(const struct hist *all, uint64_t all_cnt, const struct evidence_group *g,
	       double mean_ns, double pct)
{
	double own = (double)moments_cnt(&g->moments), others = (double)all_cnt - own, below;

	if (!(mean_ns > 0) || others <= 0)
		return false;
	below = hist_rank(all, 0, (uint64_t)mean_ns) * (double)all_cnt -
		hist_rank(&g->fine, 0, (uint64_t)mean_ns) * own;
	return below * 100 >= pct * others;
}

/* Time that its requests lost against the others; 0: it is not slow. */
static double lost_by(const struct evidence_group *g, const struct peers *p,
		      const struct slow_opts *o)
{
	double own = (double)moments_cnt(&g->moments), mean = moments_mean(&g->moments);
	double others = p->cnt - own, usual, at;

	if (!steady(g, o) || others < o->min_cnt ||
	    (o->skip && hmap_get(o->skip, g->hash, NULL)))
		return 0;
	usual = (p->sum - own * mean) / others;
	at = mean - T_975_15 * moments_mean_error(&g->moments, MOMENTS_TOTAL);
	if (!(at > usual * (1 + OVER_MIN)) ||
	    !slow_over(&p->times, (uint64_t)p->cnt, g, at, o->slow_pct))
		return 0;
	return (mean - usual) * own;
}

const struct evidence_group *slow_find(const struct evidence *e, const struct slow_opts *opts)
{
	const struct evidence_group *best = NULL;
	struct peerage all = {0};
	double most = 0;

	VEC_FOREACH(&e->groups, g) {
		struct peers *p = peers_of(&all, g->bins);
		double cnt = (double)moments_cnt(&g->moments);

		hist_merge(&p->times, &g->fine);
		p->cnt += cnt;
		p->sum += cnt * moments_mean(&g->moments);
	}
	VEC_FOREACH(&e->groups, g) {
		double lost = lost_by(g, peers_of(&all, g->bins), opts);

		if (lost < most || lost == 0 || (best && lost == most && g->hash > best->hash))
			continue;
		best = g;
		most = lost;
	}
	VEC_FOREACH(&all.items, p)
		hist_release(&p->times);
	vec_release(&all.items);
	hmap_release(&all.by_bins);
	return best;
}

struct pooled {			/* times of an edge in several groups */
	double cnt, sum, sq;
	const struct evidence_group *last; /* each group's requests count once */
};

static void pool_add(struct evidence *e, const struct evidence_group *g, struct pooled *by_class)
{
	double cnt = (double)moments_cnt(&g->moments);

	for (uint32_t i = 0; i < g->edge_cnt; i++) {
		const struct forest_edge *k = &g->edges[i];
		uint32_t at = evidence_class(e, k->from, k->to, k->owner);
		double mean = moments_column_mean(&g->moments, i);

		if (at == UINT32_MAX)
			continue;
		if (by_class[at].last != g)
			by_class[at].cnt += cnt;
		by_class[at].last = g;
		by_class[at].sum += mean * cnt;
		by_class[at].sq += (moments_column_var(&g->moments, i) + mean * mean) * cnt;
	}
}

static double pool_mean(const struct pooled *p)
{
	return p->cnt > 0 ? p->sum / p->cnt : 0;
}

/* Squared error of the mean. */
static double pool_error_sq(const struct pooled *p)
{
	double mean = pool_mean(p);

	return p->cnt > 0 ? fmax(0, p->sq / p->cnt - mean * mean) / p->cnt : 0;
}

const struct slow_edge *slow_edges(struct evidence *e, const struct evidence_group *g,
				   struct arena *arena)
{
	size_t cnt = e->classes.cnt + g->edge_cnt + 1;
	struct pooled *own = ARENA_ARRAY(arena, struct pooled, cnt);
	struct pooled *others = ARENA_ARRAY(arena, struct pooled, cnt);
	struct slow_edge *ret = ARENA_ARRAY(arena, struct slow_edge, cnt);

	/* All classes of groups on the path were made when their requests were added. */
	VEC_FOREACH(&e->groups, o)
		if (o->bins == g->bins)
			pool_add(e, o, o == g ? own : others);
	for (size_t i = 0; i < e->classes.cnt; i++) {
		ret[i].on_path = own[i].cnt > 0;
		ret[i].mean_ns = pool_mean(&own[i]);
		ret[i].usual_ns = others[i].cnt > 0 ? pool_mean(&others[i]) : -1;
		ret[i].gain_ns = ret[i].mean_ns - pool_mean(&others[i]);
		ret[i].error_ns = sqrt(pool_error_sq(&own[i]) + pool_error_sq(&others[i]));
	}
	return ret;
}
