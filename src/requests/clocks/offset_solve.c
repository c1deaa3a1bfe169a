/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/clocks/offset_solve.h"

#include <stdlib.h>

#include "base/cmp.h"

struct bound bound_of(uint32_t host, uint32_t moved, int64_t low, int64_t high)
{
	if (host < moved)
		return (struct bound){low, high, host, moved};
	return (struct bound){
		.low = high == OFFSET_NO_HIGH ? OFFSET_NO_LOW : -high,
		.high = low == OFFSET_NO_LOW ? OFFSET_NO_HIGH : -low,
		.a = moved,
		.b = host,
	};
}

int bound_cmp(const void *a, const void *b)
{
	const struct bound *x = a, *y = b;

	CMP(x->a, y->a);
	CMP(x->b, y->b);
	CMP(x->low, y->low);
	CMP(x->high, y->high);
	return 0;
}

static int ns_cmp(const void *a, const void *b)
{
	CMP(*(const int64_t *)a, *(const int64_t *)b);
	return 0;
}

struct region {			/* offsets that break equally many bounds */
	int64_t from, to;
	uint32_t broken;
};

/* How far the nearest of them is from none. */
static uint64_t region_distance(const struct region *r)
{
	if (r->from <= 0 && r->to >= 0)
		return 0;
	return r->from > 0 ? (uint64_t)r->from : (uint64_t)-r->to;
}

static bool region_better(const struct region *r, const struct region *best)
{
	if (r->broken != best->broken)
		return r->broken < best->broken;
	return region_distance(r) < region_distance(best);
}

/*
 * At an offset, bounds with a greater low and those with a smaller high are
 * broken.  Going up, fewest are just at a low, until the next low or past the
 * next high.
 */
static struct region region_find(const struct bound *bounds, const int64_t *highs, size_t cnt)
{
	struct region best = {.broken = UINT32_MAX};
	size_t past = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct region here = {.from = bounds[i].low, .to = OFFSET_NO_HIGH};

		if (i + 1 < cnt && bounds[i + 1].low == bounds[i].low)
			continue;
		while (past < cnt && highs[past] < here.from)
			past++;
		here.broken = (uint32_t)(cnt - 1 - i + past);
		if (past < cnt)
			here.to = highs[past];
		if (i + 1 < cnt && bounds[i + 1].low - 1 < here.to)
			here.to = bounds[i + 1].low - 1;
		if (region_better(&here, &best))
			best = here;
	}
	return best;
}

struct offset offset_find(struct bound *bounds, size_t cnt, int64_t *highs)
{
	struct offset ret = {.a = bounds[0].a, .b = bounds[0].b, .cnt = (uint32_t)cnt};
	struct region region;

	qsort(bounds, cnt, sizeof(*bounds), bound_cmp);
	for (size_t i = 0; i < cnt; i++) {
		highs[i] = bounds[i].high;
		ret.broken_before += bounds[i].low > 0 || bounds[i].high < 0;
	}
	qsort(highs, cnt, sizeof(*highs), ns_cmp);
	region = region_find(bounds, highs, cnt);
	ret.broken_after = region.broken;
	if (region.from > OFFSET_NO_LOW && region.to < OFFSET_NO_HIGH)
		ret.sure_ns = (region.to - region.from + 1) / 2;
	else
		ret.sure_ns = OFFSET_NO_HIGH;
	if (!region_distance(&region))
		ret.offset_ns = 0;
	else if (ret.sure_ns != OFFSET_NO_HIGH)
		ret.offset_ns = (region.from + region.to) / 2;	/* the same seen from b */
	else
		ret.offset_ns = region.from > 0 ? region.from : region.to;
	return ret;
}

static int64_t within(int64_t ns)
{
	return ns < OFFSET_NO_LOW ? OFFSET_NO_LOW : ns > OFFSET_NO_HIGH ? OFFSET_NO_HIGH : ns;
}

static bool pair_better(const struct offset *pair, const struct offset *best)
{
	if (!best)
		return true;
	if (pair->cnt != best->cnt)
		return pair->cnt > best->cnt;
	return pair->sure_ns < best->sure_ns;
}

/*
 * Against start, by way of from.  What is less than all pairs on the way are
 * sure of is the sum of their errors, not an offset.
 */
static void host_reach(struct offsets *o, uint32_t from, uint32_t host, int64_t by, int64_t sure)
{
	int64_t ns = within(o->ns[from] + by);

	o->unsure[host] = within(o->unsure[from] + (sure == OFFSET_NO_HIGH ? 0 : sure));
	o->ns[host] = ns > o->unsure[host] || -ns > o->unsure[host] ? ns : 0;
	o->known[host] = true;
}

void offsets_spread(struct offsets *o, const struct offset *pairs, size_t pair_cnt,
		    uint32_t start)
{
	const struct offset *best;
	uint32_t reached;

	o->known[start] = true;
	do {
		best = NULL;
		for (size_t i = 0; i < pair_cnt; i++) {
			if (o->known[pairs[i].a] != o->known[pairs[i].b] &&
			    pair_better(&pairs[i], best))
				best = &pairs[i];
		}
		reached = best && o->known[best->a] ? best->b : best ? best->a : 0;
		if (best && o->known[best->a])
			host_reach(o, best->a, best->b, best->offset_ns, best->sure_ns);
		else if (best)
			host_reach(o, best->b, best->a, -best->offset_ns, best->sure_ns);
		if (best && o->via)
			o->via[reached] = (uint32_t)(best - pairs) + 1;
	} while (best);
}
