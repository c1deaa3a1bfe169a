/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who kept others waiting, which is not always who woke them: a lock held for
 * long is handed on from waiter to waiter, and each of them is woken by the
 * one before, who did nothing but wait as well.  So a wait is laid on its
 * waker only from when the waker itself had stopped to wait for the same
 * resource; the part before belongs to the waker's waker, and so on.
 *
 * Only hand-overs of one resource in one tick: what the holder itself waits
 * for is a page further (Enter), and `heldup why` follows it to the end.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"
#include "ui/view_int.h"

enum { DEPTH_MAX = 32, BACK_MAX = 16 };

struct blame {
	struct view_ctx *c;
	struct hmap by_res, by_thread;
	uint64_t *res_best, *thread_best;
};

/* The newest wait of thread on res that was over in (from, to); NULL. */
static const struct wait *wait_before(const struct view_ctx *c, uint32_t thread, uint32_t res,
				      uint64_t from, uint64_t to)
{
	const struct thread *t = &c->m->threads[thread];
	const struct wait *waits = c->m->waits + t->first_wait;
	size_t after = SORTED_PREFIX(waits, t->wait_len, it, it->off_ns < to);

	for (size_t i = after; i > 0 && after - i < BACK_MAX; i--) {
		const struct wait *w = &waits[i - 1];

		if (w->end_ns <= from)
			break;
		if (w->res == res && !(w->flags & (WAITF_PREEMPTED | WAITF_PENDING)) &&
		    w->wake_ns > from && w->wake_ns < to)
			return w;
	}
	return NULL;
}

static void lay(struct blame *b, uint32_t waiter, uint32_t res, uint32_t by, uint64_t ns)
{
	struct view *v = b->c->v;
	uint64_t key = by;
	uint32_t at = b->c->thread_row[waiter];
	uint64_t *sum = hmap_slot(&b->by_res, (uint64_t)res << 32 | key);
	struct view_waker who = {.tid = b->c->m->threads[by].tid, .ctx = WAKER_TASK,
				 .comm = b->c->thread_row[by] == NO_IDX ? NULL
				 : v->threads.items[b->c->thread_row[by]].comm};

	*sum += ns;
	if (*sum > b->res_best[res]) {
		b->res_best[res] = *sum;
		v->res.items[res].waker = who;
		v->res.items[res].waker_ns = *sum;
	}
	if (v->threads.items[at].top_res != res)
		return;
	sum = hmap_slot(&b->by_thread, (uint64_t)at << 32 | key);
	*sum += ns;
	if (*sum > b->thread_best[at]) {
		b->thread_best[at] = *sum;
		v->threads.items[at].waker = who;
	}
}

/* Lays [from, to) on by, and on those before it. */
static void blame_span(struct blame *b, uint32_t waiter, uint32_t res, uint32_t by,
		       uint64_t from, uint64_t to)
{
	uint32_t row = b->c->res_row[res];

	for (int depth = 0; depth < DEPTH_MAX && from < to; depth++) {
		const struct wait *w = wait_before(b->c, by, res, from, to);
		uint64_t since = w ? w->wake_ns : from;

		lay(b, waiter, row, by, to - since);
		if (!w || w->waker == NO_IDX || w->waker_ctx != WAKER_TASK)
			return;
		to = since;
		by = w->waker;
	}
}

static void blame_wait(struct blame *b, uint32_t thread, const struct wait *w)
{
	const struct view_ctx *c = b->c;
	uint64_t from = w->off_ns > c->begin_ns ? w->off_ns : c->begin_ns;
	uint64_t to = w->wake_ns < c->end_ns ? w->wake_ns : c->end_ns;
	uint32_t by = w->waker_ctx == WAKER_TASK && w->wake_ns <= c->end_ns ? w->waker : NO_IDX;

	if (w->flags & WAITF_PENDING && w->owner_tid)
		by = model_thread_by_tid(c->m, w->owner_tid);
	if (w->flags & WAITF_PREEMPTED || by == NO_IDX || by == thread || w->res == NO_IDX ||
	    c->res_row[w->res] == NO_IDX)
		return;
	blame_span(b, thread, w->res, by, from, to);
}

static void fill_comms(struct view_ctx *c)
{
	VEC_FOREACH(&c->v->res, r)
		if (!r->waker.comm)
			r->waker.comm = view_task_comm(c, r->waker.tid);
	VEC_FOREACH(&c->v->threads, t)
		if (!t->waker.comm)
			t->waker.comm = view_task_comm(c, t->waker.tid);
}

void view_add_blame(struct view_ctx *c)
{
	struct blame b = {
		.c = c,
		.res_best = xcalloc(c->v->res.cnt + 1, sizeof(uint64_t)),
		.thread_best = xcalloc(c->v->threads.cnt + 1, sizeof(uint64_t)),
	};

	for (uint32_t i = 0; i < c->m->thread_cnt; i++) {
		const struct thread *t = &c->m->threads[i];

		if (c->thread_row[i] == NO_IDX)
			continue;
		for (uint32_t k = t->wait_len; k-- > 0;) {
			const struct wait *w = &c->m->waits[t->first_wait + k];

			if (w->end_ns <= c->begin_ns)
				break;
			if (w->off_ns < c->end_ns)
				blame_wait(&b, i, w);
		}
	}
	fill_comms(c);
	hmap_release(&b.by_res);
	hmap_release(&b.by_thread);
	free(b.res_best);
	free(b.thread_best);
}
