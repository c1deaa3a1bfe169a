/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that pass on what their client says.
 *
 * Such a thread reads a client's words, wakes siblings by what it read, and lies down for
 * the next words with nothing answered: a standby that reports how far it has come, a
 * worker that connects to its dispatcher.  The siblings wait for that client, and for no
 * lock: who lets go of one at a client's word ends a request of its own by that.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/search.h"
#include "waits/waits_int.h"

/* Share of the time of the waits that it ended: a clear majority, as of a lock. */
#define RELAYED_SHARE 0.6

struct ended { double all_ns, relayed_ns; };

static bool is_for_client(const struct model *m, const struct wait *w)
{
	uint32_t res = w->cls == WAIT_SOCKET ? w->res : w->first_io;

	return (w->cls == WAIT_SOCKET || w->cls == WAIT_EPOLL || w->cls == WAIT_POLL) &&
	       w->waker_ctx == WAKER_NET && res_is_server(m, res);
}

/* The sleeps of t before and after ns; false where one is missing. */
static bool sleeps_around(const struct model *m, uint32_t t, uint64_t ns,
			  const struct wait **ret_before, const struct wait **ret_after)
{
	const struct thread *th = &m->threads[t];
	const struct wait *waits = m->waits + th->first_wait;
	uint32_t at = (uint32_t)SORTED_PREFIX(waits, th->wait_len, it, it->end_ns <= ns), i;

	for (i = at; i > 0 && waits[i - 1].flags & WAITF_PREEMPTED;)
		i--;
	*ret_before = i ? &waits[i - 1] : NULL;
	for (i = at; i < th->wait_len && waits[i].flags & WAITF_PREEMPTED;)
		i++;
	*ret_after = i < th->wait_len ? &waits[i] : NULL;
	return *ret_before && *ret_after;
}

/* w ended by what its waker's client had said: that one has not had an answer since. */
static bool is_relayed(const struct engine *e, const struct wait *w)
{
	const struct wait *before, *after;

	if (e->tinfo[w->waker].open_max > 1 || /* it may be another request that is open */
	    !sleeps_around(e->m, w->waker, w->wake_ns, &before, &after))
		return false;
	return w->wake_ns - before->end_ns < LOOK_AGAIN_NS && is_for_client(e->m, before) &&
	       after->own_open && after->cls == before->cls && after->res == before->res;
}

void relays_find(struct engine *e)
{
	const struct model *m = e->m;
	struct ended *by = xcalloc(m->thread_cnt + 1, sizeof(*by));

	BUG_ON(!by);
	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];
		double ns = (double)(w->end_ns - w->off_ns);

		if (w->waker_ctx != WAKER_TASK || w->waker == NO_IDX || w->waker == w->thread ||
		    !w->own_open || !w->wake_ns)
			continue;
		by[w->waker].all_ns += ns;
		if (is_relayed(e, w))
			by[w->waker].relayed_ns += ns;
	}
	for (uint32_t t = 0; t < m->thread_cnt; t++)
		e->tinfo[t].relays = by[t].relayed_ns > 0 &&
				     by[t].relayed_ns >= RELAYED_SHARE * by[t].all_ns;
	free(by);
}
