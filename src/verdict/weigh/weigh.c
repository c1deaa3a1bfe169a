/* SPDX-License-Identifier: Apache-2.0 */
/* Which finding each piece of demand speaks for, before the rest of the evidence is heard. */
#include <string.h>
#include <sys/socket.h>

#include "verdict/context/context.h"

bool thread_is_target(const struct model *m, uint32_t thread)
{
	uint32_t p = thread != NO_IDX ? m->threads[thread].proc : NO_IDX;

	return p != NO_IDX && m->procs[p].target;
}

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
static bool through_network(const struct court *k, const struct cause *c)
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
static bool on_this_host(const struct court *k, const struct cause *c)
{
	uint32_t e = end_of_cause(k->m, c);
	const struct res *r = c->res != NO_IDX ? &k->m->res[c->res] : NULL;

	if (e != NO_IDX)
		return k->m->ends[e].family == AF_UNIX ||
		       is_loopback(k->m->ends[e].raddr, k->m->ends[e].family);
	if (!r || r->kind != RES_SOCKET)
		return false;
	return r->family == AF_UNIX || (r->rport && is_loopback(r->raddr, r->family));
}

/* Of the window: what comes and goes with a request is part of its work. */
#define HELPER_LIFE_MIN 0.5

/*
 * The thread is of another program that the server started and talks to, as the
 * one that logs for it.  Watched with it as its child, but a peer by what it does:
 * nobody asks it but the server.
 */
static bool is_helper(const struct court *k, const struct cause *c)
{
	const struct model *m = k->m;
	const struct thread *th = &m->threads[c->thread];
	const struct res *via = c->via_res != NO_IDX ? &m->res[c->via_res] : NULL;

	if (!via || (via->kind != RES_PIPE && via->kind != RES_SOCKET) ||
	    strcmp(m->procs[th->proc].comm, m->procs[c->entry_proc].comm) == 0 ||
	    th->end_ns - th->begin_ns < HELPER_LIFE_MIN * k->window_ns)
		return false;
	for (size_t i = 0; i < m->end_cnt; i++) {
		if (m->ends[i].proc == th->proc && m->ends[i].role == ROLE_SERVER)
			return false;
	}
	return true;
}

bool is_refused(const struct end *n)
{
	return n->refused_cnt && !n->turns && !n->open_now && !n->stale_cnt;
}

uint32_t peer_of_cause(const struct court *k, const struct cause *c)
{
	const struct model *m = k->m;
	uint32_t end = end_of_cause(m, c), tgid = 0;

	if (c->thread != NO_IDX && m->threads[c->thread].proc != NO_IDX &&
	    c->entry_proc != NO_IDX && m->threads[c->thread].proc != c->entry_proc &&
	    (!thread_is_target(m, c->thread) || is_helper(k, c)))
		return m->threads[c->thread].proc;
	if (end != NO_IDX)
		tgid = m->ends[end].peer_tgid;
	if (!tgid && c->res != NO_IDX)
		tgid = m->res[c->res].peer_tgid;
	return tgid ? model_proc_by_tgid(m, tgid) : NO_IDX;
}

static void cand_add(struct court *k, unsigned cls, const struct cause *c, double ns)
{
	struct cand *d = &k->cand[cls];

	d->ns += ns;
	if (!d->top || ns > d->top_ns) {
		d->top = c;
		d->top_ns = ns;
	}
}

/* A hold shorter than this does no harm alone: it takes many users to wait long for it. */
#define HELD_MIN_NS 1000000
/* More than one holder at a time, counted with the error that lost hand-overs bring. */
#define LIMIT_HOLDERS 1.5

/*
 * Held too long: one thread has it half of the time and long at a time, or
 * any holder keeps it long.  Else many want it for a short time each.  Where
 * several have it at once it is no lock but a limit on how many may pass.
 */
unsigned lock_finding(const struct court *k, uint32_t lock)
{
	const struct lock *l;
	uint64_t mean;

	if (lock == NO_IDX)
		return FIND_LOCK_HELD;
	l = &k->w->locks[lock];
	if (l->holders_avg >= LIMIT_HOLDERS)
		return FIND_CONN_LIMIT;
	mean = l->busy_ns / (l->wait_cnt > l->pending_cnt ? l->wait_cnt - l->pending_cnt : 1);
	if (mean >= HELD_MIN_NS || (l->hold_ns >= HELD_MIN_NS && l->holder_ns * 2 >= l->busy_ns))
		return FIND_LOCK_HELD;
	return FIND_LOCK_CONVOY;
}

/*
 * Ends that say why whatever lock or peer lies on the way: it is then a link of the
 * chain.  FIND_CNT for others.
 */
static unsigned finding_of_end(const struct court *k, const struct cause *c)
{
	switch (c->kind) {
	case CAUSE_RUNQ_OTHER:
		return FIND_CPU_NEIGHBOUR;
	case CAUSE_RUNQ_QUOTA:
		return FIND_CPU_QUOTA;
	case CAUSE_STOPPED:
		return thread_is_target(k->m, c->thread) ? FIND_STOPPED : FIND_CNT;
	default:
		return FIND_CNT;
	}
}

/*
 * The lock was told from who wakes whom, and lies between programs that talk by a
 * socket: what looks like a holder is somebody whose answer is waited for.  A lock
 * that was seen is one wherever its holder waits.
 */
static bool awaits_answer(const struct court *k, const struct cause *c, uint32_t peer)
{
	const struct model *m = k->m;
	const struct lock *l = &k->w->locks[c->lock];

	return l->virt && !l->presumed && c->via_res != NO_IDX &&
	       m->res[c->via_res].kind != RES_FUTEX && c->entry_proc != NO_IDX &&
	       strcmp(m->procs[peer].comm, m->procs[c->entry_proc].comm) != 0;
}

static unsigned finding_of(const struct court *k, const struct cause *c, uint32_t peer)
{
	unsigned end = finding_of_end(k, c);

	if (end != FIND_CNT)
		return end;
	/*
	 * The wait for one's turn is the limit's, whatever those do who have
	 * theirs; but no limit is to blame where they wait for a disk or for
	 * memory, which more of them would only share.
	 */
	if (c->lock != NO_IDX && k->w->locks[c->lock].holders_avg >= LIMIT_HOLDERS &&
	    c->kind != CAUSE_DISK && c->kind != CAUSE_FSYNC && c->kind != CAUSE_MEMORY)
		return FIND_CONN_LIMIT;
	if (peer != NO_IDX && c->kind != CAUSE_CLIENT &&
	    (c->lock == NO_IDX || awaits_answer(k, c, peer)))
		return through_network(k, c) ? FIND_EXTERNAL : FIND_PEER;
	switch (c->kind) {
	case CAUSE_DISK:
		return FIND_DISK_OWN;
	case CAUSE_FSYNC:
		return FIND_FSYNC;
	case CAUSE_MEMORY:
		return FIND_MEMORY;
	case CAUSE_EXTERNAL:
		return on_this_host(k, c) ? FIND_PEER : FIND_EXTERNAL;
	case CAUSE_CYCLE:
		/* threads that wake each other from epoll, as the schedulers of a VM do */
		if (c->lock == NO_IDX && c->res != NO_IDX && k->m->res[c->res].kind != RES_FUTEX)
			return FIND_UNKNOWN;
		return lock_finding(k, c->lock);
	case CAUSE_KLOCK:
	case CAUSE_LOCK:
		return lock_finding(k, c->lock);
	case CAUSE_QUEUE:
		return FIND_CONN_LIMIT;
	default:
		break;
	}
	if (c->lock != NO_IDX && !computes_for_holders(k, c))
		return lock_finding(k, c->lock);
	switch (c->kind) {
	case CAUSE_RUN:
	case CAUSE_RUNQ_SELF:
		return FIND_CPU_OWN;
	case CAUSE_TIMER:
		return FIND_TIMER;
	case CAUSE_CLIENT:
		return FIND_CLIENTS;
	case CAUSE_IDLE:
		return FIND_HEALTHY;
	default:
		return FIND_UNKNOWN;
	}
}

unsigned finding_of_cause(const struct court *k, const struct cause *c)
{
	return finding_of(k, c, peer_of_cause(k, c));
}

double reclaim_share(const struct model *m, uint32_t thread)
{
	const struct thread *t = thread != NO_IDX ? &m->threads[thread] : NULL;
	double asleep, on_cpu, ns;

	if (!t || !t->reclaim_ns)
		return 0;
	/* sleeps meanwhile are waits of their own */
	asleep = (double)t->ns[ST_WAIT + WAIT_RECLAIM];
	on_cpu = (double)t->ns[ST_RUN] + t->ns[ST_RUNQ];
	ns = (double)t->reclaim_ns - asleep;
	return ns <= 0 || on_cpu <= 0 ? 0 : ns < on_cpu ? ns / on_cpu : 1;
}

void weigh_causes(struct court *k)
{
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];
		unsigned cls;
		double reclaim;

		if (c->entry_proc == NO_IDX || !k->m->procs[c->entry_proc].target)
			continue;
		/* who computes to free memory does no work of its own */
		cls = finding_of(k, c, peer_of_cause(k, c));
		reclaim = cls == FIND_CPU_OWN ? reclaim_share(k->m, c->thread) : 0;
		if (reclaim > 0)
			cand_add(k, FIND_MEMORY, c, reclaim * c->ns);
		cand_add(k, cls, c, (1 - reclaim) * c->ns);
		k->demand_ns += c->ns;
	}
	carriers_choose(k);
}

void cand_init(struct cand *c, unsigned cls)
{
	*c = (struct cand){ .cls = (uint8_t)cls, .lock = NO_IDX, .end = NO_IDX, .peer = NO_IDX,
			    .dev = NO_IDX, .group = NO_IDX, .loop = NO_IDX,
			    .neighbour_comm = "" };
}

void court_init(struct court *k, const struct model *m, const struct waits_result *w,
		struct arena *arena)
{
	const struct ev_host *h = &m->host;
	double all = (double)h->cpu_busy_ns + h->cpu_idle_ns + h->cpu_iowait_ns + h->cpu_steal_ns;

	*k = (struct court){ .m = m, .w = w, .arena = arena };
	k->window_ns = m->end_ns > m->begin_ns ? m->end_ns - m->begin_ns : 1;
	k->host_idle = all > 0 ? (h->cpu_idle_ns + h->cpu_iowait_ns) / all : 1;
	k->host_steal = all > 0 ? h->cpu_steal_ns / all : 0;
	for (unsigned i = 0; i < FIND_CNT; i++)
		cand_init(&k->cand[i], i);
	k->turns = w->total.turns;
}
