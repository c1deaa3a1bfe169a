/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "trace/points.h"
#include "requests/requests_int.h"

/* Robust and tail-aware figures: the members outside these quantiles stand apart. */
static const double trimmed_part = 0.01, slowest_part = 0.05;

/*
 * The variance must rest on at least as many members (histograms.h): so the answer
 * does not hang on one trace that took 28 s, or three.
 */
static const double effective_min = 4;

enum { PAIRS_MAX = 16 };	/* per group; further ones vary together less */

const struct samples *const *leaves_samples(struct leaf *const *leaves, uint32_t cnt,
					    struct arena *arena)
{
	const struct samples **ret = ARENA_ARRAY(arena, const struct samples *, cnt);

	for (uint32_t i = 0; i < cnt; i++)
		ret[i] = &leaves[i]->samples;
	return ret;
}

static void group_latency(const struct acc *acc, struct latency *ret)
{
	const struct tails *t = &acc->tails;

	*ret = (struct latency){.cnt = acc->cnt};
	if (!acc->cnt)
		return;
	ret->mean_ns = moments_mean(&acc->moments);
	ret->sd_ns = sqrt(moments_var(&acc->moments));
	ret->cv = ret->mean_ns > 0 ? ret->sd_ns / ret->mean_ns : 0;
	ret->error_ns = moments_mean_error(&acc->moments, MOMENTS_TOTAL);
	ret->min_ns = (double)t->min;
	ret->p05_ns = tails_quantile(t, 0.05);
	ret->p25_ns = tails_quantile(t, 0.25);
	ret->p50_ns = tails_quantile(t, 0.50);
	ret->p75_ns = tails_quantile(t, 0.75);
	ret->p90_ns = tails_quantile(t, 0.90);
	ret->p95_ns = tails_quantile(t, 0.95);
	ret->p99_ns = tails_quantile(t, 0.99);
	ret->max_ns = (double)t->max;
}

static void edge_latency(const struct acc *acc, uint32_t col, struct latency *ret)
{
	enum { PARTS = 7 };
	static const double parts[PARTS] = {0.05, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99};
	const struct hist *h = &acc->hists[col];
	double at[PARTS];
	uint64_t has = acc->moments.columns[col].cnt;
	uint64_t zeros = has < acc->cnt ? acc->cnt - has : 0;

	ret->cnt = acc->cnt;
	ret->mean_ns = moments_column_mean(&acc->moments, col);
	ret->sd_ns = sqrt(moments_column_var(&acc->moments, col));
	ret->cv = ret->mean_ns > 0 ? ret->sd_ns / ret->mean_ns : 0;
	ret->error_ns = moments_mean_error(&acc->moments, col);
	ret->min_ns = zeros ? 0 : (double)h->min;
	hist_quantiles(h, zeros, parts, PARTS, at);
	ret->p05_ns = at[0];
	ret->p25_ns = at[1];
	ret->p50_ns = at[2];
	ret->p75_ns = at[3];
	ret->p90_ns = at[4];
	ret->p95_ns = at[5];
	ret->p99_ns = at[6];
	ret->max_ns = (double)h->max;
}

/* Mean in the group, less the mean in what else there is of its type. */
static double excess(const struct acc *acc, const struct acc *all, uint32_t col)
{
	uint32_t in_all = acc_column(all, acc->hashes.items[col]);
	double mean = moments_column_mean(&acc->moments, col);
	long double sum;

	if (all->cnt <= acc->cnt)
		return NAN;
	if (in_all == UINT32_MAX)
		return mean;
	sum = (long double)moments_column_mean(&all->moments, in_all) * (long double)all->cnt -
	      (long double)mean * (long double)acc->cnt;
	return (double)(mean - sum / (long double)(all->cnt - acc->cnt));
}

static void fill_edge(const struct acc *acc, const struct acc *all, uint32_t col,
		      struct request_edge *e)
{
	const struct moments_column *c = &acc->moments.columns[col];
	double mean = moments_mean(&acc->moments);
	struct moments_share share = moments_share(&acc->moments, col);

	e->key = acc->keys.items[col];
	e->hash = acc->hashes.items[col];
	e->present_cnt = c->cnt < acc->cnt ? c->cnt : acc->cnt;
	e->begin_ns = c->cnt ? (double)((long double)c->begin / (long double)c->cnt) : 0;
	edge_latency(acc, col, &e->latency);
	e->time_share = mean > 0 ? e->latency.mean_ns / mean : 0;
	e->share = share.value;
	e->share_low = share.low;
	e->share_high = share.high;
	e->excess_ns = excess(acc, all, col);
}

static void fill_edges(const struct acc *acc, const struct acc *all, const uint32_t *order,
		       struct arena *arena, struct request_group *ret)
{
	uint32_t cnt = (uint32_t)acc->keys.cnt;
	struct request_edge *edges = ARENA_ARRAY(arena, struct request_edge, cnt + 1);
	double *share = xcalloc(2 * ((size_t)cnt + 1), sizeof(*share)), *slowest = share + cnt;
	double var = tails_trimmed(&acc->tails, trimmed_part, cnt, share);

	tails_slowest(&acc->tails, slowest_part, cnt, slowest);
	for (uint32_t i = 0; i < cnt; i++) {
		fill_edge(acc, all, order[i], &edges[i]);
		edges[i].trimmed_share = share[order[i]];
		edges[i].tail_share = slowest[order[i]];
	}
	ret->trimmed_cv = ret->latency.mean_ns > 0 ? sqrt(var) / ret->latency.mean_ns : 0;
	ret->edges = edges;
	ret->edge_cnt = cnt;
	free(share);
}

static int by_share(const void *a, const void *b, void *ctx)
{
	const struct request_edge *edges = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	CMP(edges[y].share, edges[x].share);
	CMP(edges[x].hash, edges[y].hash);
	return 0;
}

static int by_time(const void *a, const void *b, void *ctx)
{
	const struct request_edge *edges = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	CMP(edges[y].time_share, edges[x].time_share);
	CMP(edges[x].hash, edges[y].hash);
	return 0;
}

static const uint32_t *sorted(const struct request_group *g,
			      int (*cmp)(const void *, const void *, void *),
			      struct arena *arena)
{
	uint32_t *order = ARENA_ARRAY(arena, uint32_t, g->edge_cnt + 1);

	for (uint32_t i = 0; i < g->edge_cnt; i++)
		order[i] = i;
	qsort_r(order, g->edge_cnt, sizeof(*order), cmp, (void *)g->edges);
	return order;
}

static int owner_by_share(const void *a, const void *b)
{
	const struct request_owner *x = a, *y = b;

	CMP(y->share, x->share);
	CMP(x->hash, y->hash);
	return 0;
}

static int by_owner(const void *a, const void *b, void *ctx)
{
	const struct request_edge *edges = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	CMP(edges[x].key.owner, edges[y].key.owner);
	CMP(x, y);
	return 0;
}

/* edges: of one owner. */
static void fill_owner(const struct acc *acc, const struct request_group *g,
		       const uint32_t *order, const uint32_t *edges, uint32_t cnt,
		       struct request_owner *o)
{
	uint32_t *cols = xmalloc(cnt * sizeof(*cols));
	struct moments_share share;

	o->point = g->edges[edges[0]].key.owner;
	o->edge_cnt = cnt;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct request_edge *e = &g->edges[edges[i]];

		cols[i] = order[edges[i]];
		o->mean_ns += e->latency.mean_ns;
		o->time_share += e->time_share;
		o->trimmed_share += e->trimmed_share;
		o->tail_share += e->tail_share;
		o->excess_ns += e->excess_ns;
	}
	share = moments_share_of(&acc->moments, cols, cnt);
	o->share = share.value;
	o->share_low = share.low;
	o->share_high = share.high;
	free(cols);
}

static void fill_owners(const struct acc *acc, const struct points *points,
			const uint32_t *order, struct arena *arena, struct request_group *ret)
{
	const uint32_t *edges = sorted(ret, by_owner, arena);
	struct request_owner *owners = ARENA_ARRAY(arena, struct request_owner, ret->edge_cnt + 1);
	uint32_t cnt = 0;

	for (uint32_t i = 0, end; i < ret->edge_cnt; i = end) {
		uint32_t point = ret->edges[edges[i]].key.owner;

		for (end = i + 1; end < ret->edge_cnt; end++)
			if (ret->edges[edges[end]].key.owner != point)
				break;
		if (point < points->items.cnt)
			owners[cnt].hash = points->items.items[point].hash;
		fill_owner(acc, ret, order, edges + i, end - i, &owners[cnt++]);
	}
	qsort(owners, cnt, sizeof(*owners), owner_by_share);
	ret->owners = owners;
	ret->owner_cnt = cnt;
}

static int by_weight(const void *a, const void *b)
{
	const struct edge_pair *x = a, *y = b;

	CMP(fabs(y->share), fabs(x->share));
	CMP(x->a, y->a);
	CMP(x->b, y->b);
	return 0;
}

/* Keeps the PAIRS_MAX that vary together most, in order. */
static void keep_pair(struct request_group *g, struct edge_pair *pairs,
		      const struct edge_pair *pair)
{
	uint32_t to = g->pair_cnt;

	if (to == PAIRS_MAX && by_weight(&pairs[to - 1], pair) < 0)
		return;
	if (to < PAIRS_MAX)
		g->pair_cnt++;
	else
		to--;
	for (; to && by_weight(&pairs[to - 1], pair) > 0; to--)
		pairs[to] = pairs[to - 1];
	pairs[to] = *pair;
}

/* order: the column of each edge. */
static void fill_pairs(const struct acc *acc, const uint32_t *order, struct arena *arena,
		       struct request_group *ret)
{
	uint32_t cnt = ret->edge_cnt;
	double var = moments_var(&acc->moments), *covs;
	struct edge_pair *pairs;

	if (cnt > MOMENTS_MATRIX || cnt < 2 || !(var > 0))
		return;
	covs = xcalloc((size_t)cnt * cnt, sizeof(*covs));
	moments_covs(&acc->moments, covs);
	pairs = ARENA_ARRAY(arena, struct edge_pair, PAIRS_MAX);
	for (uint32_t a = 0; a < cnt; a++) {
		for (uint32_t b = a + 1; b < cnt; b++) {
			uint32_t hi = order[a] > order[b] ? order[a] : order[b];
			uint32_t lo = order[a] > order[b] ? order[b] : order[a];
			double cov = covs[hi * (hi - 1) / 2 + lo];
			double sds = ret->edges[a].latency.sd_ns * ret->edges[b].latency.sd_ns;

			if (sds > 0)
				keep_pair(ret, pairs, &(struct edge_pair){
					.a = a, .b = b, .r = cov / sds, .share = 2 * cov / var});
		}
	}
	ret->pairs = pairs;
	free(covs);
}

void group_fill(const struct acc *acc, const struct acc *all, const struct requests *r,
		struct arena *arena, struct request_group *ret)
{
	const uint32_t *order = acc_order(acc, arena);
	double all_var = moments_var(&all->moments);

	group_latency(acc, &ret->latency);
	ret->effective_cnt = tails_effective_cnt(&acc->tails);
	ret->decided = acc->cnt >= r->opts.min_cnt;
	ret->by_outliers = ret->effective_cnt < effective_min && ret->latency.sd_ns > 0;
	ret->type_share = all->cnt ? (double)acc->cnt / (double)all->cnt : 0;
	ret->variance_share = all_var > 0 ? moments_var(&acc->moments) * ret->type_share / all_var
					  : 0;
	fill_edges(acc, all, order, arena, ret);
	ret->by_share = sorted(ret, by_share, arena);
	ret->by_time = sorted(ret, by_time, arena);
	fill_owners(acc, r->points, order, arena, ret);
	fill_pairs(acc, order, arena, ret);
}
