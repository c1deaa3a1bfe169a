/* SPDX-License-Identifier: Apache-2.0 */
/* A service on another host, or a peer on this one, that answers late. */
#include <string.h>

#include "verdict/chain/chain.h"
#include "verdict/context/conversations.h"
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/tail.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/owed.h"
#include "verdict/evidence/pools.h"
#include "verdict/evidence/request_lines.h"
#include "verdict/evidence/unsent.h"
#include "verdict/findings/findings.h"
#include "verdict/findings/next_step.h"

/* ---- demand ---- */

/*
 * The lock was inferred from who wakes whom, and lies between programs that talk by a
 * socket: what looks like a holder is somebody whose answer is waited for.  A lock
 * that was seen is one wherever its holder waits.
 */
static bool awaits_answer(const struct context *k, const struct cause *c, uint32_t peer)
{
	const struct model *m = k->m;
	const struct lock *l = &k->w->locks[c->lock];

	return l->virt && !l->presumed && c->via_res != NO_IDX &&
	       m->res[c->via_res].kind != RES_FUTEX && c->entry_proc != NO_IDX &&
	       strcmp(m->procs[peer].comm, m->procs[c->entry_proc].comm) != 0;
}

static bool ends_in_peer(const struct context *k, const struct cause *c)
{
	uint32_t peer = peer_of_cause(k, c);

	return peer != NO_IDX && c->kind != CAUSE_CLIENT &&
	       (c->lock == NO_IDX || awaits_answer(k, c, peer));
}

static bool claims_external(const struct context *k, const struct cause *c)
{
	if (ends_in_peer(k, c))
		return through_network(k, c);
	return c->kind == CAUSE_EXTERNAL && !on_this_host(k, c);
}

static bool claims_peer(const struct context *k, const struct cause *c)
{
	return c->kind == CAUSE_EXTERNAL || ends_in_peer(k, c);
}

/* ---- evidence ---- */

static bool serves(const struct model *m, uint32_t proc, const struct end *asked)
{
	for (size_t i = 0; i < m->end_cnt; i++) {
		const struct end *n = &m->ends[i];

		if (n->proc == proc && n->role == ROLE_SERVER && n->family == asked->family &&
		    (asked->rport ? n->lport == asked->rport : !strcmp(n->name, asked->name)))
			return true;
	}
	return false;
}

/*
 * Is p the peer, or one of those who answer for it?  A listening socket is
 * often a master's, which itself does nothing: its children accept.
 */
static bool is_of_peer(const struct context *k, uint32_t p, uint32_t peer, const struct end *asked)
{
	const struct proc *a = &k->m->procs[p], *b = &k->m->procs[peer];

	if (p == peer)
		return true;
	/* init is everybody's parent */
	if (!asked || !(a->ppid == b->tgid || b->ppid == a->tgid ||
			(a->ppid == b->ppid && a->ppid > 1)))
		return false;
	return serves(k->m, p, asked);
}

/* The largest kind of cause of a local peer's own demand holds it up. */
static void peer_lines(struct context *k, struct finding *f, uint32_t peer, const struct end *asked)
{
	uint8_t *of_peer = ARENA_ARRAY(k->arena, uint8_t, k->m->proc_cnt);
	double all = 0, by_kind[CAUSE_CNT] = { 0 };
	const struct cause *most[CAUSE_CNT] = { NULL }, *top = NULL;
	const char *where;

	for (uint32_t p = 0; p < k->m->proc_cnt; p++)
		of_peer[p] = is_of_peer(k, p, peer, asked);
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];
		uint32_t p = c->thread != NO_IDX ? k->m->threads[c->thread].proc : NO_IDX;
		bool there = (c->entry_proc != NO_IDX && of_peer[c->entry_proc]) ||
			     (p != NO_IDX && of_peer[p]);

		if (!there || c->kind == CAUSE_IDLE || c->kind == CAUSE_CLIENT)
			continue;
		all += c->ns;
		by_kind[c->kind] += c->ns;
		if (!most[c->kind] || c->ns > most[c->kind]->ns)
			most[c->kind] = c;
		/* a thread for each request makes a cause for each: only their sum tells */
		if (!top || by_kind[c->kind] > by_kind[top->kind])
			top = most[c->kind];
	}
	if (top)
		top = most[top->kind];
	if (!top)
		return;
	where = top->res != NO_IDX && top->kind != CAUSE_TIMER ? k->m->res[top->res].name : "";
	say_figures(k, f, "it is itself held up: {}, {} of its time at work{}{}",
		    N_WORD(cause_words(top->kind)),
		    N_SHARE("peer_held_up", part_of(by_kind[top->kind], all)),
		    N_WORD(*where ? " on " : ""), N_WORD(where));
}

/*
 * What is waited for there before anybody takes the request: the peer's own
 * figure for it, against that of the one who asks.
 */
#define UNTAKEN_MIN_NS 1e6 /* less may be the way there and back */

static void untaken_line(struct context *k, struct finding *f, uint32_t peer, const struct end *n)
{
	double turns = 0, ns = 0, conns = 0, seen = n->turns ? (double)n->service_ns / n->turns : 0;

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *e = &k->m->ends[i];

		if (e->role != ROLE_SERVER || e->proc == NO_IDX || e->family != n->family ||
		    !is_of_peer(k, e->proc, peer, n) ||
		    (n->rport ? e->lport != n->rport : strcmp(e->name, n->name) != 0))
			continue;
		turns += e->turns;
		ns += e->service_ns;
		conns += e->conns;
	}
	/* several at once on one connection are one there */
	if ((double)n->service_ns > conns * k->window_ns)
		return;
	if (turns < 1 || seen < 2 * ns / turns || seen - ns / turns < UNTAKEN_MIN_NS)
		return;
	say_figures(k, f, "it answers {} after it was asked, but works only {} on a request: for "
		    "the rest nobody there takes it (too few workers?)",
		    N_NS("peer_answers_after", seen), N_NS("peer_works", ns / turns));
}

/*
 * Where the peer is asked, by the conversations: another thread of ours
 * may have asked than the one that waits, and that one waits for no socket.
 */
static const struct end *asked_at(const struct context *k, const struct proc *peer)
{
	const struct end *best = NULL;

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role == ROLE_CLIENT && proc_is_target(k->m, n->proc) &&
		    n->peer_tgid == peer->tgid && (!best || n->turns > best->turns))
			best = n;
	}
	return best;
}

/* A loop that asks and waits for the answer there and then serves nobody meanwhile. */
static void blocking_line(struct context *k, struct finding *f, const struct cause *c)
{
	uint32_t t = c->via != NO_IDX ? c->via : c->thread;
	uint32_t res = c->via != NO_IDX ? c->via_res : c->res;
	const struct res *r = res != NO_IDX ? &k->m->res[res] : NULL;

	if (t == NO_IDX || !thread_is_target(k->m, t) || !r || r->kind != RES_SOCKET ||
	    k->w->threads[t].role != ROLE_T_LOOP)
		return;
	say(k, f, "%s waits for these answers in its event loop, which serves nobody meanwhile",
	    thread_label(k, t));
}

/* Waits of the target for whatever files that process serves: each may be for another. */
static void served_line(struct context *k, struct finding *f, uint32_t server)
{
	const struct model *m = k->m;
	uint64_t cnt = 0, ns = 0, max_ns = 0;

	for (size_t i = 0; i < m->pair_cnt; i++) {
		const struct pair *p = &m->pairs[i];

		if (p->waker == NO_IDX || m->threads[p->waker].proc != server ||
		    !thread_is_target(m, p->thread) || p->res == NO_IDX ||
		    m->res[p->res].kind != RES_FILE)
			continue;
		cnt += p->cnt;
		ns += p->ns;
		max_ns = p->max_ns > max_ns ? p->max_ns : max_ns;
	}
	if (cnt)
		say_figures(k, f, "{} waits for files that it serves, mean {}, longest {}",
			    N_CNT("waits", cnt), N_NS("mean", (double)ns / cnt),
			    N_NS("longest", max_ns));
}

/* n: the conversation with it, NULL none. */
static const char *unknown_peer_text(struct context *k, const struct finding *f,
				     const struct end *n)
{
	if (n && is_refused(n))
		return arena_printf(k->arena, "Nobody takes its connections at %s: they are "
				    "refused, and it tries again after a pause.", n->name);
	return arena_printf(k->arena, "It waits for answers from %s%s.",
			    f->resource[0] ? f->resource : n ? n->name : "a peer",
			    f->cls == FIND_PEER ? ", on this host" : "");
}

/* Counts of the conversation with it. */
static void conversation_lines(struct context *k, struct finding *f, const struct end *n)
{
	if (n->turns)
		say_figures(k, f, "{} requests sent to {}: mean answer after {}, longest {}",
			    N_CNT("requests_sent", n->turns), N_WORD(n->name),
			    N_NS("mean", (double)n->service_ns / n->turns),
			    N_NS("longest", n->answer_max_ns));
	if (n->refused_cnt)
		say_figures(k, f, "{} connections to {} were refused",
			    N_CNT("connections_refused", n->refused_cnt), N_WORD(n->name));
	unanswered_line(k, f, n);
	if (held_conns(k, n) >= 1)
		say_figures(k, f, "on {} connections to it the end of what was asked lay unsent at "
			    "both ends of the watch, kept back until what came before is "
			    "acknowledged (Nagle's algorithm): TCP_NODELAY is not set here",
			    N_CNT("connections_kept_back", held_conns(k, n)));
	if (n->open_now)
		say_figures(k, f, "{} requests unanswered at the end, the oldest for {}",
			    N_CNT("unanswered", n->open_now), N_NS("oldest", n->open_oldest_ns));
}

/* It sleeps in open() of a FIFO: such a wait has no resource yet. */
static bool opens_fifo_at(const struct context *k, const struct cause *c)
{
	for (size_t i = 0; c->res == NO_IDX && i < k->m->pair_cnt; i++) {
		const struct pair *p = &k->m->pairs[i];

		if (p->thread == c->thread && p->cls == WAIT_PIPE && p->res == NO_IDX && !p->op)
			return true;
	}
	return false;
}

static void fifo_words(struct context *k, struct finding *f, uint32_t t)
{
	f->res_kind = "pipe";
	f->resource = "a FIFO";
	f->summary = arena_printf(k->arena, "%s opens a FIFO that nobody has open at the other "
				  "end, and sleeps until somebody does.", thread_label(k, t));
}

static void explain_far(struct context *k, struct finding *f, const struct cand *c)
{
	const struct proc *p = c->peer != NO_IDX ? &k->m->procs[c->peer] : NULL;
	const struct end *n = c->end != NO_IDX ? &k->m->ends[c->end] : p ? asked_at(k, p) : NULL;
	const char *name = n ? n->name : "a peer";

	if (c->top && !n)
		name_res(k, f, c->top->via_res != NO_IDX ? c->top->via_res : c->top->res);
	if (n) {
		f->resource = n->name;
		f->res_kind = "socket";
	}
	if (p)
		f->culprit = (struct party){ .pid = p->tgid, .comm = p->comm };
	if (f->cls == FIND_PEER && p) {
		bool file = !n && strcmp(f->res_kind, "file") == 0;

		f->summary = arena_printf(k->arena, "It waits for %s (pid %u) on this host%s%s.",
					  p->comm, p->tgid,
					  n ? " at " : file ? ", which serves the file " : "",
					  n ? name : file ? f->resource : "");
		if (file)
			served_line(k, f, c->peer);
		peer_lines(k, f, c->peer, n);
		if (n)
			untaken_line(k, f, c->peer, n);
	} else if (strcmp(f->res_kind, "file") == 0) {
		f->summary = arena_printf(k->arena, "It waits for the file %s, which no disk of "
					  "this host serves.", f->resource);
		waits_line(k, f, c->top->thread, c->top->res);
	} else {
		f->summary = unknown_peer_text(k, f, n);
		if (p)
			say(k, f, "at that address, on this host: %s (pid %u)", p->comm, p->tgid);
	}
	if (c->top && !n && !p && opens_fifo_at(k, c->top))
		fifo_words(k, f, c->top->thread);
	if (c->top && sleeps_in_program(k, c->top))
		say(k, f, "it is a program that is run for a request, and sleeps");
	pool_line(k, f);
	if (c->top)
		blocking_line(k, f, c->top);
	if (n)
		conversation_lines(k, f, n);
}

static void fifo_step(struct context *k, struct finding *f, const struct cand *c)
{
	struct step *s = &f->chain[f->chain_len - 1];

	if (!c->top || c->end != NO_IDX || c->peer != NO_IDX || !opens_fifo_at(k, c->top))
		return;
	s->doing = "waits until somebody opens the other end of";
	s->resource = f->resource;
	s->res_kind = f->res_kind;
}

static void far_step(struct context *k, struct finding *f, const struct cand *c)
{
	const struct end *n = c->end != NO_IDX ? &k->m->ends[c->end] : NULL;
	struct step *s;

	if (!n)
		return;
	s = step_add(k, f, f->share);
	s->role = "remote service";
	s->resource = n->name;
	s->res_kind = "socket";
	s->doing = n->turns ? arena_printf(k->arena, "answers after %s on average",
					   ns_text(k, (double)n->service_ns / n->turns)) :
			      "has not answered";
}

/* ---- what is missing, what to do, stalls ---- */

/* A peer was asked something, and on this host is seen itself. */
static void lacks_peer(struct context *k, struct finding *f, const struct cand *c)
{
	const struct end *n = c->end != NO_IDX ? &k->m->ends[c->end] : NULL;
	bool seen = false;

	if (!n && c->peer == NO_IDX)
		lack(k, f, 1, "who is at the other end is not known");
	else if (n && !n->turns && !n->open_now && !n->stale_cnt && !n->refused_cnt)
		lack(k, f, 1, "no request to it was seen");
	for (uint32_t t = 0; t < k->m->thread_cnt && f->cls == FIND_PEER; t++)
		seen |= c->peer != NO_IDX && k->m->threads[t].proc == c->peer &&
			k->m->threads[t].tracked;
	if (f->cls == FIND_PEER && !seen && !(n && is_refused(n)))
		lack(k, f, 1, "what it does meanwhile was not seen");
}

static const char *next_far(struct context *k, const struct finding *f, const struct cand *c)
{
	const struct end *n = c && c->end != NO_IDX ? &k->m->ends[c->end] : NULL;
	const char *after = "";

	if (n && n->turns)
		after = arena_printf(k->arena, ": it answers after %s",
				     ns_text(k, (double)n->service_ns / (double)n->turns));
	if (c && c->top && sleeps_in_program(k, c->top))
		return arena_printf(k->arena, "shorten the sleep of %s%s, which is run for each "
				    "request, or do without it", step_who(k, f, "the program"),
				    step_place(k, f));
	if (f->culprit.pid)
		return arena_printf(k->arena, "find out what holds %s up (heldup why -p %u)%s",
				    f->culprit.comm, f->culprit.pid, after);
	if (n && is_refused(n))
		return arena_printf(k->arena, "start what should listen at %s; here, give up "
				    "sooner while nobody does", step_what(f, "the other end"));
	if (c && c->top && !n && opens_fifo_at(k, c->top))
		return "open files with O_NONBLOCK and take no FIFO for a file; or find out who "
		       "should have it open at the other end";
	return arena_printf(k->arena, "find out at %s what holds it up; here, ask it less often or "
			    "set a timeout%s", step_what(f, "the other end"), after);
}

static const char *far_stall(struct context *k, const struct cand *c, const struct stall_finding *s)
{
	const struct party *p = &s->f.culprit;
	const char *name = *s->f.resource ? s->f.resource : "a peer";

	(void)c;
	if (p->pid)
		return arena_printf(k->arena, "waits for an answer from %s (%s, pid %u)", name,
				    p->comm, p->pid);
	return arena_printf(k->arena, "waits for an answer from %s", name);
}

#define PEER_REFUTED "the peer answers as fast as it is asked, measured at the peer itself"

const struct finding_def finding_external = {
	.cls = FIND_EXTERNAL,
	.name = "external",
	.title = "slow external service",
	.carrier = CARRIER_PEER,
	.claims = claims_external,
	.explain = explain_far,
	.refuted_if = PEER_REFUTED,
	.chain_end = far_step,
	.lacks = lacks_peer,
	.next_step = next_far,
	.stall_words = far_stall,
	.not_its_own = true,
	.may_be_work = true,
	.keeps_lines = true,
};

const struct finding_def finding_peer = {
	.cls = FIND_PEER,
	.name = "peer",
	.title = "slow local peer",
	.carrier = CARRIER_PEER,
	.claims = claims_peer,
	.explain = explain_far,
	.refuted_if = PEER_REFUTED,
	.chain_end = fifo_step,
	.lacks = lacks_peer,
	.next_step = next_far,
	.stall_words = far_stall,
	.not_its_own = true,
	.may_be_work = true,
	.keeps_lines = true,
};
