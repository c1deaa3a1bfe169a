/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/work_waits_fn.h"

#include "functions/units/app_frames.h"
#include "functions/units/function_requests.h"
#include "functions/units/call_keys.h"
#include "functions/units/normalize.h"

/* Once is no habit. */
#define WAITS_MIN 2

struct home_sum *homes_sum(struct homes *h, uint64_t key)
{
	uint64_t *slot = hmap_slot(&h->by_key, key);

	if (!*slot) {
		vec_add(&h->sums);
		*slot = h->sums.cnt;
	}
	return &h->sums.items[*slot - 1];
}

void homes_of_held(struct homes *h, const struct held *held, const struct appfns *fns)
{
	h->held_ns = held->ns;
	for (uint32_t i = 0; i < held->stack_cnt; i++) {
		const struct held_stack *s = &held->stacks[i];
		const struct app_stack *st = &fns->stacks[s->stack];
		struct home_sum *sum;

		if (s->runs || !st->cnt)
			continue;
		sum = homes_sum(h, call_key_of_fn(st->frames[0].fn));
		sum->home += s->idle_ns;
		sum->other += s->ns;
	}
}

void homes_release(struct homes *h)
{
	vec_release(&h->sums);
	hmap_release(&h->by_key);
}

enum home_known homes_ask(const struct homes *h, uint64_t key)
{
	const struct home_sum *sum;
	uint64_t place;

	if (!h || !hmap_get(&h->by_key, call_key_known(key), &place))
		return HOME_UNKNOWN;
	sum = &h->sums.items[place - 1];
	if (sum->home + sum->other < WAITS_MIN)
		return HOME_UNKNOWN;
	return sum->home > sum->other ? HOME_KNOWN : HOME_NOT;
}

bool homes_nobody(const struct homes *h, uint64_t key)
{
	uint64_t place;

	if (h->held_ns <= 0 || !call_key_has_fn(key))
		return false;
	return !hmap_get(&h->by_key, call_key_known(key), &place) ||
	       h->sums.items[place - 1].other <= 0;
}
