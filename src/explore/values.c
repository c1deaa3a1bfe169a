/* SPDX-License-Identifier: Apache-2.0 */
#include "explore/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "explore/looks.h"
#include "explore/timelines.h"

#define ADDRESS_MIN (INT64_C(1) << 32)	/* numbers of applications are smaller, addresses larger */
#define SAME_SLOW 0.8			/* of slow requests have the value, */
#define SAME_OTHERS 0.2			/* and so many others at most */

struct seen {				/* a request's value */
	int64_t value;
	double ns;
	bool slow;
	double rank;			/* of value */
};

struct all {
	VEC(struct seen) items;
};

/* The request's part that the function begins, or NULL. */
static const struct part *part_of(const struct timelines *t, const struct timeline *r,
				  uint32_t point)
{
	for (uint32_t i = 0; i < r->cnt; i++)
		if (t->parts.items[r->first + i].point == point)
			return &t->parts.items[r->first + i];
	return NULL;
}

/* false: the request has none. */
static bool value_of(const struct timelines *t, const struct timeline *r, uint32_t point,
		     unsigned kind, unsigned nth, int64_t *ret)
{
	const struct part *p = part_of(t, r, point);

	switch (kind) {
	case VALUE_ARG:
		if (!p || !p->hit_cnt)
			return false;
		*ret = (int64_t)p->args[nth];
		/* an int in a register: what is above it is of no meaning */
		if (p->args[nth] >> 32 == UINT32_MAX)
			*ret = (int32_t)p->args[nth];
		return *ret < ADDRESS_MIN && *ret > -ADDRESS_MIN;
	case VALUE_HITS:
		*ret = p ? p->hit_cnt : 0;
		return true;
	case VALUE_BYTES_IN:
		*ret = (int64_t)r->bytes_in;
		return true;
	case VALUE_BYTES_OUT:
		*ret = (int64_t)r->bytes_out;
		return true;
	case VALUE_IN_FLIGHT:
		*ret = r->in_flight;
		return true;
	default:
		*ret = r->nth;
		return true;
	}
}

static int by_value(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

static int by_time(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Ties have the mean of their ranks.  Sorted by value before, by time after. */
static double rho_of(struct all *a)
{
	double n = (double)a->items.cnt, mean = (n - 1) / 2, xy = 0, xx = 0, yy = 0;
	size_t next;

	for (size_t i = 0; i < a->items.cnt; i = next) {
		for (next = i; next < a->items.cnt &&
		     a->items.items[next].value == a->items.items[i].value; next++)
			;
		for (size_t k = i; k < next; k++)
			a->items.items[k].rank = (double)(i + next - 1) / 2;
	}
	vec_sort(&a->items, by_time);
	for (size_t i = 0; i < a->items.cnt; i++) {
		double x = a->items.items[i].rank - mean, y = (double)i - mean;

		xy += x * y;
		xx += x * x;
		yy += y * y;
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* Items are sorted by value. */
static void medians(const struct all *a, struct explore_value *v)
{
	size_t cnt[2] = {0, 0}, at[2] = {0, 0};
	int64_t *out[2] = {&v->other_p50, &v->slow_p50};

	VEC_FOREACH(&a->items, s)
		cnt[s->slow]++;
	VEC_FOREACH(&a->items, s)
		if (at[s->slow]++ == cnt[s->slow] / 2)
			*out[s->slow] = s->value;
}

/* Is one value that of nearly all slow requests and of few others?  Sorted by value. */
static void same_find(const struct all *a, struct explore_value *v)
{
	size_t slow_cnt = 0, other_cnt = 0, next;

	VEC_FOREACH(&a->items, s)
		slow_cnt += s->slow;
	other_cnt = a->items.cnt - slow_cnt;
	for (size_t i = 0; i < a->items.cnt && slow_cnt >= LOOK_SLOW_MIN && other_cnt; i = next) {
		size_t slow = 0;

		for (next = i; next < a->items.cnt &&
		     a->items.items[next].value == a->items.items[i].value; next++)
			slow += a->items.items[next].slow;
		if ((double)slow / (double)slow_cnt <= v->slow_share)
			continue;
		v->value = a->items.items[i].value;
		v->slow_share = (double)slow / (double)slow_cnt;
		v->other_share = (double)(next - i - slow) / (double)other_cnt;
	}
}

static double strength(const struct explore_value *v)
{
	return v->is_rank ? fabs(v->rho) : v->slow_share - v->other_share;
}

static bool explains(struct all *a, struct explore_value *v)
{
	vec_sort(&a->items, by_value);
	if (a->items.cnt < VALUES_MIN ||
	    a->items.items[0].value == a->items.items[a->items.cnt - 1].value)
		return false;
	medians(a, v);
	same_find(a, v);
	v->rho = rho_of(a);
	if (v->slow_share >= SAME_SLOW && v->other_share <= SAME_OTHERS)
		return true;
	v->is_rank = true;
	return fabs(v->rho) >= VALUES_RHO;
}

static void put(struct explore_value *ret, uint32_t *cnt, uint32_t max,
		const struct explore_value *v)
{
	uint32_t at = *cnt;

	while (at > 0 && strength(&ret[at - 1]) < strength(v))
		at--;
	if (at >= max)
		return;
	if (*cnt < max)
		++*cnt;
	for (uint32_t i = *cnt - 1; i > at; i--)
		ret[i] = ret[i - 1];
	ret[at] = *v;
}

uint32_t values_find(const struct timelines *t, const struct pool *p, uint32_t point,
		     struct explore_value *ret, uint32_t max)
{
	struct all a = {0};
	uint32_t cnt = 0;

	for (unsigned kind = 0; kind < VALUE_KIND_CNT; kind++) {
		for (unsigned nth = 0; nth < (kind == VALUE_ARG ? PATH_ARG_CNT : 1); nth++) {
			struct explore_value v = {.kind = (uint8_t)kind, .nth = (uint8_t)nth};
			int64_t value;

			vec_clear(&a.items);
			VEC_FOREACH(&t->items, r)
				if (value_of(t, r, point, kind, nth, &value))
					vec_push(&a.items, ((struct seen){
						value, (double)r->ns,
						p->slow_ns && r->ns >= p->slow_ns, 0}));
			if (explains(&a, &v))
				put(ret, &cnt, max, &v);
		}
	}
	vec_release(&a.items);
	return cnt;
}

const char *value_name(const struct explore_value *v, char *out, size_t len)
{
	static const char *const names[VALUE_KIND_CNT] = {
		[VALUE_HITS] = "calls of it in a request", [VALUE_BYTES_IN] = "bytes in",
		[VALUE_BYTES_OUT] = "bytes out", [VALUE_IN_FLIGHT] = "requests in flight",
		[VALUE_NTH] = "requests before on the connection",
	};

	if (v->kind == VALUE_ARG)
		snprintf(out, len, "argument %u", v->nth + 1u);
	else
		snprintf(out, len, "%s", v->kind < VALUE_KIND_CNT ? names[v->kind] : "");
	return out;
}
