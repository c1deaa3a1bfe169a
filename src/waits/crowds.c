/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that nobody let go of while we watched.
 *
 * Request threads wait on something of their own and no one wakes them: they
 * look again now and then (a timed wait, again and again) or wait without a
 * limit.  Who keeps them shows only by time: another request thread of the
 * family, with a request open, that stopped for something else before them.
 * That is a presumption, and marked so: a report must say how it was told.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/vec.h"
#include "waits/engine.h"

/* The holder's own stop and the crowd's first are told apart by less than a scheduler period. */
#define ORDER_SLACK_NS 50000000
#define CROWD_MIN 2

struct stuck {			/* a request thread that is asleep with a request open */
	uint32_t thread, family, first, last; /* its waits, first to last */
	uint64_t since_ns;
	bool again;		/* looks again: waits for another, not for time to pass */
};

typedef VEC(struct stuck) stucks;

static bool is_open_wait(const struct engine *e, const struct wait *w)
{
	return wait_open(e, w) && !(w->flags & (WAITF_PREEMPTED | WAITF_UNINT)) &&
	       (w->cls == WAIT_FUTEX || w->cls == WAIT_EPOLL || w->cls == WAIT_POLL ||
		w->cls == WAIT_SYSV || w->cls == WAIT_SIGNAL || w->cls == WAIT_TIMER);
}

/* The run of waits at the end of t's life that are one wait with looks in between. */
static bool stuck_at_end(const struct engine *e, uint32_t t, struct stuck *s)
{
	const struct thread *th = &e->m->threads[t];
	const struct wait *w = e->m->waits;
	uint32_t i;

	if (!th->wait_len || !e->tinfo[t].reads || th->proc == NO_IDX)
		return false;
	i = th->first_wait + th->wait_len - 1;
	if (!(w[i].flags & WAITF_PENDING) || !is_open_wait(e, &w[i]))
		return false;
	*s = (struct stuck){ .thread = t, .last = i, .first = i };
	while (i > th->first_wait && is_open_wait(e, &w[i - 1]) && w[i - 1].cls == w[i].cls &&
	       w[i - 1].waker_ctx == WAKER_TIMER &&
	       w[i].real_off_ns - w[i - 1].real_end_ns < LOOK_AGAIN_NS)
		s->first = --i;
	s->since_ns = w[s->first].real_off_ns;
	s->again = s->first != s->last || !(w[i].flags & WAITF_TIMEOUT_ARG);
	if (w[s->last].cls == WAIT_TIMER)
		s->again = false;
	return true;
}

static void crowd_lock(struct engine *e, const stucks *all, uint32_t family, uint32_t holder)
{
	struct lock *l = &e->r->locks[e->r->lock_cnt++];

	l->cls = LOCK_LOCK;
	l->virt = 1;
	l->presumed = 1;
	l->holder = all->items[holder].thread;
	for (size_t i = 0; i < all->cnt; i++) {
		const struct stuck *s = &all->items[i];

		if (s->family != family || !s->again || i == holder)
			continue;
		l->res = e->m->waits[s->last].res;
		for (uint32_t w = s->first; w <= s->last; w++)
			e->wait_lock[w] = e->r->lock_cnt - 1;
	}
}

/* Of a family: the first of those that wait for time to pass, if it stopped before the crowd. */
static void crowd_find(struct engine *e, const stucks *all, uint32_t family)
{
	uint64_t crowd_ns = UINT64_MAX, best_ns = UINT64_MAX;
	uint32_t crowd = 0, holder = NO_IDX;

	for (uint32_t i = 0; i < all->cnt; i++) {
		const struct stuck *s = &all->items[i];

		if (s->family != family)
			continue;
		if (s->again && e->m->waits[s->last].res != NO_IDX) {
			crowd++;
			if (s->since_ns < crowd_ns)
				crowd_ns = s->since_ns;
		} else if (!s->again && s->since_ns < best_ns) {
			best_ns = s->since_ns;
			holder = i;
		}
	}
	if (crowd >= CROWD_MIN && holder != NO_IDX && best_ns < crowd_ns + ORDER_SLACK_NS)
		crowd_lock(e, all, family, holder);
}

/*
 * A virtual lock takes in each wait that nobody ended.  That says nothing of
 * one that looks again, nor of a sleep with a limit: siblings woke neither.
 */
static bool known_lock(const struct engine *e, const struct stuck *s)
{
	uint32_t l = e->wait_lock[s->last];

	if (e->m->waits[s->last].owner_tid)
		return true;
	if (l == NO_IDX || e->r->locks[l].cls != LOCK_LOCK)
		return false;
	return !e->r->locks[l].virt || (s->again && s->first == s->last);
}

void crowds_find(struct engine *e)
{
	const struct model *m = e->m;
	bool *done = xcalloc(m->proc_cnt + 1, sizeof(*done));
	stucks all = { 0 };
	struct stuck s;

	BUG_ON(!done);
	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		if (!stuck_at_end(e, t, &s) || known_lock(e, &s))
			continue;
		s.family = e->family[m->threads[t].proc];
		vec_push(&all, s);
	}
	for (size_t i = 0; i < all.cnt; i++) {
		uint32_t f = all.items[i].family;

		if (!done[f])
			crowd_find(e, &all, f);
		done[f] = true;
	}
	vec_release(&all);
	free(done);
}
