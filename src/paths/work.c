/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeps of threads while they worked on a request, and which request the threads
 * that woke them worked on.
 */
#include "base/cmp.h"
#include "paths/paths_int.h"

#define WAIT_MIN_NS 50000	/* shorter ones are noise in a request's picture */

struct stretch {		/* a thread works on a request */
	uint32_t tid, request;
	uint64_t from_ns, to_ns;
};

struct stretches {
	VEC(struct stretch) items;
};

static int by_thread(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static int by_request(const void *a, const void *b)
{
	const struct paths_wait *x = a, *y = b;

	if (x->request != y->request)
		return x->request < y->request ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static void stretches_make(struct paths *p, struct stretches *s)
{
	for (uint32_t i = 0; i < p->requests.cnt; i++) {
		const struct paths_request *r = &p->requests.items[i];
		const struct path_thread *t = paths_thread(p, r->replier, r->tgid);
		uint64_t from = r->reader == r->replier ? r->arrival_ns : r->worker_ns;

		if (!r->arrival_ns || !r->reply_ns || !from || t->is_loop || t->is_busy)
			continue;
		vec_push(&s->items, ((struct stretch){r->replier, i, from, r->reply_ns}));
	}
	VEC_FOREACH(&p->calls, c) {
		if (c->request == PATHS_NONE || c->answered_by != c->caller ||
		    p->requests.items[c->request].replier == c->caller)
			continue;
		vec_push(&s->items, ((struct stretch){c->caller, c->request, c->start_ns,
						      c->answer_ns}));
	}
	vec_sort(&s->items, by_thread);
}

/* The request that the thread worked on at ns, or PATHS_NONE. */
static uint32_t worked_on(const struct stretches *s, uint32_t tid, uint64_t ns)
{
	size_t lo = 0, hi = s->items.cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct stretch *x = &s->items.items[mid];

		if (x->tid < tid || (x->tid == tid && x->from_ns <= ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || s->items.items[lo - 1].tid != tid || s->items.items[lo - 1].to_ns < ns)
		return PATHS_NONE;
	return s->items.items[lo - 1].request;
}

/* Does the thread sleep until a call of its own is answered?  calls: in order of start. */
static bool for_a_call(const struct paths *p, const struct path_thread *t,
		       const struct path_event *e, size_t *next)
{
	while (*next < t->called.cnt) {
		const struct paths_call *c = &p->calls.items[t->called.items[*next]];

		if (c->start_ns > e->ns)
			return false;
		if (c->answer_ns && c->end_ns >= e->ns && c->start_ns <= e->wait.off_ns)
			return true;
		if (c->answer_ns >= e->ns)
			return false;
		++*next;
	}
	return false;
}

static void wait_take(struct paths *p, const struct stretches *s, const struct path_event *e)
{
	uint32_t request = worked_on(s, e->tid, e->wait.off_ns), by = PATHS_NONE;

	if (request == PATHS_NONE || p->requests.items[request].reply_ns < e->ns)
		return;
	if (e->other)
		by = worked_on(s, e->other, e->wait.wake_ns);
	if (by == request)	/* for its own result: what the other one did says why */
		return;
	vec_push(&p->waits, ((struct paths_wait){
		.request = request, .tid = e->tid, .waker = e->other, .waker_request = by,
		.begin_ns = e->wait.off_ns, .woken_ns = e->wait.wake_ns, .end_ns = e->ns,
		.call = e->call, .uninterruptible = e->wait.uninterruptible,
		.is_lock = e->call == PATH_SYS_FUTEX &&
			   paths_is_lock(p, e->tgid, e->wait.word)}));
}

void paths_waits(struct paths *p)
{
	struct stretches s = {0};

	stretches_make(p, &s);
	VEC_FOREACH(&p->threads, t) {
		size_t next = 0;

		VEC_FOREACH(&t->slept, idx) {
			const struct path_event *e = &p->events.items[*idx];

			if (e->ns - e->wait.off_ns >= WAIT_MIN_NS && !for_a_call(p, t, e, &next))
				wait_take(p, &s, e);
		}
	}
	vec_sort(&p->waits, by_request);
	vec_release(&s.items);
}
