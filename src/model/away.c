/* SPDX-License-Identifier: Apache-2.0 */
#include "model/away.h"

#include <string.h>

#include "base/cmp.h"
#include "model/priv.h"

bool away_add(struct aways *a, const struct event_hdr *ev)
{
	struct ev_calls_away e;

	EV_LOAD(ev, &e);
	if (e.begin_ns >= e.end_ns || e.end_ns >> TIME_BITS || a->items.cnt >= AWAYS_MAX)
		return false;
	vec_push(&a->items, ((struct call_away){e.begin_ns, e.end_ns}));
	return true;
}

static int cmp_away(const void *pa, const void *pb)
{
	const struct call_away *a = pa, *b = pb;

	CMP(a->begin_ns, b->begin_ns);
	CMP(a->end_ns, b->end_ns);
	return 0;
}

void away_publish(struct aways *a, struct model_calls *ret)
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
	ret->aways = a->items.items;
	ret->away_cnt = cnt;
}

uint64_t calls_away_ns(const struct model_calls *c, uint64_t begin_ns, uint64_t end_ns)
{
	size_t low = 0, high = c->away_cnt;
	uint64_t sum = 0;

	while (low < high) { /* the first that ends later */
		size_t mid = low + (high - low) / 2;

		if (c->aways[mid].end_ns > begin_ns)
			high = mid;
		else
			low = mid + 1;
	}
	for (; low < c->away_cnt && c->aways[low].begin_ns < end_ns; low++) {
		const struct call_away *a = &c->aways[low];

		sum += (a->end_ns < end_ns ? a->end_ns : end_ns) -
		       (a->begin_ns > begin_ns ? a->begin_ns : begin_ns);
	}
	return sum;
}

uint64_t calls_pause_ns(const struct model_calls *c, size_t i)
{
	const struct call *call = &c->calls[i];
	uint64_t end_ns = call[-1].begin_ns + call[-1].dur_ns;

	if (call->begin_ns <= end_ns)
		return 0;
	return call->begin_ns - end_ns - calls_away_ns(c, end_ns, call->begin_ns);
}
