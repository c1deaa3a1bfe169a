/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/work_waits_fn.h"

#include "functions/units/app_frames.h"
#include "functions/units/function_requests.h"
#include "functions/units/normalize.h"
#include "functions/sig/sig.h"
#include "functions/units/call_keys.h"

/* Once is no habit. */
#define WAITS_MIN 2

static struct home_sum *sum_of(struct homes *h, uint64_t key)
{
	uint64_t *slot = hmap_slot(&h->by_key, key);

	if (!*slot) {
		vec_add(&h->sums);
		*slot = h->sums.cnt;
	}
	return &h->sums.items[*slot - 1];
}

/* 0: not a wait, or of a call that this window does not have. */
static uint64_t key_of_place(const struct sigs *s, const struct sig_place *p,
			     const uint16_t *nr_of)
{
	uint16_t sym = p->around[SIG_AT], before = p->around[SIG_BEFORE];

	if (sym == SIG_NO_CALL || !(p->what & SIG_BLOCKED) || nr_of[sym] == SYM_NONE)
		return 0;
	if (!(p->what & SIG_FIRST))
		before = sym;
	return call_key_bare(call_class_of(s->call_names[sym]), nr_of[sym],
			     p->what >> SIG_KIND_SHIFT,
			     before == SIG_NO_CALL ? SYM_NONE : nr_of[before]);
}

/* Each stack has one innermost function: by those a wait is counted once. */
void homes_of_sigs(struct homes *h, const struct sigs *s, const uint16_t *nr_of)
{
	for (uint32_t i = 0; i < s->fn_cnt; i++)
		for (uint32_t k = 0; k < s->fns[i].place_cnt; k++) {
			const struct sig_place *p = &s->fns[i].places[k];
			uint64_t key = p->self_cnt ? key_of_place(s, p, nr_of) : 0;

			if (key && p->what & SIG_HOME)
				sum_of(h, key)->home += (double)p->self_cnt;
			else if (key)
				sum_of(h, key)->other += (double)p->self_cnt;
		}
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
		sum = sum_of(h, call_key_of_fn(st->frames[0].fn));
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
