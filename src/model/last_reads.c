/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which socket ended the last wait of a thread.  The kernel side says with each wait
 * what was read after the one before, so of the last one before a thread ends it says
 * nothing: a process that is forked for each connection may have no other.  The
 * recorded requests do: an answer of an upstream's is read when such a request ends, a
 * client's is read when its time in service begins.
 */
#include "model/model_int.h"

static struct wait *last_real(struct wait *waits, size_t first, size_t cnt)
{
	for (size_t i = first + cnt; i-- > first;)
		if (!(waits[i].flags & WAITF_PREEMPTED))
			return &waits[i];
	return NULL;
}

static bool awaits_any(const struct wait *w)
{
	return (w->cls == WAIT_EPOLL || w->cls == WAIT_POLL) && w->first_io == NO_IDX &&
	       !(w->flags & WAITF_PENDING);
}

/* first_ns: by thread, when it read what is known to be the first. */
static void read_note(struct model *m, uint32_t tid, uint64_t res, uint64_t at_ns,
		      uint64_t *first_ns)
{
	uint32_t t = model_thread_by_tid(m, tid), io = model_res_by_id(m, res);
	struct thread *th = t != NO_IDX ? &m->threads[t] : NULL;
	struct wait *w, *l;

	if (!th || io == NO_IDX || at_ns >= first_ns[t])
		return;
	w = last_real(m->waits, th->first_wait, th->wait_len);
	/* one that stood before is of an earlier read, unless it came from here */
	if (!w || at_ns < w->real_end_ns || (first_ns[t] == UINT64_MAX && !awaits_any(w)))
		return;
	first_ns[t] = at_ns;
	w->first_io = io;
	l = last_real(m->long_waits, th->first_long, th->long_len);
	if (l && l->real_off_ns == w->real_off_ns)
		l->first_io = io;
}

void last_reads_publish(struct model *m)
{
	uint64_t *first_ns = arena_alloc_array(&m->priv->pub, m->thread_cnt + 1,
					       sizeof(*first_ns));

	memset(first_ns, 0xff, (m->thread_cnt + 1) * sizeof(*first_ns));
	for (size_t i = 0; i < m->turn_cnt; i++) {
		const struct ev_turn *n = &m->turns[i];

		if (n->role == ROLE_CLIENT)
			read_note(m, n->h.tid, n->res, n->h.ts_ns, first_ns);
		else if (n->role == ROLE_SERVER && n->service_ns <= n->h.ts_ns)
			read_note(m, n->first_tid, n->res, n->h.ts_ns - n->service_ns, first_ns);
	}
}
