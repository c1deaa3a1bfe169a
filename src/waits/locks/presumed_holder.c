/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that nobody let go of while we watched.
 *
 * Request threads wait on something of their own and no one wakes them: they
 * look again now and then (a timed wait, again and again) or wait without a
 * limit.  Who keeps them shows only by time: another request thread of the
 * family, with a request open, that stopped for something else before them.
 * That is a presumption, and marked so: a report must say how it was inferred.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/hash.h"
#include "base/vec.h"
#include "waits/waits_int.h"

/* The holder's own stop and the crowd's first may be less than a scheduler period apart. */
#define ORDER_SLACK_NS 50000000
#define CROWD_MIN 2

struct stuck {			/* a request thread that is asleep with a request open */
	uint32_t thread, family, first, last; /* its waits, first to last */
	uint64_t since_ns;
	bool again;		/* looks again: waits for another, not for time to pass */
	uint64_t site;		/* the functions it sleeps in, 0 not known */
	bool idle;		/* has answered, and waits for its client's next word */
};

typedef VEC(struct stuck) stucks;

struct crowd {			/* of one family */
	uint32_t family, cnt;
	bool again;		/* only those that look again */
	uint64_t site;		/* only those that sleep there, as far as that is known; 0 any */
	uint64_t since_ns;
	uint32_t holder;	/* place among the stucks, NO_IDX */
	bool known;		/* it is, or is one of those who wait for their clients */
	uint32_t idle[LOCK_MAY_HOLD_MAX], idle_cnt; /* those: places among the stucks; all */
};

static bool in_crowd(const struct engine *e, const struct crowd *c, const struct stuck *s)
{
	return s->family == c->family && !s->idle && e->m->waits[s->last].res != NO_IDX &&
	       (!c->again || s->again) && (!c->site || !s->site || s->site == c->site);
}

static bool is_open_wait(const struct engine *e, const struct wait *w)
{
	return wait_open(e, w) && !(w->flags & (WAITF_PREEMPTED | WAITF_UNINT)) &&
	       (wait_class_traits(w->cls) & WAITC_LATCH || w->cls == WAIT_TIMER);
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
	if (!(w[i].flags & WAITF_PENDING))
		return false;
	*s = (struct stuck){ .thread = t, .last = i, .first = i, .since_ns = w[i].real_off_ns };
	s->idle = !wait_open(e, &w[i]) && waits_for_client(e, &w[i]);
	s->site = stack_inner_site(e->m, sleep_stack(e->m, &w[i]));
	if (s->idle || !is_open_wait(e, &w[i]))
		return s->idle;
	while (i-- > th->first_wait) {
		if (w[i].flags & WAITF_PREEMPTED) /* on its way from one piece to the next */
			continue;
		if (!is_open_wait(e, &w[i]) || w[i].cls != w[s->first].cls ||
		    w[i].waker_ctx != WAKER_TIMER ||
		    w[s->first].real_off_ns - w[i].real_end_ns >= LOOK_AGAIN_NS)
			break;
		s->first = i;
	}
	s->since_ns = w[s->first].real_off_ns;
	s->again = s->first != s->last || !(w[s->first].flags & WAITF_TIMEOUT_ARG);
	if (w[s->last].cls == WAIT_TIMER)
		s->again = false;
	return true;
}

static void crowd_lock(struct engine *e, const stucks *all, const struct crowd *c)
{
	struct lock *l = &e->r->locks[e->r->lock_cnt++];

	l->cls = LOCK_LOCK;
	l->virt = 1;
	l->presumed = 1;
	l->holder = c->holder == NO_IDX ? NO_IDX : all->items[c->holder].thread;
	for (uint32_t i = 0; i < c->idle_cnt && i < LOCK_MAY_HOLD_MAX && c->holder == NO_IDX; i++)
		l->may_hold[i] = all->items[c->idle[i]].thread;
	l->may_hold_cnt = c->holder == NO_IDX ? c->idle_cnt : 0;
	for (size_t i = 0; i < all->cnt; i++) {
		const struct stuck *s = &all->items[i];

		if (!in_crowd(e, c, s))
			continue;
		l->res = e->m->waits[s->last].res;
		for (uint32_t w = s->first; w <= s->last; w++)
			if (!(e->m->waits[w].flags & WAITF_PREEMPTED))
				e->wait_lock[w] = e->r->lock_cnt - 1;
	}
}

/*
 * Who has what the crowd waits for: the first of those that wait for time to pass, if it
 * stopped before the crowd; where there is none the one session that does not let go
 * though it has answered, as in an open transaction.
 */
static void crowd_holder(const struct engine *e, const stucks *all, struct crowd *c)
{
	uint64_t best_ns = UINT64_MAX;

	c->holder = NO_IDX;
	c->idle_cnt = 0;
	for (uint32_t i = 0; i < all->cnt; i++) {
		const struct stuck *s = &all->items[i];

		if (s->family != c->family || in_crowd(e, c, s) ||
		    s->since_ns >= c->since_ns + ORDER_SLACK_NS)
			continue;
		if (s->idle) {
			if (c->idle_cnt < LOCK_MAY_HOLD_MAX)
				c->idle[c->idle_cnt] = i;
			c->idle_cnt++;
		} else if ((c->site || !s->again) && s->since_ns < best_ns) {
			best_ns = s->since_ns;
			c->holder = i;
		}
	}
	c->known = c->holder != NO_IDX || c->idle_cnt > 0;
	if (c->holder == NO_IDX && c->idle_cnt == 1)
		c->holder = c->idle[0];
}

static void crowd_count(const struct engine *e, const stucks *all, struct crowd *c)
{
	c->since_ns = UINT64_MAX;
	for (size_t i = 0; i < all->cnt; i++) {
		const struct stuck *s = &all->items[i];

		if (!in_crowd(e, c, s))
			continue;
		c->cnt++;
		if (s->since_ns < c->since_ns)
			c->since_ns = s->since_ns;
	}
}

/* Place where most of the family sleep, of those where some do. */
static struct crowd crowd_at_site(const struct engine *e, const stucks *all, uint32_t family,
				  bool again)
{
	struct crowd best = { .family = family };
	struct hmap seen = { 0 };

	for (size_t i = 0; i < all->cnt; i++) {
		const struct stuck *s = &all->items[i];
		struct crowd c = { .family = family, .again = again, .site = s->site };

		if (s->family != family || !s->site || s->idle ||
		    hmap_get(&seen, s->site, NULL))
			continue;
		hmap_put(&seen, s->site, 1);
		crowd_count(e, all, &c);
		if (c.cnt > best.cnt)
			best = c;
	}
	hmap_release(&seen);
	return best;
}

/*
 * Who looks again, or waits without a limit, waits for another: those who do so in the
 * same functions, or, where these are not known, all.  Then who waits in the same
 * functions with a limit.
 */
static void crowd_find(struct engine *e, const stucks *all, uint32_t family)
{
	struct crowd tries[3] = {
		crowd_at_site(e, all, family, true),
		{ .family = family, .again = true },
		crowd_at_site(e, all, family, false),
	};

	crowd_count(e, all, &tries[1]);
	for (size_t i = 0; i < 3; i++) {
		crowd_holder(e, all, &tries[i]);
		if (tries[i].cnt < CROWD_MIN || !tries[i].known)
			continue;
		crowd_lock(e, all, &tries[i]);
		return;
	}
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
