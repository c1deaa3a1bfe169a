/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where threads wait to be given work.
 *
 * A runtime that moves requests between threads (goroutines, virtual threads, pools
 * that pass a connection on) leaves a thread asleep with a request that another one
 * has answered by then.  The probe counts such a request as the sleeper's.  The place
 * tells: who waits for a lock or for a result does so for its request, each time; who
 * waits at the same place without any most of the time waits there for work, and
 * whoever wakes it hands it some.
 *
 * A busy runtime has a request open all the time.  There the function tells: threads that
 * take turns at one event loop look for work in one function, which waits in the loop or,
 * while another thread does, on a word of the thread's own.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/hash.h"
#include "base/vec.h"
#include "model/stack.h"
#include "waits/waits_int.h"

/* Most of the waits at a place, since what one waits for is one thing. */
#define PARK_SHARE 0.5

/* The call that waits left out: who looks for work waits a few calls below. */
enum { LOOK_FRAMES = 6 };

struct park { uint32_t open_cnt, free_cnt; };

struct parks {
	const struct engine *e;
	uint64_t *site;		/* by stack idx */
	VEC(struct park) items;
	struct hmap by_key;	/* to place plus one */
	struct hmap in_turn;	/* thread idx: takes turns with another at an event loop */
	uint8_t *looks;		/* by stack idx: in a function that waits in such a loop too */
};

/* One thread hands another work by these; a set of files has work of its own. */
static bool may_park(const struct engine *e, size_t i)
{
	const struct wait *w = &e->m->waits[i];
	uint32_t l = e->wait_lock[i];

	return w->cls == WAIT_FUTEX && w->res != NO_IDX && !(w->flags & WAITF_PREEMPTED) &&
	       (l == NO_IDX || e->r->locks[l].cls != LOCK_LOCK);
}

static struct park *park_of(struct parks *k, uint64_t key)
{
	uint64_t *slot = hmap_slot(&k->by_key, key);

	if (!*slot) {
		vec_push(&k->items, ((struct park){ 0 }));
		*slot = k->items.cnt;
	}
	return &k->items.items[*slot - 1];
}

/* Place that this thread waits on. */
static struct park *own_place(struct parks *k, const struct wait *w)
{
	return park_of(k, hash_pair(w->thread, k->e->place[w->res]));
}

/* The same functions in any thread of the program; NULL where the stack is not known. */
static struct park *same_site(struct parks *k, const struct wait *w)
{
	uint32_t proc = k->e->m->threads[w->thread].proc;
	uint64_t site = w->ustack == NO_IDX ? 0 : k->site[w->ustack];

	return site && proc != NO_IDX ? park_of(k, hash_pair(site, k->e->family[proc])) : NULL;
}

static void park_count(struct park *p, bool open)
{
	if (p)
		++*(open ? &p->open_cnt : &p->free_cnt);
}

static bool is_park(const struct park *p)
{
	return p && p->free_cnt > PARK_SHARE * ((double)p->free_cnt + p->open_cnt);
}

/*
 * Does its thread still wait where it did when the watch began, in one wait or in
 * pieces?  Then nobody saw whether it has a request.  before: so it was with the wait
 * before this one.
 */
static bool is_before(const struct engine *e, size_t i, bool before)
{
	const struct wait *w = &e->m->waits[i];
	const struct thread *th = &e->m->threads[w->thread];

	if (w->own_open)
		return false;
	if (i == th->first_wait || w->flags & WAITF_BEFORE_START)
		return w->flags & WAITF_BEFORE_START;
	return before && (w->flags & WAITF_PREEMPTED || w[-1].flags & WAITF_PREEMPTED ||
			  w->res == w[-1].res);
}

static bool in_loop(const struct wait *w)
{
	return w->cls == WAIT_EPOLL && w->res != NO_IDX && !(w->flags & WAITF_PREEMPTED);
}

static void turns_find(struct parks *k)
{
	const struct model *m = k->e->m;
	struct hmap first = { 0 };

	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];
		uint64_t *t = in_loop(w) ? hmap_slot(&first, w->res) : NULL;

		if (t && *t && *t - 1 != w->thread) {
			hmap_put(&k->in_turn, *t - 1, 1);
			hmap_put(&k->in_turn, w->thread, 1);
		}
		if (t)
			*t = w->thread + 1;
	}
	hmap_release(&first);
}

/* Puts a stack's functions near its inner end into places, or finds one of them there. */
static bool any_place(const struct model *m, uint32_t stack, struct hmap *places, bool put)
{
	const struct stack *s = &m->stacks[stack];

	for (uint32_t i = 1; i < s->user_cnt && i < LOOK_FRAMES; i++) {
		uint64_t key = hash_pair(frame_place(m, s, i), s->tgid);

		if (put)
			hmap_put(places, key, 1);
		else if (hmap_get(places, key, NULL))
			return true;
	}
	return false;
}

static void schedulers_find(struct parks *k)
{
	const struct model *m = k->e->m;
	struct hmap places = { 0 };

	turns_find(k);
	k->looks = xcalloc(m->stack_cnt + 1, 1);
	BUG_ON(!k->looks);
	for (size_t i = 0; i < m->wait_cnt && k->in_turn.cnt; i++) {
		const struct wait *w = &m->waits[i];

		if (!in_loop(w) || w->ustack == NO_IDX || k->looks[w->ustack] ||
		    !hmap_get(&k->in_turn, w->thread, NULL))
			continue;
		k->looks[w->ustack] = 1;
		any_place(m, w->ustack, &places, true);
	}
	for (uint32_t i = 0; i < m->stack_cnt; i++)
		k->looks[i] = places.cnt && any_place(m, i, &places, false);
	hmap_release(&places);
}

static bool looks_for_work(const struct parks *k, const struct wait *w)
{
	return w->ustack != NO_IDX && k->looks[w->ustack] &&
	       hmap_get(&k->in_turn, w->thread, NULL);
}

void parks_find(struct engine *e)
{
	const struct model *m = e->m;
	struct parks k = { .e = e, .site = xcalloc(m->stack_cnt + 1, sizeof(uint64_t)) };
	bool before = false;

	BUG_ON(!k.site);
	for (uint32_t i = 0; i < m->stack_cnt; i++)
		k.site[i] = stack_site(m, i);
	schedulers_find(&k);
	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];

		before = is_before(e, i, before);
		if (!may_park(e, i) || before)
			continue;
		park_count(own_place(&k, w), w->own_open > 0);
		park_count(same_site(&k, w), w->own_open > 0);
	}
	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];

		e->parked[i] = may_park(e, i) &&
			       (is_park(own_place(&k, w)) || is_park(same_site(&k, w)) ||
				looks_for_work(&k, w));
	}
	vec_release(&k.items);
	hmap_release(&k.by_key);
	hmap_release(&k.in_turn);
	free(k.looks);
	free(k.site);
}
