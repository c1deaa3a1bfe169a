/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One wait in pieces.
 *
 * Interpreters, databases and thread pools wait for a lock with a limit of a
 * few milliseconds, look whether something else is to be done, and wait again
 * (CPython's interpreter lock: 5 ms).  Each piece is ended by a timer; what all
 * of them waited for shows only at the end of the last one.
 */
#include "waits/engine.h"

/* A timed wait of a thread that may wait for another, not for time to pass. */
static bool is_piece(const struct wait *w)
{
	return w->waker_ctx == WAKER_TIMER && w->flags & WAITF_TIMEOUT_ARG && w->res != NO_IDX &&
	       (w->cls == WAIT_FUTEX || w->cls == WAIT_SYSV);
}

/* Backwards, so that each piece takes over what is known of the next. */
static void thread_looks(struct engine *e, const struct thread *th)
{
	const struct wait *waits = e->m->waits;
	uint32_t next = NO_IDX;

	for (uint32_t n = th->wait_len; n > 0; n--) {
		uint32_t i = th->first_wait + n - 1;
		const struct wait *w = &waits[i];

		e->look_end[i] = i;
		if (w->flags & WAITF_PREEMPTED) /* on its way from one piece to the next */
			continue;
		if (next != NO_IDX && is_piece(w) && waits[next].res == w->res &&
		    waits[next].cls == w->cls && waits[next].off_ns - w->end_ns < LOOK_AGAIN_NS)
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
	for (uint32_t t = 0; t < e->m->thread_cnt; t++)
		thread_looks(e, &e->m->threads[t]);
}
