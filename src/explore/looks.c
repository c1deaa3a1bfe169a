/* SPDX-License-Identifier: Apache-2.0 */
#include "explore/looks.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "explore/timelines.h"

#define ACCIDENTS 2		/* requests that may be slow for a reason of their own */
#define EXCESS_SHARE 0.8	/* of the time over the median: that slow ones hold together */
#define SLOW_FACTOR 1.5		/* of the median: below it nobody calls a request slow */

static int by_ns(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void pool_add(struct pool *p, const struct timelines *t, size_t first)
{
	for (size_t i = first; i < t->items.cnt; i++)
		vec_push(&p->ns, t->items.items[i].ns);
}

void pool_release(struct pool *p)
{
	vec_release(&p->ns);
}

static double cv_of(const uint64_t *ns, size_t cnt, uint64_t cap)
{
	double sum = 0, sum2 = 0, mean, var;

	for (size_t i = 0; i < cnt; i++) {
		double x = (double)(ns[i] < cap ? ns[i] : cap);

		sum += x;
		sum2 += x * x;
	}
	mean = sum / (double)cnt;
	var = sum2 / (double)cnt - mean * mean;
	return mean > 0 && var > 0 ? sqrt(var) / mean : 0;
}

/*
 * Half of the way from the median to the mean of those that hold most of what is over it:
 * between two kinds of requests where there are two.
 */
static uint64_t slow_from(const struct pool *p, uint64_t cap)
{
	double all = 0, sum = 0;
	size_t i;

	for (i = p->ns.cnt / 2; i < p->ns.cnt; i++) {
		uint64_t ns = p->ns.items[i] < cap ? p->ns.items[i] : cap;

		all += (double)(ns - p->p50_ns);
	}
	for (i = p->ns.cnt; i > p->ns.cnt / 2 && sum < EXCESS_SHARE * all; i--) {
		uint64_t ns = p->ns.items[i - 1] < cap ? p->ns.items[i - 1] : cap;

		sum += (double)(ns - p->p50_ns);
	}
	return p->p50_ns + (uint64_t)(sum / (double)(p->ns.cnt - i) / 2);
}

/* Are the accidents small beside what others are over the median? */
static bool is_settled(const struct pool *p, uint64_t cap)
{
	double all = 0, accidents = 0;

	for (size_t i = p->ns.cnt / 2; i < p->ns.cnt; i++) {
		uint64_t ns = p->ns.items[i];

		all += (double)((ns < cap ? ns : cap) - p->p50_ns);
		accidents += ns > cap ? (double)(ns - cap) : 0;
	}
	return accidents <= all;
}

void pool_judge(struct pool *p)
{
	size_t cnt = p->ns.cnt;
	uint64_t cap;

	p->varies = false;
	p->slow_ns = 0;
	if (!cnt)
		return;
	vec_sort(&p->ns, by_ns);
	p->p50_ns = p->ns.items[cnt / 2];
	p->p99_ns = p->ns.items[cnt - 1 - (cnt - 1) / 100];
	cap = p->ns.items[cnt > ACCIDENTS ? cnt - 1 - ACCIDENTS : cnt - 1];
	p->settled = is_settled(p, cap);
	p->cv = cv_of(p->ns.items, cnt, cap);
	if (p->cv < LOOK_CV)
		return;
	p->varies = true;
	p->slow_ns = slow_from(p, cap);
	if ((double)p->slow_ns < SLOW_FACTOR * (double)p->p50_ns)
		p->slow_ns = (uint64_t)(SLOW_FACTOR * (double)p->p50_ns);
}

/* ---- sums of points over requests */

struct sum {			/* of a point in the requests of one kind */
	VEC(double) ns;		/* by request that has it */
	double all_ns, hits, cost_ns, wait_ns, longest_ns;
	uint32_t wait_kind;
};

struct sums {
	VEC(uint32_t) points;
	VEC(struct sum) by[2];	/* usual, slow: by point */
	struct hmap idx;
	VEC(double) whole[2];	/* ns of requests */
	VEC(double) share;	/* by point: sum over slow requests */
};

static size_t idx_of(struct sums *s, uint32_t point)
{
	uint64_t *at = hmap_slot(&s->idx, (uint64_t)point + 1);

	if (!*at) {
		vec_push(&s->points, point);
		(void)vec_add(&s->by[0]);
		(void)vec_add(&s->by[1]);
		vec_push(&s->share, 0);
		*at = s->points.cnt;
	}
	return *at - 1;
}

static void part_take(struct sum *s, const struct part *p)
{
	s->all_ns += (double)p->ns;
	s->hits += p->hit_cnt;
	s->cost_ns += (double)p->cost_ns;
	s->wait_ns += (double)p->wait_ns;
	if ((double)p->wait_max_ns > s->longest_ns) {
		s->longest_ns = (double)p->wait_max_ns;
		s->wait_kind = p->wait_kind;
	}
}

/* Time of each point in the request, by idx; out has room for all. */
static void request_sum(struct sums *s, const struct timelines *t, const struct timeline *r,
			double *out)
{
	for (size_t i = 0; i < s->points.cnt; i++)
		out[i] = 0;
	for (uint32_t i = 0; i < r->cnt; i++) {
		const struct part *p = &t->parts.items[r->first + i];

		out[idx_of(s, p->point)] += (double)p->ns;
	}
}

static bool is_slow(const struct pool *p, const struct timeline *r)
{
	return r->ns >= p->slow_ns;
}

static int by_double(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The median of all requests of the kind; those without the point have 0. */
static double median(double *ns, size_t cnt, size_t all)
{
	size_t zeros = all - cnt;

	if (!all || all / 2 < zeros)
		return 0;
	qsort(ns, cnt, sizeof(*ns), by_double);
	return ns[all / 2 - zeros];
}

static void requests_sum(struct sums *s, const struct timelines *t, const struct pool *p,
			 double *one)
{
	VEC_FOREACH(&t->items, r) {
		int slow = is_slow(p, r);

		vec_push(&s->whole[slow], (double)r->ns);
		for (uint32_t i = 0; i < r->cnt; i++) {
			const struct part *part = &t->parts.items[r->first + i];

			part_take(&s->by[slow].items[idx_of(s, part->point)], part);
		}
		request_sum(s, t, r, one);
		for (size_t i = 0; i < s->points.cnt; i++)
			if (one[i] > 0)
				vec_push(&s->by[slow].items[i].ns, one[i]);
	}
}

/* For each slow request: how much of what it takes longer than usual each point has. */
static void shares_sum(struct sums *s, const struct timelines *t, const struct pool *p,
		       const double *usual, double usual_ns, double *one)
{
	VEC_FOREACH(&t->items, r) {
		double over = (double)r->ns - usual_ns;

		if (!is_slow(p, r) || over <= 0)
			continue;
		request_sum(s, t, r, one);
		for (size_t i = 0; i < s->points.cnt; i++)
			s->share.items[i] += (one[i] - usual[i]) / over;
	}
}

static int by_share(const void *a, const void *b)
{
	const struct look_point *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return (x->point > y->point) - (x->point < y->point);
}

static void points_put(struct look *l, struct sums *s, const double *usual, bool varies)
{
	double slow_all = 0, slow_cnt = (double)s->whole[1].cnt;
	double usual_cnt = (double)s->whole[0].cnt;

	VEC_FOREACH(&s->whole[1], ns)
		slow_all += *ns;
	for (size_t i = 0; i < s->points.cnt && slow_cnt > 0; i++) {
		const struct sum *slow = &s->by[1].items[i], *other = &s->by[0].items[i];

		vec_push(&l->points, ((struct look_point){
			.point = s->points.items[i], .usual_ns = usual[i],
			.share = varies ? s->share.items[i] / slow_cnt
					: slow_all > 0 ? slow->all_ns / slow_all : 0,
			.slow_ns = slow->all_ns / slow_cnt, .slow_hits = slow->hits / slow_cnt,
			.usual_hits = usual_cnt > 0 ? other->hits / usual_cnt : 0,
			.cost_share = slow->cost_ns > 0
					? slow->cost_ns / (slow->all_ns + slow->cost_ns) : 0,
			.wait_share = slow->all_ns > 0 ? slow->wait_ns / slow->all_ns : 0,
			.wait_kind = slow->longest_ns > 0 ? slow->wait_kind : PART_WAIT_NONE}));
	}
	vec_sort(&l->points, by_share);
	l->slow_ns = slow_cnt > 0 ? slow_all / slow_cnt : 0;
}

static void sums_release(struct sums *s)
{
	for (int k = 0; k < 2; k++) {
		VEC_FOREACH(&s->by[k], sum)
			vec_release(&sum->ns);
		vec_release(&s->by[k]);
		vec_release(&s->whole[k]);
	}
	vec_release(&s->points);
	vec_release(&s->share);
	hmap_release(&s->idx);
}

void look_make(struct look *ret, const struct timelines *t, const struct pool *p)
{
	struct sums s = {0};
	double *usual, *one;

	VEC_FOREACH(&t->parts, part)
		idx_of(&s, part->point);
	usual = xcalloc(s.points.cnt + 1, sizeof(*usual));
	one = xcalloc(s.points.cnt + 1, sizeof(*one));
	requests_sum(&s, t, p, one);
	for (size_t i = 0; i < s.points.cnt; i++)
		usual[i] = median(s.by[0].items[i].ns.items, s.by[0].items[i].ns.cnt,
				  s.whole[0].cnt);
	ret->usual_ns = median(s.whole[0].items, s.whole[0].cnt, s.whole[0].cnt);
	if (p->varies)
		shares_sum(&s, t, p, usual, ret->usual_ns, one);
	points_put(ret, &s, usual, p->varies);
	ret->request_cnt = (uint32_t)t->items.cnt;
	ret->slow_cnt = (uint32_t)s.whole[1].cnt;
	ret->telling = ret->request_cnt >= LOOK_MIN && ret->slow_cnt >= LOOK_SLOW_MIN;
	free(usual);
	free(one);
	sums_release(&s);
}

void look_release(struct look *l)
{
	vec_release(&l->points);
}

const struct look_point *look_point(const struct look *l, uint32_t point)
{
	VEC_FOREACH(&l->points, p)
		if (p->point == point)
			return p;
	return NULL;
}
