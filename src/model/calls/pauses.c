/* SPDX-License-Identifier: Apache-2.0 */
#include "model/calls/calls_int.h"

#include "base/cmp.h"
#include "base/search.h"
#include "model/model_int.h"

bool away_add(struct aways *a, uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns >= end_ns || end_ns >> TIME_BITS || a->items.cnt >= AWAYS_MAX)
		return false;
	vec_push(&a->items, ((struct call_away){begin_ns, end_ns}));
	return true;
}

static int cmp_away(const void *pa, const void *pb)
{
	const struct call_away *a = pa, *b = pb;

	CMP(a->begin_ns, b->begin_ns);
	CMP(a->end_ns, b->end_ns);
	return 0;
}

void away_sort(struct aways *a)
{
	size_t cnt = 0;

	vec_sort(&a->items, cmp_away);
	VEC_FOREACH(&a->items, at) {
		struct call_away *last = cnt ? &a->items.items[cnt - 1] : NULL;

		if (!last || at->begin_ns > last->end_ns)
			a->items.items[cnt++] = *at;
		else if (at->end_ns > last->end_ns)
			last->end_ns = at->end_ns;
	}
	a->items.cnt = cnt;
}

void away_cross(const struct aways *a, const struct aways *b, struct aways *ret)
{
	vec_clear(&ret->items);
	for (size_t i = 0, k = 0; i < a->items.cnt && k < b->items.cnt;) {
		const struct call_away *x = &a->items.items[i], *y = &b->items.items[k];

		away_add(ret, x->begin_ns > y->begin_ns ? x->begin_ns : y->begin_ns,
			 x->end_ns < y->end_ns ? x->end_ns : y->end_ns);
		if (x->end_ns < y->end_ns)
			i++;
		else
			k++;
	}
}

/* The first that ends later. */
static size_t away_at(const struct call_away *list, size_t cnt, uint64_t ns)
{
	return SORTED_PREFIX(list, cnt, it, it->end_ns <= ns);
}

uint64_t calls_time_in(const struct call_away *list, size_t cnt, uint64_t begin_ns,
		       uint64_t end_ns)
{
	uint64_t sum = 0;

	for (size_t i = away_at(list, cnt, begin_ns); i < cnt && list[i].begin_ns < end_ns; i++)
		sum += (list[i].end_ns < end_ns ? list[i].end_ns : end_ns) -
		       (list[i].begin_ns > begin_ns ? list[i].begin_ns : begin_ns);
	return sum;
}

uint64_t calls_away_ns(const struct model_calls *c, uint64_t begin_ns, uint64_t end_ns)
{
	return calls_time_in(c->aways, c->away_cnt, begin_ns, end_ns) +
	       calls_time_in(c->coarse, c->coarse_cnt, begin_ns, end_ns);
}

uint64_t calls_pause_ns(const struct model_calls *c, size_t i)
{
	const struct call *call = &c->calls[i];
	uint64_t end_ns = call[-1].begin_ns + call[-1].dur_ns;

	if (call->begin_ns <= end_ns)
		return 0;
	return call->begin_ns - end_ns - calls_away_ns(c, end_ns, call->begin_ns);
}
