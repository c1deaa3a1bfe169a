/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cycles of waiters that are still waiting when the window ends.  Each such
 * thread waits for one other at most (the lock's owner, or the only thread at
 * the other end of a pipe or socket), so a walk with marks finds all cycles.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "waits/waits_int.h"

static const struct wait *pending_wait(const struct model *m, uint32_t t)
{
	const struct thread *th = &m->threads[t];
	const struct wait *w;

	if (!th->wait_len)
		return NULL;
	w = &m->waits[th->first_wait + th->wait_len - 1];
	return (w->flags & WAITF_PENDING) && w->wake_ns >= w->end_ns ? w : NULL;
}

static uint32_t only_thread_of(const struct model *m, uint32_t tgid)
{
	uint32_t found = NO_IDX;

	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		if (m->threads[t].tgid != tgid || !m->threads[t].tracked || m->threads[t].exited)
			continue;
		if (found != NO_IDX)
			return NO_IDX;
		found = t;
	}
	return found;
}

static uint32_t waited_for(const struct model *m, uint32_t t)
{
	const struct wait *w = pending_wait(m, t);

	if (!w)
		return NO_IDX;
	if (w->owner_tid)
		return model_thread_by_tid(m, w->owner_tid);
	if ((w->cls == WAIT_SOCKET || w->cls == WAIT_PIPE) && w->res != NO_IDX &&
	    m->res[w->res].peer_tgid && m->res[w->res].peer_tgid != m->threads[t].tgid)
		return only_thread_of(m, m->res[w->res].peer_tgid);
	return NO_IDX;
}

static void cycle_add(struct engine *e, const uint32_t *next, uint32_t start)
{
	struct wcycle *c = &e->r->cycles[e->r->cycle_cnt++];
	uint32_t t = start;

	c->pending = 1;
	do {
		const struct wait *w = pending_wait(e->m, t);
		uint64_t ns = w->real_end_ns - w->real_off_ns;

		if (c->len < 16) {
			c->thread[c->len] = t;
			c->res[c->len++] = w->res;
		}
		if (!c->ns || ns < c->ns)
			c->ns = ns;
		t = next[t];
	} while (t != start);
}

void cycles_find(struct engine *e)
{
	const struct model *m = e->m;
	uint32_t *next = xcalloc(m->thread_cnt + 1, sizeof(*next));
	uint32_t *mark = xcalloc(m->thread_cnt + 1, sizeof(*mark));

	BUG_ON(!next || !mark);
	e->r->cycles = ARENA_ARRAY(e->arena, struct wcycle, m->thread_cnt / 2 + 1);
	for (uint32_t t = 0; t < m->thread_cnt; t++)
		next[t] = waited_for(m, t);
	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		uint32_t x = t;

		while (x != NO_IDX && !mark[x]) {
			mark[x] = t + 1;
			x = next[x];
		}
		/* met this very walk again: the cycle begins here; alone with itself is none */
		if (x != NO_IDX && mark[x] == t + 1 && next[x] != x)
			cycle_add(e, next, x);
	}
	free(next);
	free(mark);
}
