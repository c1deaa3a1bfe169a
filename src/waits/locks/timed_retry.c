/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One wait in pieces.
 *
 * Interpreters, databases and thread pools wait for a lock with a limit of a
 * few milliseconds, look whether something else is to be done, and wait again
 * (CPython's interpreter lock: 5 ms).  Each piece is ended by a timer; what all
 * of them waited for shows only at the end of the last one.
 *
 * SQLite asks for a lock of its file, sleeps where that is refused, and asks again.
 *
 * So does a thread with one request that sleeps in epoll or poll until it hears that
 * it may go on, and looks after a while whether that can still come:
 * a database's session that looks for a deadlock, say.
 *
 * Who wakes another between two waits did not look: it had slept till it was time to.
 */
#include "base/cmp.h"
#include "base/search.h"
#include "base/vec.h"
#include "waits/waits_int.h"

struct wake { uint32_t waker; uint64_t at_ns; };
typedef VEC(struct wake) wakes;

static int by_waker_at(const void *pa, const void *pb)
{
	const struct wake *a = pa, *b = pb;

	CMP(a->waker, b->waker);
	CMP(a->at_ns, b->at_ns);
	return 0;
}

static void wakes_collect(const struct model *m, wakes *all)
{
	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];

		if (w->waker_ctx == WAKER_TASK && w->waker != NO_IDX && w->waker != w->thread)
			vec_push(all, ((struct wake){ w->waker, w->wake_ns }));
	}
	vec_sort(all, by_waker_at);
}

static bool woke_between(const wakes *all, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	struct wake from = { thread, from_ns };
	size_t i = SORTED_PREFIX(all->items, all->cnt, it, by_waker_at(it, &from) < 0);

	return i < all->cnt && all->items[i].waker == thread && all->items[i].at_ns <= to_ns;
}

/* With its only request open: known once roles are. */
static bool in_its_request(const struct engine *e, const struct wait *w)
{
	const struct tinfo *ti = &e->tinfo[w->thread];

	return ti->reads && ti->open_max == 1 && w->own_open == 1;
}

/* A timed wait of a thread that may wait for another, not for time to pass. */
static bool is_piece(const struct engine *e, const struct wait *w, const struct wait *next)
{
	if (w->waker_ctx != WAKER_TIMER || w->res == NO_IDX)
		return false;
	if (w->cls == WAIT_FUTEX || w->cls == WAIT_SYSV)
		return w->flags & WAITF_TIMEOUT_ARG;
	if (w->cls == WAIT_FLOCK) /* asked for again after a sleep */
		return true;
	/* the alarm may be a signal of its own */
	return (w->cls == WAIT_EPOLL || w->cls == WAIT_POLL) && in_its_request(e, w) &&
	       in_its_request(e, next);
}

/* Backwards, so that each piece takes over what is known of the next. */
static void thread_looks(struct engine *e, const struct thread *th, const wakes *all)
{
	const struct wait *waits = e->m->waits;
	uint32_t next = NO_IDX;

	for (uint32_t n = th->wait_len; n > 0; n--) {
		uint32_t i = th->first_wait + n - 1;
		const struct wait *w = &waits[i];

		e->look_end[i] = i;
		if (w->flags & WAITF_PREEMPTED) /* on its way from one piece to the next */
			continue;
		if (next != NO_IDX && is_piece(e, w, &waits[next]) && waits[next].res == w->res &&
		    waits[next].cls == w->cls &&
		    waits[next].real_off_ns - w->real_end_ns < LOOK_AGAIN_NS &&
		    !woke_between(all, w->thread, w->end_ns, waits[next].off_ns))
			e->look_end[i] = e->look_end[next];
		next = i;
	}
	for (uint32_t n = th->wait_len; n > 0; n--) { /* the first is written last */
		uint32_t i = th->first_wait + n - 1;

		e->look_begin[i] = i;
		e->look_begin[e->look_end[i]] = i;
	}
}

void looks_find(struct engine *e)
{
	wakes all = { 0 };

	wakes_collect(e->m, &all);
	for (uint32_t t = 0; t < e->m->thread_cnt; t++)
		thread_looks(e, &e->m->threads[t], &all);
	vec_release(&all);
}
