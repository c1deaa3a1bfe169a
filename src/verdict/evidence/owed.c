/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that answers nothing while clients wait.  No wait ends in the
 * window, so no waker is known: what its threads sleep on is all there is.
 * And its opposite, a server that answers nothing since nobody asks.
 */
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "verdict/context/figures.h"
#include "verdict/context/context.h"

/* Connections that wait for an answer, lie unread or are not accepted, at the end. */
static uint32_t owed(const struct court *k)
{
	uint32_t cnt = 0;

	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *c = &k->m->conns_last[i];
		uint32_t p = model_proc_by_tgid(k->m, c->tgid);

		if (p != NO_IDX && k->m->procs[p].target && c->role == ROLE_SERVER)
			cnt += c->owe_reply > c->unread_conns ? c->owe_reply : c->unread_conns;
	}
	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		uint32_t p = model_proc_by_tgid(k->m, k->m->listens[i].e.tgid);

		if (p != NO_IDX && k->m->procs[p].target)
			cnt += k->m->listens[i].backlog_avg;
	}
	return cnt;
}

/* Requests that hang through the window for what was not seen: see waits/idle/unanswered.c. */
static uint32_t hung_cnt(const struct court *k)
{
	double cnt = 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->kind == CAUSE_UNSEEN && c->thread == NO_IDX && c->entry_proc != NO_IDX &&
		    k->m->procs[c->entry_proc].target)
			cnt += (double)c->cnt;
	}
	return (uint32_t)(cnt + 0.5);
}

/*
 * Nothing was answered in the whole window though clients wait, or to those: whatever
 * the sums say, that is not health.  One client may owe us the next word; two
 * hardly do at the same time.
 */
bool is_hung(const struct court *k)
{
	return (k->turns < 1 && owed(k) >= 2) || hung_cnt(k) >= 2;
}

bool is_owed(const struct court *k)
{
	const struct wreq *q = &k->w->total;

	return q->owed_cnt ||
	       (q->open_oldest_ns > q->p99_ns && q->open_oldest_ns >= WAITS_STALL_NS);
}

void owed_line(struct court *k, struct finding *f)
{
	const struct wreq *q = &k->w->total;

	if (q->owed_cnt)
		say_figures(k, f, "{} connection{} said something before the watch began and got "
			    "no answer since, the oldest for {}: a request that hangs, one that "
			    "waits for news, or a message that asks for no answer",
			    N_CNT("connections_owed", q->owed_cnt),
			    N_WORD(q->owed_cnt == 1 ? "" : "s"),
			    N_NS("oldest", q->stale_oldest_ns));
	else if (is_owed(k))
		say_figures(k, f, "at the end a request was open for {} already, longer than the "
			    "p99", N_NS("oldest", q->open_oldest_ns));
}

void unanswered_line(struct court *k, struct finding *f, const struct end *n)
{
	if (n->conns > 2 * n->turns + n->open_now && n->open_tick_ns > n->service_ns)
		say_figures(k, f, "of {} sockets that asked there {} got an answer; {} questions "
			    "were open at a time", N_CNT("asked", n->conns),
			    N_CNT("answered", n->turns),
			    N_AVG("open_requests", (double)n->open_tick_ns / k->window_ns));
	if (n->stale_cnt)
		say_figures(k, f, "{} connection{} to it asked before the watch began and got no "
			    "answer since, the oldest for {}",
			    N_CNT("connections_owed", n->stale_cnt),
			    N_WORD(n->stale_cnt == 1 ? "" : "s"),
			    N_NS("oldest", n->stale_oldest_ns));
}

static bool is_targets(const struct court *k, uint32_t tgid)
{
	uint32_t p = model_proc_by_tgid(k->m, tgid);

	return p != NO_IDX && k->m->procs[p].target;
}

static bool is_datagram(const struct court *k, uint32_t res)
{
	return res != NO_IDX && k->m->res[res].kind == RES_SOCKET &&
	       k->m->res[res].sotype == SOCK_DGRAM;
}

/* Requests in datagrams are not counted as such. */
static bool hears_datagrams(const struct court *k)
{
	for (size_t i = 0; i < k->m->wait_cnt; i++) {
		const struct wait *w = &k->m->waits[i];

		if ((is_datagram(k, w->res) || is_datagram(k, w->first_io)) &&
		    thread_is_target(k->m, w->thread))
			return true;
	}
	return false;
}

/*
 * It listens, nobody said a word to it, and it asked nobody.  One that only
 * fetches its work elsewhere has a conversation there.
 */
static bool is_unasked(const struct court *k)
{
	bool listens = false;

	for (size_t i = 0; i < k->m->listen_cnt; i++)
		listens |= is_targets(k, k->m->listens[i].e.tgid);
	for (size_t i = 0; i < k->m->end_cnt; i++) {
		uint32_t p = k->m->ends[i].proc;

		if (p != NO_IDX && k->m->procs[p].target)
			return false;
	}
	return listens && k->w->demand_kind == 2 && !owed(k) && !hears_datagrams(k);
}

/*
 * The threads of a server that nobody asks sleep until their next housekeeping,
 * and wake each other to find that there is nothing to do.  With no request
 * there is nobody whom that holds up.
 */
void weigh_unasked(struct court *k)
{
	if (!is_unasked(k))
		return;
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];
		unsigned cls = finding_of_cause(k, c);

		if (c->entry_proc == NO_IDX || !k->m->procs[c->entry_proc].target)
			continue;
		if (cls != FIND_TIMER && !(c->kind == CAUSE_CYCLE && c->lock == NO_IDX))
			continue;
		k->cand[cls].ns -= c->ns;
		k->cand[FIND_HEALTHY].ns += c->ns;
	}
	k->unasked = true;
}

struct asleep { uint32_t res, cnt, thread; uint64_t ns; };

/* The resource of this class that most of the target's threads still sleep on. */
static struct asleep most_asleep(const struct court *k, unsigned cls)
{
	struct asleep best = { .res = NO_IDX, .thread = NO_IDX };
	struct hmap cnt = { 0 };

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const struct thread *th = &k->m->threads[t];
		const struct wait *w;
		uint64_t *slot;

		if (!th->wait_len || !thread_is_target(k->m, t))
			continue;
		w = &k->m->waits[th->first_wait + th->wait_len - 1];
		if (!(w->flags & WAITF_PENDING) || w->cls != cls || w->res == NO_IDX)
			continue;
		slot = hmap_slot(&cnt, w->res);
		if (++*slot > best.cnt)
			best = (struct asleep){ w->res, *slot, t,
					       w->real_end_ns - w->real_off_ns };
	}
	hmap_release(&cnt);
	return best;
}

static struct finding *candidate(struct verdict *v, unsigned cls)
{
	struct finding *f = &v->candidates[v->candidate_cnt++];

	*f = (struct finding){ .cls = cls, .summary = "", .resource = "",
			       .res_kind = "", .culprit = { .comm = "" } };
	return f;
}

static void futex_candidate(struct court *k, struct verdict *v)
{
	struct asleep a = most_asleep(k, WAIT_FUTEX);
	struct finding *f;

	if (a.res == NO_IDX)
		return;
	f = candidate(v, FIND_LOCK_HELD);
	f->resource = k->m->res[a.res].name;
	f->res_kind = res_kind_name(k->m->res[a.res].kind);
	f->summary = arena_printf(k->arena, "%u threads sleep on %s and nobody wakes them: a lock "
				  "or a condition that is never met.", a.cnt, f->resource);
	say_figures(k, f, "one of them is {}, asleep for {} at least",
		    N_WORD(thread_label(k, a.thread)), N_NS("asleep", a.ns));
	refute(k, f, "these threads are an idle pool, and others should have answered");
}

/* Someone else who was asked and has not answered. */
static void asked_candidate(struct court *k, struct verdict *v)
{
	const struct ev_conn *best = NULL;
	struct finding *f;

	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *c = &k->m->conns_last[i];
		uint32_t p = model_proc_by_tgid(k->m, c->tgid);

		if (p != NO_IDX && k->m->procs[p].target && c->role == ROLE_CLIENT &&
		    c->await_reply && (!best || c->await_reply > best->await_reply))
			best = c;
	}
	if (!best)
		return;
	f = candidate(v, FIND_EXTERNAL);
	for (size_t i = 0; i < k->m->end_cnt; i++) {
		if (k->m->ends[i].role == ROLE_CLIENT && k->m->ends[i].rport == best->rport)
			f->resource = k->m->ends[i].name;
	}
	f->res_kind = "socket";
	f->summary = arena_printf(k->arena, "%u connections to port %u%s%s wait for an answer, the "
				  "oldest for %s.", best->await_reply, best->rport,
				  *f->resource ? ", " : "", f->resource,
				  ns_text(k, best->oldest_await_ms * 1e6));
	refute(k, f, "that service owes no answer: it was told something, not asked");
}

static void workers_candidate(struct court *k, struct verdict *v)
{
	struct finding *f = candidate(v, FIND_WORKERS);

	f->resource = "worker pool";
	f->summary = "The threads that should answer are all held elsewhere, or gone.";
	say_figures(k, f, "{} connections wait for an answer", N_CNT("connections_owed", owed(k)));
	refute(k, f, "a thread that takes requests is idle");
}

void hung_explain(struct court *k, struct verdict *v)
{
	struct finding *f = &v->findings[v->finding_cnt - 1];

	f->summary = k->turns < 1 ?
		arena_printf(k->arena, "It answered nothing while it was watched, and %u "
			     "connections wait; what for was not seen.", owed(k)) :
		arena_printf(k->arena, "%u connections never got an answer, since before the watch "
			     "began, while others do; what for they wait was not seen.",
			     hung_cnt(k));
	v->candidates = ARENA_ARRAY(k->arena, struct finding, 3);
	asked_candidate(k, v);
	futex_candidate(k, v);
	if (v->candidate_cnt < 2)
		workers_candidate(k, v);
}
