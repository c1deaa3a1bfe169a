/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/context/conversations.h"

#include <string.h>
#include <sys/socket.h>

#include "verdict/context/targets.h"

uint32_t end_of_res(const struct model *m, uint32_t res)
{
	const struct res *r;

	if (res == NO_IDX || m->res[res].kind != RES_SOCKET)
		return NO_IDX;
	r = &m->res[res];
	for (size_t i = 0; i < m->end_cnt; i++) {
		const struct end *n = &m->ends[i];

		if (n->role == r->role && n->rport == r->rport && n->family == r->family &&
		    n->proc != NO_IDX && m->procs[n->proc].tgid == r->tgid &&
		    memcmp(n->raddr, r->raddr, sizeof(n->raddr)) == 0 &&
		    (n->rport || strcmp(n->name, r->name) == 0))
			return i;
	}
	return NO_IDX;
}

/* The conversation that a cause ended at or came through, NO_IDX if none. */
uint32_t end_of_cause(const struct model *m, const struct cause *c)
{
	uint32_t e = c->end != NO_IDX ? c->end : end_of_res(m, c->res);

	return e != NO_IDX ? e : end_of_res(m, c->via_res);
}

static bool is_loopback(const uint8_t *addr, unsigned family)
{
	static const uint8_t v6[16] = { [15] = 1 };
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (family == AF_INET6 && memcmp(addr, mapped, sizeof(mapped)) != 0)
		return memcmp(addr, v6, sizeof(v6)) == 0;
	return addr[family == AF_INET6 ? 12 : 0] == 127;
}

/*
 * Two addresses that differ and are not loopback lie in two network
 * namespaces or hosts, even where the process at the other end is known.
 */
bool through_network(const struct context *k, const struct cause *c)
{
	uint32_t res[2] = { c->res, c->via_res };

	for (int i = 0; i < 2; i++) {
		const struct res *r = res[i] != NO_IDX ? &k->m->res[res[i]] : NULL;

		if (!r || r->kind != RES_SOCKET || (r->family != AF_INET && r->family != AF_INET6))
			continue;
		return r->rport && !is_loopback(r->raddr, r->family) &&
		       memcmp(r->raddr, r->laddr, sizeof(r->raddr)) != 0;
	}
	return false;
}

/* A unix socket or a loopback address: on this host whether its process is known or not. */
bool on_this_host(const struct context *k, const struct cause *c)
{
	uint32_t e = end_of_cause(k->m, c);
	const struct res *r = c->res != NO_IDX ? &k->m->res[c->res] : NULL;

	if (e != NO_IDX)
		return k->m->ends[e].family == AF_UNIX ||
		       is_loopback(k->m->ends[e].raddr, k->m->ends[e].family);
	if (!r) /* no address: a process that is woken or awaited here */
		return true;
	if (r->kind != RES_SOCKET)
		return false;
	return r->family == AF_UNIX || (r->rport && is_loopback(r->raddr, r->family));
}

/* Share of the window: a process that lives for one request is part of its work. */
#define HELPER_LIFE_MIN 0.5

/* A loop waits for it in the same epoll as for all else, so other requests are served. */
static bool waits_at_home(const struct context *k, const struct cause *c)
{
	unsigned kind = k->m->res[c->via_res].kind;

	return (kind == RES_EPOLL || kind == RES_POLLSET) && c->via != NO_IDX &&
	       k->w->threads[c->via].home_res == c->via_res;
}

/* The process that waits for it: the entry may be a client's. */
static uint32_t asked_by(const struct context *k, const struct cause *c)
{
	uint32_t proc = c->via != NO_IDX ? k->m->threads[c->via].proc : NO_IDX;

	return proc_is_target(k->m, proc) ? proc : c->entry_proc;
}

/*
 * The thread is of another program that the server started and talks to, as the
 * one that logs for it.  Watched with it as its child, but a peer by what it does:
 * nobody asks it but the server.
 */
static bool is_helper(const struct context *k, const struct cause *c)
{
	const struct model *m = k->m;
	const struct thread *th = &m->threads[c->thread];
	const struct res *via = c->via_res != NO_IDX ? &m->res[c->via_res] : NULL;

	if (!via || (via->kind != RES_PIPE && via->kind != RES_SOCKET && !waits_at_home(k, c)) ||
	    strcmp(m->procs[th->proc].comm, m->procs[asked_by(k, c)].comm) == 0 ||
	    th->end_ns - th->begin_ns < HELPER_LIFE_MIN * k->window_ns)
		return false;
	for (size_t i = 0; i < m->end_cnt; i++) {
		if (m->ends[i].proc == th->proc && m->ends[i].role == ROLE_SERVER)
			return false;
	}
	return true;
}

/*
 * Another program that the server runs for a request, and that sleeps: that is no pause of
 * the server's own.  What such a one computes or waits for is part of the request's work.
 */
bool sleeps_in_program(const struct context *k, const struct cause *c)
{
	const struct model *m = k->m;
	uint32_t proc = c->thread != NO_IDX ? m->threads[c->thread].proc : NO_IDX;

	/* a loop that waits for it is what holds up all others */
	if (c->entry != NO_IDX && k->w->threads[c->entry].role == ROLE_T_LOOP)
		return false;
	/* a client of another name is none that runs it */
	return c->kind == CAUSE_TIMER && k->w->demand_kind == 1 && proc != NO_IDX &&
	       proc_is_target(m, c->entry_proc) && proc != c->entry_proc &&
	       thread_is_target(m, c->thread) && !is_helper(k, c) &&
	       strcmp(m->procs[proc].comm, m->procs[c->entry_proc].comm) != 0;
}

bool is_refused(const struct end *n)
{
	return n->refused_cnt && !n->turns && !n->open_now && !n->stale_cnt;
}

uint32_t peer_of_cause(const struct context *k, const struct cause *c)
{
	const struct model *m = k->m;
	uint32_t end = end_of_cause(m, c), tgid = 0;

	if (c->thread != NO_IDX && m->threads[c->thread].proc != NO_IDX &&
	    c->entry_proc != NO_IDX && m->threads[c->thread].proc != c->entry_proc &&
	    (!thread_is_target(m, c->thread) || is_helper(k, c) || sleeps_in_program(k, c)))
		return m->threads[c->thread].proc;
	if (end != NO_IDX)
		tgid = m->ends[end].peer_tgid;
	if (!tgid && c->res != NO_IDX)
		tgid = m->res[c->res].peer_tgid;
	return tgid ? model_proc_by_tgid(m, tgid) : NO_IDX;
}
