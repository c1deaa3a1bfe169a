/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that hang through the whole window, and questions that were given up.
 *
 * No event tells of the first, only what TCP knows of their connections at both ends
 * of the window: we owe an answer since before it began, and await one from somebody.
 * Each such pair is one request open for all of the window, and ends at the
 * conversation that awaits.  A question given up, its socket closed and asked anew on
 * another, is in no sum either; those open at each tick tell how many were at a time.
 *
 * One side alone is no request: an idle client of HTTP/2 or MySQL may have said the
 * last word, and who waits for messages has asked for them long ago.  Only where
 * nothing was ever answered on most connections of a port, but on others is, do they
 * wait for what is not seen: a few may poll for news.  Who is asked in datagrams keeps
 * no connections: where such a server got more than it answered, its own questions that
 * nobody answers are for that.
 */
#include <string.h>
#include <sys/socket.h>

#include "waits/waits_int.h"

/* Asked for a request that came before: the two clocks are TCP's, of a tick each. */
#define ASKED_SLACK_NS 100000000
/* Less at a time is the rounding of ticks. */
#define AT_A_TIME_MIN 0.1

struct owed { double cnt, first_cnt, silent_cnt, asked_cnt; uint64_t oldest_ns; bool datagrams; };

static double window_ns(const struct model *m)
{
	return m->end_ns > m->begin_ns ? (double)(m->end_ns - m->begin_ns) : 1;
}

static bool is_asked_in_datagrams(const struct model *m, const struct end *n)
{
	uint32_t res = n->family != AF_UNIX ? res_of_end(m, n) : NO_IDX;

	return res != NO_IDX && m->res[res].sotype == SOCK_DGRAM;
}

/*
 * Questions that were given up: mean at a time.  Who only tells others something keeps
 * his socket; who gives up closes it, and asks anew from another.
 */
static double given_up(const struct model *m, const struct end *n)
{
	return n->conns > n->turns + n->open_now ? (double)n->open_tick_ns / window_ns(m) : 0;
}

/* A question is said at once, perhaps in two datagrams, and then waited for. */
#define ASKED_ONCE_NS 10000000

/* Those of which none was given up yet: they wait, and said no more since they asked. */
static double still_asked(const struct model *m, const struct end *n)
{
	double ns = 0;

	for (size_t i = 0; i < m->sock_cnt; i++) {
		const struct ev_sock *s = &m->socks[i].e;
		const struct res *r = m->socks[i].res != NO_IDX ? &m->res[m->socks[i].res] : NULL;
		uint64_t age = m->end_ns - s->open_since_ns;

		if (!r || !s->open_since_ns || s->open_since_ns > m->end_ns ||
		    r->sotype != SOCK_DGRAM || s->role != ROLE_CLIENT ||
		    r->tgid != m->procs[n->proc].tgid || r->rport != n->rport ||
		    r->family != n->family || memcmp(r->raddr, n->raddr, sizeof(r->raddr)) != 0 ||
		    s->last_tx_ns > s->open_since_ns + ASKED_ONCE_NS || age < WAITS_STALL_NS)
			continue;
		ns += (double)age;
	}
	return ns / window_ns(m);
}

static double questions(const struct model *m, const struct end *n)
{
	double given, still;

	if (!is_asked_in_datagrams(m, n))
		return 0;
	given = given_up(m, n);
	still = still_asked(m, n);
	given = given > still ? given : still;
	return given >= AT_A_TIME_MIN ? given : 0;
}

/* More came there than was answered; one may have been on its way when the watch ended. */
static bool owes_datagrams(const struct model *m, const struct end *n)
{
	bool owes = n->partial_cnt > 1 || n->open_oldest_ns >= WAITS_STALL_NS;

	for (uint32_t i = 0; owes && i < m->res_cnt; i++) {
		const struct res *r = &m->res[i];

		if (r->kind == RES_SOCKET && r->role == ROLE_SERVER && r->sotype == SOCK_DGRAM &&
		    r->tgid == m->procs[n->proc].tgid && r->lport == n->lport &&
		    r->family == n->family)
			return true;
	}
	return false;
}

static double awaits(const struct model *m, const struct end *n)
{
	return (double)n->stale_cnt + questions(m, n);
}

static struct owed owed_of(const struct model *m, uint32_t proc)
{
	struct owed o = { 0 };

	for (size_t i = 0; i < m->end_cnt; i++) {
		const struct end *n = &m->ends[i];

		if (n->proc != proc)
			continue;
		if (n->role == ROLE_CLIENT) {
			o.asked_cnt += awaits(m, n);
			continue;
		}
		o.cnt += (double)n->stale_cnt;
		o.silent_cnt += (double)n->silent_cnt;
		if (n->turns && 2 * n->stale_first_cnt > n->conns_last)
			o.first_cnt += (double)n->stale_first_cnt;
		o.datagrams |= owes_datagrams(m, n);
		if (n->stale_oldest_ns > o.oldest_ns)
			o.oldest_ns = n->stale_oldest_ns;
	}
	return o;
}

static double min_of(double a, double b)
{
	return a < b ? a : b;
}

/* Requests that an answer is awaited for; silent are clients that wait to be greeted. */
static double paired(const struct owed *o)
{
	return o->datagrams ? o->asked_cnt : min_of(o->cnt + o->silent_cnt, o->asked_cnt);
}

/*
 * Threads that have slept since before the window with a request open: what they wait
 * for is in the causes already.  asking: those that await an answer.
 */
static double asleep_cnt(const struct engine *e, uint32_t proc, bool asking)
{
	const struct model *m = e->m;
	const struct proc *p = &m->procs[proc];
	double cnt = 0;

	for (uint32_t i = 0; i < p->thread_cnt; i++) {
		uint32_t t = m->proc_threads[p->first_thread + i];
		const struct thread *th = &m->threads[t];
		const struct wait *w = &m->waits[th->first_wait + th->wait_len - 1];
		const struct res *r;

		if (!th->wait_len || !(w->flags & WAITF_PENDING) ||
		    !(e->tinfo[t].asleep || (w->flags & WAITF_BEFORE_START)) ||
		    !wait_open(e, w))
			continue;
		r = w->res != NO_IDX ? &m->res[w->res] : NULL;
		cnt += !asking || (r && r->kind == RES_SOCKET && r->role == ROLE_CLIENT);
	}
	return cnt;
}

static double unseen_of(const struct engine *e, uint32_t proc, const struct owed *o)
{
	double told = paired(o) + asleep_cnt(e, proc, false);

	return o->first_cnt > told ? o->first_cnt - told : 0;
}

double unanswered_cnt(const struct engine *e, uint32_t proc)
{
	struct owed o = owed_of(e->m, proc);

	return paired(&o) + unseen_of(e, proc, &o);
}

struct laying { struct engine *e; struct causes *into; uint32_t proc, loop; };

/* A thread that sleeps until that conversation answers, NO_IDX: none does. */
static uint32_t asker(const struct model *m, uint32_t proc, const struct end *n)
{
	const struct proc *p = &m->procs[proc];

	for (uint32_t i = 0; i < p->thread_cnt; i++) {
		uint32_t t = m->proc_threads[p->first_thread + i];
		const struct thread *th = &m->threads[t];
		const struct wait *w = &m->waits[th->first_wait + (th->wait_len - 1)];
		const struct res *r;

		if (!th->tracked || !th->wait_len || w->res == NO_IDX)
			continue;
		r = &m->res[w->res];
		if (r->kind == RES_SOCKET && r->role == n->role && r->rport == n->rport &&
		    r->family == n->family && memcmp(r->raddr, n->raddr, sizeof(r->raddr)) == 0)
			return t;
	}
	return NO_IDX;
}

static void lay(const struct laying *k, unsigned kind, uint32_t end, double cnt)
{
	const struct end *n = end != NO_IDX ? &k->e->m->ends[end] : NULL;
	uint32_t res = n ? res_of_end(k->e->m, n) : NO_IDX;
	uint32_t by = k->loop == NO_IDX && n ? asker(k->e->m, k->proc, n) : k->loop;
	struct place at = { .entry_proc = k->proc, .entry = by, .via = by, .via_res = NO_IDX,
			    .lock = NO_IDX, .end = end, .depth = 1 };

	if (cnt > 0)
		causes_add_part(k->into, kind, NO_IDX, res, &at,
				cnt * window_ns(k->e->m) * k->e->r->part, cnt * k->e->r->part);
}

void unanswered_lay(struct engine *e, uint32_t proc, uint32_t loop, struct causes *into)
{
	const struct model *m = e->m;
	struct owed o = owed_of(m, proc);
	struct laying k = { e, into, proc, loop };
	double left = paired(&o) - asleep_cnt(e, proc, true);

	/* an answer that was awaited before the request came is none for it, unless none else is */
	for (int later = 0; later < 2; later++) {
		for (size_t i = 0; i < m->end_cnt && left > 0; i++) {
			const struct end *n = &m->ends[i];
			bool before = n->stale_oldest_ns > o.oldest_ns + ASKED_SLACK_NS;
			double cnt = min_of(awaits(m, n), left);

			if (n->proc != proc || n->role != ROLE_CLIENT || before != (later != 0))
				continue;
			lay(&k, CAUSE_EXTERNAL, (uint32_t)i, cnt);
			left -= cnt;
		}
	}
	lay(&k, CAUSE_UNSEEN, NO_IDX, unseen_of(e, proc, &o));
}
