/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that lie unaccepted before a thread that could take them and waits for
 * somebody else, with no request read.  Such a wait is no rest, though none is open.
 *
 * It may have just accepted one and ask who that is (a name server, a service of
 * identities): then they lie there all the time.  Or it reads from one client, who says
 * nothing, and takes no other while it does: one that rests between its requests looks the
 * same but for the line.
 */
#include "waits/waits_int.h"

/* One connection at least lies there at any time: now and then it is on its way. */
#define LINE_MIN 1.0

bool res_is_server(const struct model *m, uint32_t res)
{
	return res != NO_IDX && m->res[res].kind == RES_SOCKET && m->res[res].role == ROLE_SERVER;
}

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

/* A line at a socket of process tgid's that listens. */
static bool has_line(const struct model *m, uint32_t tgid)
{
	for (size_t i = 0; i < m->listen_cnt; i++)
		if (m->listens[i].e.tgid == tgid && m->listens[i].backlog_avg >= LINE_MIN)
			return true;
	return false;
}

static bool is_for_new_ones(const struct model *m, const struct wait *w)
{
	const struct res *r = w->res != NO_IDX ? &m->res[w->res] : NULL;

	if (w->cls == WAIT_SOCKET && w->op == WAIT_OP_ACCEPT)
		return true;
	if (w->cls != WAIT_POLL || !r || r->kind != RES_SOCKET ||
	    (r->role != ROLE_LISTEN && r->role != ROLE_UNKNOWN))
		return false;
	for (size_t i = 0; i < m->listen_cnt; i++)
		if (m->listens[i].e.tgid == m->threads[w->thread].tgid &&
		    m->listens[i].e.lport == r->lport)
			return true;
	return false;
}

static bool accepts(const struct model *m, uint32_t t)
{
	const struct thread *th = &m->threads[t];

	if (th->proc != NO_IDX && m->procs[th->proc].thread_cnt == 1)
		return true;
	for (uint32_t i = th->first_wait; i < th->first_wait + th->wait_len; i++)
		if (is_for_new_ones(m, &m->waits[i]))
			return true;
	return false;
}

void callers_find(struct engine *e)
{
	for (uint32_t t = 0; t < e->m->thread_cnt; t++)
		e->tinfo[t].line = has_line(e->m, e->m->threads[t].tgid) && accepts(e->m, t);
}

bool is_silent_client(const struct engine *e, const struct wait *w)
{
	return e->tinfo[w->thread].line && w->cls == WAIT_SOCKET && w->op == WAIT_OP_READ &&
	       w->res != NO_IDX && e->m->res[w->res].kind == RES_SOCKET &&
	       e->m->res[w->res].role == ROLE_SERVER && !w->own_open &&
	       !e->tinfo[w->thread].asleep && !(w->flags & WAITF_PREEMPTED);
}
