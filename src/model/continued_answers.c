/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that went on after their first part.  The probe counts a request as open
 * until then, and learns only from its client that it was not over: what its threads
 * waited for meanwhile was waited for with a request open.
 *
 * Where a thread waits for its client, or for whatever comes next, there is no saying
 * that the answer was held up: those stay as they are.
 */
#include <string.h>

#include "model/model_int.h"

static bool is_part_of_work(const struct model *m, const struct wait *w)
{
	if (w->cls == WAIT_SOCKET)
		return w->res != NO_IDX && m->res[w->res].role == ROLE_CLIENT;
	return w->cls != WAIT_EPOLL && w->cls != WAIT_POLL && w->cls != WAIT_KIDLE;
}

/* The first of thread t's waits, of cnt sorted ones, that began at ns or later. */
static size_t first_from(const struct wait *waits, size_t at, size_t cnt, uint64_t ns)
{
	size_t end = at + cnt;

	while (at < end) {
		size_t mid = at + (end - at) / 2;

		if (waits[mid].real_off_ns < ns)
			at = mid + 1;
		else
			end = mid;
	}
	return at;
}

/* Those that begin before until_ns and end within the answer. */
static void mark(const struct model *m, struct wait *waits, size_t first, size_t cnt,
		 const struct ev_turn *n, uint64_t until_ns)
{
	size_t i = first_from(waits, first, cnt, n->h.ts_ns - n->service_ns);

	for (; i < first + cnt && waits[i].real_off_ns < until_ns; i++) {
		struct wait *w = &waits[i];

		if (w->own_open || w->real_end_ns > n->h.ts_ns || !is_part_of_work(m, w))
			continue;
		w->own_open = 1;
		w->proc_open += !w->proc_open;
	}
}

/* done_ns: by thread, what began then or later was looked at. */
static void mark_thread(struct model *m, uint32_t tid, const struct ev_turn *n, uint64_t *done_ns)
{
	uint32_t t = model_thread_by_tid(m, tid);
	uint64_t begin_ns = n->h.ts_ns - n->service_ns, until_ns;

	if (t == NO_IDX)
		return;
	until_ns = n->h.ts_ns < done_ns[t] ? n->h.ts_ns : done_ns[t];
	mark(m, m->waits, m->threads[t].first_wait, m->threads[t].wait_len, n, until_ns);
	mark(m, m->long_waits, m->threads[t].first_long, m->threads[t].long_len, n, until_ns);
	if (begin_ns < done_ns[t])
		done_ns[t] = begin_ns;
}

void rests_publish(struct model *m)
{
	uint64_t *done_ns = arena_alloc_array(&m->priv->pub, m->thread_cnt + 1, sizeof(*done_ns));

	memset(done_ns, 0xff, (m->thread_cnt + 1) * sizeof(*done_ns));
	for (size_t i = m->turn_cnt; i-- > 0;) { /* the last first, so that none is asked twice */
		const struct ev_turn *n = &m->turns[i];

		if (!(n->flags & TURNF_REST) || n->role != ROLE_SERVER ||
		    n->service_ns > n->h.ts_ns)
			continue;
		mark_thread(m, n->first_tid, n, done_ns);
		mark_thread(m, n->h.tid, n, done_ns);
	}
}
