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
 * last word, and who waits for messages has asked for them long ago.  Only a
 * connection on which nothing was ever answered, at a port where others are, waits
 * for what is not seen.  Who is asked in datagrams keeps no connections: where such a
 * server got more than it answered, its own questions that nobody answers are for that.
 */
#include <sys/socket.h>

#include "waits/engine.h"

/* Asked for a request that came before: the two clocks are TCP's, of a tick each. */
#define ASKED_SLACK_NS 100000000
/* Less at a time is the rounding of ticks. */
#define GIVEN_UP_MIN 0.1

struct owed { double cnt, first_cnt, silent_cnt, asked_cnt; uint64_t oldest_ns; bool datagrams; };

static double window_ns(const struct model *m)
{
	return m->end_ns > m->begin_ns ? (double)(m->end_ns - m->begin_ns) : 1;
}

/* Questions in datagrams that nobody answered until the asker gave up: mean at a time. */
static double given_up(const struct model *m, const struct end *n)
{
	uint32_t res = res_of_end(m, n);
	double avg = (double)n->open_tick_ns / window_ns(m);

	/* who only tells others something keeps his socket; who gives up opens another */
	if (n->conns <= n->turns + n->open_now || n->family == AF_UNIX || res == NO_IDX ||
	    m->res[res].sotype != SOCK_DGRAM || avg < GIVEN_UP_MIN)
		return 0;
	return avg;
}

/* More came there than was answered. */
static bool owes_datagrams(const struct model *m, const struct end *n)
{
	for (uint32_t i = 0; (n->partial_cnt || n->open_now) && i < m->res_cnt; i++) {
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
	return (double)n->stale_cnt + given_up(m, n);
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
		o.silent_cnt += (double)n->stale_silent_cnt;
		o.first_cnt += n->turns ? (double)n->stale_first_cnt : 0;
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

/* Threads that have slept since before the window with a request open: in the causes already. */
static double asleep_cnt(const struct engine *e, uint32_t proc)
{
	const struct model *m = e->m;
	double cnt = 0;

	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		const struct thread *th = &m->threads[t];
		const struct wait *w = &m->waits[th->first_wait];

		if (th->proc == proc && th->wait_len == 1 && (w->flags & WAITF_PENDING) &&
		    (w->flags & WAITF_BEFORE_START) && wait_open(e, w))
			cnt++;
	}
	return cnt;
}

static double unseen_of(const struct engine *e, uint32_t proc, const struct owed *o)
{
	double told = paired(o) + asleep_cnt(e, proc);

	return o->first_cnt > told ? o->first_cnt - told : 0;
}

double unanswered_cnt(const struct engine *e, uint32_t proc)
{
	struct owed o = owed_of(e->m, proc);

	return paired(&o) + unseen_of(e, proc, &o);
}

struct laying { struct engine *e; struct causes *into; uint32_t proc, loop; };

static void lay(const struct laying *k, unsigned kind, uint32_t end, double cnt)
{
	uint32_t res = end != NO_IDX ? res_of_end(k->e->m, &k->e->m->ends[end]) : NO_IDX;
	struct place at = { .entry_proc = k->proc, .entry = k->loop, .via = k->loop,
			    .via_res = NO_IDX, .lock = NO_IDX, .end = end, .depth = 1 };

	if (cnt > 0)
		causes_add_part(k->into, kind, NO_IDX, res, &at,
				cnt * window_ns(k->e->m) * k->e->r->part, cnt * k->e->r->part);
}

void unanswered_lay(struct engine *e, uint32_t proc, uint32_t loop, struct causes *into)
{
	const struct model *m = e->m;
	struct owed o = owed_of(m, proc);
	struct laying k = { e, into, proc, loop };
	double left = paired(&o);

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
