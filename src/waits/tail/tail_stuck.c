/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread did where no long wait is known of it: did it run, and if it
 * serves many, did one request keep it?
 *
 * A loop under full load runs all the time and serves others meanwhile; it is
 * stuck only where its samples share a place in the code that those outside
 * of the stretch do not have.
 */
#include <stdlib.h>

#include "base/cmp.h"
#include "base/hash.h"
#include "base/search.h"
#include "model/stack.h"
#include "waits/waits_int.h"

/* Running for this part of a stretch makes it a run: the rest may be preemption. */
#define RUN_MIN 0.4
/* A place in which the thread is for this part of a stretch ... */
#define STUCK_IN 0.6
/* ... and for no more than this part of the time outside of it. */
#define STUCK_OUT 0.3
/* Fewer samples than these tell nothing of a place. */
#define SAMPLES_MIN 5
/* Samples of a thread, spread over all of them: shares within 3 %. */
#define LOOKED_AT_MAX 1000
/* Without samples: the longest time between two uses of sockets, against the stretch. */
#define STALL_PART 0.8
/* Stretches whose ends differ by less are looked at once. */
#define ALIKE_SHIFT 23 /* 8 ms */

static int by_thread_ts(const void *pa, const void *pb)
{
	const struct sample_at *a = pa, *b = pb;

	CMP(a->thread, b->thread);
	CMP(a->ts_ns, b->ts_ns);
	CMP(a->idx, b->idx);
	return 0;
}

void samples_index(struct tail_work *k, struct arena *tmp)
{
	const struct model *m = k->m;

	k->samples = ARENA_ARRAY(tmp, struct sample_at, m->sample_cnt + 1);
	k->samples_from_ns = UINT64_MAX;
	for (size_t i = 0; i < m->sample_cnt; i++) {
		k->samples[i] = (struct sample_at){ m->samples[i].thread, (uint32_t)i,
						    m->samples[i].ts_ns };
		if (m->samples[i].ts_ns < k->samples_from_ns)
			k->samples_from_ns = m->samples[i].ts_ns;
	}
	qsort(k->samples, m->sample_cnt, sizeof(*k->samples), by_thread_ts);
}

/* First sample of thread t from a on; m->sample_cnt or another thread's if there are none. */
static size_t samples_after(const struct tail_work *k, uint32_t t, uint64_t a)
{
	return SORTED_PREFIX(k->samples, k->m->sample_cnt, it,
			     it->thread < t || (it->thread == t && it->ts_ns < a));
}

/* Adds weight to each place of a sample's stack, once however often it is in it. */
static void places_add(const struct tail_work *k, const struct sample *x, struct hmap *cnt,
		       uint64_t weight)
{
	const struct stack *s;
	struct hmap seen = { 0 };

	if (x->stack >= k->m->stack_cnt)
		return;
	s = &k->m->stacks[x->stack];
	for (uint32_t i = 0; i < s->user_cnt; i++) {
		uint64_t place = frame_place(k->m, s, i), *again = hmap_slot(&seen, place);

		if (!*again)
			*hmap_slot(cnt, place) += weight;
		*again = 1;
	}
	hmap_release(&seen);
}

/* Count of each place in all samples of t; made when it is first asked for. */
static const struct hmap *places_of(struct tail_work *k, uint32_t t)
{
	size_t first, last, step;
	uint64_t *slot = hmap_slot(&k->place_idx, t);
	struct hmap *all;

	if (*slot)
		return &k->places.items[*slot - 1];
	all = vec_add(&k->places);
	*slot = k->places.cnt;
	first = samples_after(k, t, 0);
	last = samples_after(k, t, UINT64_MAX);
	step = (last - first) / LOOKED_AT_MAX + 1;
	for (size_t i = first; i < last; i += step) {
		const struct sample *x = &k->m->samples[k->samples[i].idx];

		places_add(k, x, all, step * x->cnt);
	}
	return all;
}

/* In one place most of [a, b), and seldom in it at other times. */
static bool is_stuck(struct tail_work *k, uint32_t t, uint64_t a, uint64_t b, double len)
{
	const struct model *m = k->m;
	size_t in = samples_after(k, t, a), out = samples_after(k, t, b), at = 0;
	double period = (double)m->meta.sample_ns;
	double rest = (double)(m->end_ns - m->begin_ns) - (double)(b - a);
	const struct hmap *everywhere;
	struct hmap inside = { 0 };
	struct hmap_entry place;
	uint64_t all;
	bool found = false;

	if (out - in < SAMPLES_MIN)
		return false;
	for (size_t i = in; i < out; i++) {
		const struct sample *x = &m->samples[k->samples[i].idx];

		places_add(k, x, &inside, x->cnt);
	}
	everywhere = places_of(k, t);
	while (!found && hmap_next(&inside, &at, &place)) {
		all = 0;
		hmap_get(everywhere, place.key, &all);
		found = (double)place.value * period >= STUCK_IN * len &&
			(rest <= 0 || ((double)all - (double)place.value) * period <=
					      STUCK_OUT * rest);
	}
	hmap_release(&inside);
	return found;
}

static double sampled_ns(const struct tail_work *k, uint32_t t, uint64_t a, uint64_t b)
{
	size_t to = samples_after(k, t, b);
	double cnt = 0;

	for (size_t i = samples_after(k, t, a); i < to; i++)
		cnt += k->m->samples[k->samples[i].idx].cnt;
	return cnt * (double)k->m->meta.sample_ns;
}

static double waited_ns(const struct model *m, uint32_t t, uint64_t a, uint64_t b)
{
	uint64_t st[ST_CNT] = { 0 };
	double ns = 0;

	thread_states(m, t, a, b, st);
	for (unsigned i = 0; i < ST_CNT; i++)
		ns += i == ST_RUN ? 0 : (double)st[i];
	return ns;
}

static bool tell(struct tail_work *k, uint32_t t, uint64_t a, uint64_t b)
{
	const struct thread *th = &k->m->threads[t];
	bool loop = k->e->r->threads[t].role == ROLE_T_LOOP;
	double len = (double)(b - a) - waited_ns(k->m, t, a, b);

	if (len <= 0)
		return false;
	if (k->m->meta.sample_ns && k->samples_from_ns <= a) {
		if (sampled_ns(k, t, a, b) < RUN_MIN * len)
			return false;
		if (loop && is_stuck(k, t, a, b, len))
			return true;
	}
	return !loop || (double)th->stall_max_ns >= STALL_PART * (double)(b - a);
}

bool is_one_run(struct tail_work *k, uint32_t t, uint64_t a, uint64_t b)
{
	uint64_t *known = hmap_slot(&k->runs, hash_pair(hash_pair(a >> ALIKE_SHIFT,
								  b >> ALIKE_SHIFT), t));

	if (!*known) {
		bool is = tell(k, t, a, b);

		*known = is ? 2 : 1;
	}
	return *known == 2;
}
