/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that lie unaccepted all the time, before a thread that waits for an
 * answer with no request read: it has just accepted one and asks who that is (a name
 * server, a service of identities), and the others wait with that one.  Such a wait
 * is no rest, though no request is open.
 */
#include "waits/waits_int.h"

static bool callers_wait(const struct model *m, uint32_t t)
{
	for (size_t i = 0; i < m->listen_cnt; i++) {
		const struct listen *l = &m->listens[i];

		if (l->e.tgid == m->threads[t].tgid && l->backlog_min)
			return true;
	}
	return false;
}

bool keeps_callers(const struct engine *e, const struct wait *w)
{
	const struct model *m = e->m;

	return (w->cls == WAIT_SOCKET || w->cls == WAIT_POLL) && w->res != NO_IDX &&
	       m->res[w->res].kind == RES_SOCKET && m->res[w->res].role == ROLE_CLIENT &&
	       callers_wait(m, w->thread);
}
