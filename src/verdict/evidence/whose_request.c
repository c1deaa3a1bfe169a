/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/whose_request.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* The socket of a client that t read from, with a request open, or used last; NULL none. */
static const struct sock *client_sock(const struct model *m, uint32_t t)
{
	const struct sock *best = NULL;

	for (size_t i = 0; i < m->sock_cnt; i++) {
		const struct sock *s = &m->socks[i];
		uint32_t tid = s->e.open_since_ns ? s->e.h.tid : s->e.last_tid;

		if (s->e.role != ROLE_SERVER || tid != m->threads[t].tid || s->res == NO_IDX)
			continue;
		if (!best || (s->e.open_since_ns > 0) > (best->e.open_since_ns > 0) ||
		    ((s->e.open_since_ns > 0) == (best->e.open_since_ns > 0) &&
		     s->e.last_rx_ns > best->e.last_rx_ns))
			best = s;
	}
	return best;
}

uint32_t only_client(const struct context *k, const struct proc *p, const char **ret_comm)
{
	uint32_t pid = 0;

	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *n = &k->m->conns_last[i];

		if (n->tgid != p->tgid || n->role != ROLE_SERVER || n->peer_tgid == pid)
			continue;
		if (pid || !n->peer_tgid)
			return 0;
		pid = n->peer_tgid;
		*ret_comm = model_str(k->m, n->peer_comm);
	}
	return pid;
}

/* A process for each connection has one client, though nothing was read meanwhile. */
static const char *client_of_proc(struct context *k, uint32_t thread)
{
	uint32_t p = thread != NO_IDX ? k->m->threads[thread].proc : NO_IDX, pid;
	const char *comm = "";

	if (p == NO_IDX || k->m->procs[p].thread_cnt != 1)
		return "";
	pid = only_client(k, &k->m->procs[p], &comm);
	return pid ? arena_printf(k->arena, "%s (pid %u)", comm, pid) : "";
}

const char *whose_request(struct context *k, uint32_t thread)
{
	const struct sock *s = NULL;
	const struct res *r;
	char addr[INET6_ADDRSTRLEN];
	const char *at = "", *who = "";

	if (thread != NO_IDX && k->w->threads[thread].role == ROLE_T_ENTRY)
		s = client_sock(k->m, thread);
	if (!s)
		return client_of_proc(k, thread);
	r = &k->m->res[s->res];
	if (r->rport && inet_ntop(r->family, r->raddr, addr, sizeof(addr)))
		at = arena_printf(k->arena, r->family == AF_INET6 ? "[%s]:%u" : "%s:%u", addr,
				  r->rport);
	if (r->peer_tgid)
		who = arena_printf(k->arena, "%s (pid %u)%s", r->peer_comm, r->peer_tgid,
				   *at ? " at " : "");
	return arena_printf(k->arena, "%s%s", who, at);
}
