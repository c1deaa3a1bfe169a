/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/live/live_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"

void live_edges_name(struct live_edges *edges, uint64_t hash, const char *name)
{
	for (uint32_t i = 0; i < edges->cnt; i++)
		if (edges->items[i].hash == hash)
			return;
	if (edges->cnt >= LIVE_EDGE_NAMES)
		return;
	edges->items[edges->cnt].hash = hash;
	snprintf(edges->items[edges->cnt++].name, LIVE_EDGE_LEN, "%s", name);
}

static const char *edge_name(const struct live_edges *edges, uint64_t hash)
{
	for (uint32_t i = 0; i < edges->cnt; i++)
		if (edges->items[i].hash == hash)
			return edges->items[i].name;
	return "";
}

static int by_time(const void *a, const void *b)
{
	const struct live_edge_sum *x = a, *y = b;

	CMP(y->sum_us, x->sum_us);
	CMP(x->hash, y->hash);
	return 0;
}

/* The edges with the most time in both are kept. */
static void add_edges(struct live_sums *to, const struct live_edge_sum *from, uint32_t cnt)
{
	struct live_edge_sum all[2 * LIVE_EDGES_GIVEN];
	uint32_t all_cnt = to->edge_cnt;

	memcpy(all, to->edges, to->edge_cnt * sizeof(*all));
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t at = 0;

		while (at < all_cnt && all[at].hash != from[i].hash)
			at++;
		if (at == all_cnt)
			all[all_cnt++] = (struct live_edge_sum){.hash = from[i].hash};
		all[at].cnt += from[i].cnt;
		all[at].sum_us += from[i].sum_us;
		all[at].sum_xt += from[i].sum_xt;
	}
	qsort(all, all_cnt, sizeof(*all), by_time);
	to->edge_cnt = all_cnt < LIVE_EDGES_GIVEN ? all_cnt : LIVE_EDGES_GIVEN;
	memcpy(to->edges, all, to->edge_cnt * sizeof(*all));
}

void live_sums_slice(struct live_sums *to, struct live_edges *edges, const struct live_slice *s)
{
	struct live_sums from = {.cnt = s->cnt, .failed_cnt = s->failed_cnt, .sum_us = s->sum_us,
				 .sum_sq = s->sum_sq, .edge_cnt = s->edge_cnt};

	memcpy(from.hist, s->hist, sizeof(from.hist));
	for (uint32_t i = 0; i < s->edge_cnt; i++) {
		const struct live_edge *e = &s->edges[i];

		live_edges_name(edges, e->hash, e->name);
		from.edges[i] = (struct live_edge_sum){e->hash, e->cnt, e->sum_us, e->sum_xt};
	}
	live_sums_add(to, &from);
}

void live_sums_add(struct live_sums *to, const struct live_sums *from)
{
	to->cnt += from->cnt;
	to->failed_cnt += from->failed_cnt;
	to->sum_us += from->sum_us;
	to->sum_sq += from->sum_sq;
	for (unsigned i = 0; i < LIVE_BUCKETS; i++)
		to->hist[i] += from->hist[i];
	add_edges(to, from->edges, from->edge_cnt);
}

uint64_t live_sums_quantile(const struct live_sums *s, double q)
{
	double want = q * (double)s->cnt, below = 0;

	for (uint32_t i = 0; i < LIVE_BUCKETS; i++) {
		double low = (double)live_bucket_low(i);
		double width = (double)live_bucket_low(i + 1) - low;

		if (!s->hist[i])
			continue;
		if (below + s->hist[i] >= want)
			return (uint64_t)(low + width * (want - below) / s->hist[i]);
		below += s->hist[i];
	}
	return 0;
}

static void share_set(struct live_share *ret, const struct live_edges *edges,
		      const struct live_edge_sum *e, double share, double mean_us)
{
	ret->hash = e->hash;
	ret->share = share;
	ret->mean_ns = mean_us > 0 ? (uint64_t)(mean_us * 1000) : 0;
	snprintf(ret->name, sizeof(ret->name), "%s", edge_name(edges, e->hash));
}

void live_sums_view(const struct live_sums *s, const struct live_edges *edges,
		    struct live_view *ret)
{
	double cnt = (double)s->cnt, mean_us = s->cnt ? s->sum_us / cnt : 0;
	double var = s->sum_sq - s->sum_us * mean_us;

	*ret = (struct live_view){.cnt = s->cnt, .failed_cnt = s->failed_cnt,
				  .mean_ns = (uint64_t)(mean_us * 1000),
				  .p50_ns = live_sums_quantile(s, 0.5),
				  .p99_ns = live_sums_quantile(s, 0.99)};
	for (uint32_t i = 0; i < s->edge_cnt; i++) {
		const struct live_edge_sum *e = &s->edges[i];
		double cov = e->sum_xt - e->sum_us * mean_us;

		if (s->sum_us > 0 && e->sum_us / s->sum_us > ret->time.share)
			share_set(&ret->time, edges, e, e->sum_us / s->sum_us, e->sum_us / cnt);
		if (var > 0 && cov / var > ret->variance.share)
			share_set(&ret->variance, edges, e, cov / var, e->sum_us / cnt);
	}
}

void live_sums_longer(const struct live_sums *before, const struct live_sums *now,
		      const struct live_edges *edges, struct live_share *ret)
{
	double longer_us, most_us = 0;

	*ret = (struct live_share){0};
	if (!before->cnt || !now->cnt)
		return;
	longer_us = now->sum_us / (double)now->cnt - before->sum_us / (double)before->cnt;
	for (uint32_t i = 0; i < now->edge_cnt; i++) {
		const struct live_edge_sum *e = &now->edges[i];
		double us = e->sum_us / (double)now->cnt;

		for (uint32_t k = 0; k < before->edge_cnt; k++)
			if (before->edges[k].hash == e->hash)
				us -= before->edges[k].sum_us / (double)before->cnt;
		if (us <= most_us)
			continue;
		most_us = us;
		share_set(ret, edges, e, longer_us > 0 ? us / longer_us : 0, us);
	}
}
