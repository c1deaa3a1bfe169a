/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: one that is held too long, and one that is held shortly but wanted all the time. */
#include <string.h>

#include "base/alike.h"
#include "verdict/chain/chain.h"
#include "verdict/context/conversations.h"
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/tail.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/cpu_users.h"
#include "verdict/evidence/forks.h"
#include "verdict/evidence/lock_facts.h"
#include "verdict/evidence/whose_request.h"
#include "verdict/findings/findings.h"
#include "verdict/findings/next_step.h"

/* A hold shorter than this does no harm alone: it takes many users to wait long for it. */
#define HELD_MIN_NS 1000000

/*
 * Held too long: one thread has it half of the time and long at a time, or
 * any holder keeps it long.  Else many want it for a short time each.  Where
 * several have it at once it is no lock but a limit on how many may pass.
 */
unsigned lock_finding(const struct context *k, uint32_t lock)
{
	const struct lock *l;
	uint64_t mean;

	if (lock == NO_IDX)
		return FIND_LOCK_HELD;
	if (lock_is_limit(k, lock))
		return FIND_CONN_LIMIT;
	l = &k->w->locks[lock];
	mean = l->busy_ns / (l->wait_cnt > l->pending_cnt ? l->wait_cnt - l->pending_cnt : 1);
	if (mean >= HELD_MIN_NS || (l->hold_ns >= HELD_MIN_NS && l->holder_ns * 2 >= l->busy_ns))
		return FIND_LOCK_HELD;
	return FIND_LOCK_CONVOY;
}

static bool ends_at_lock(const struct context *k, const struct cause *c)
{
	switch (c->kind) {
	case CAUSE_CYCLE:
		/* threads that wake each other from epoll, as the schedulers of a VM do */
		return c->lock != NO_IDX || c->res == NO_IDX || k->m->res[c->res].kind == RES_FUTEX;
	case CAUSE_KLOCK:
	case CAUSE_LOCK:
		return true;
	default:
		return c->lock != NO_IDX && !computes_for_holders(k, c);
	}
}

static bool claims_held(const struct context *k, const struct cause *c)
{
	return ends_at_lock(k, c) && lock_finding(k, c->lock) == FIND_LOCK_HELD;
}

static bool claims_convoy(const struct context *k, const struct cause *c)
{
	return ends_at_lock(k, c) && lock_finding(k, c->lock) == FIND_LOCK_CONVOY;
}

/* The peer's socket that the holder waits at for most of the time that it holds, NO_IDX none. */
static uint32_t asked_meanwhile(const struct model *m, const struct lock *l)
{
	const struct pair *best = NULL;
	uint64_t ns = 0;

	for (size_t i = 0; i < m->pair_cnt; i++) {
		const struct pair *p = &m->pairs[i];

		if (p->thread != l->holder || p->res == NO_IDX ||
		    (p->cls != WAIT_SOCKET && p->cls != WAIT_POLL) ||
		    m->res[p->res].kind != RES_SOCKET || m->res[p->res].role != ROLE_CLIENT)
			continue;
		ns += p->ns; /* each time it may be another socket */
		best = !best || p->ns > best->ns ? p : best;
	}
	return best && 2 * ns >= l->holder_ns ? best->res : NO_IDX;
}

/* Before the name of a resource. */
static const char asks[] = "has the lock, and waits for an answer from";

/* "10.0.0.1:25", and the process there where it is known. */
static const char *asked_text(struct context *k, uint32_t res)
{
	uint32_t e = end_of_res(k->m, res);
	uint32_t tgid = e != NO_IDX ? k->m->ends[e].peer_tgid : 0;
	uint32_t p = tgid ? model_proc_by_tgid(k->m, tgid) : NO_IDX;

	if (p == NO_IDX)
		return k->m->res[res].name;
	return arena_printf(k->arena, "%s (pid %u) at %s", k->m->procs[p].comm, tgid,
			    k->m->ends[e].name);
}

/* ", let go in unlock", and what is known of a holder that did not let go. */
static const char *held_words(struct context *k, const struct cand *c, const struct lock *l)
{
	const char *at = site_text(k, &l->release, 1), *in = site_text(k, &l->held_in, 1);
	uint32_t asked = asked_meanwhile(k->m, l);

	if (c->top && holder_waits(k, c->top, l))
		return arena_printf(k->arena, " and waits for %s,",
				    thread_label(k, c->top->thread));
	if (!l->presumed && asked != NO_IDX && c->top && c->top->thread == l->holder)
		return arena_printf(k->arena, " while it waits for %s,", asked_text(k, asked));
	if (!l->presumed)
		return *at ? arena_printf(k->arena, ", let go in %s,", at) : "";
	if (c->top && c->top->kind == CAUSE_CLIENT)
		return " and waits for its client,";
	if (*in)
		return arena_printf(k->arena, " and %s in %s,", c->top &&
				    c->top->kind == CAUSE_TIMER ? "sleeps" : "waits", in);
	return "";
}

/* Any of several sessions may have it, in an open transaction: whose they are. */
static void say_candidates(struct context *k, struct finding *f, const struct lock *l)
{
	say(k, f, "nobody let go while it was watched, and %u sessions wait for their clients: one "
	    "of them may have it, in an open transaction", l->may_hold_cnt);
	for (uint32_t i = 0; i < l->may_hold_cnt && i < LOCK_MAY_HOLD_MAX; i++) {
		const char *whose = whose_request(k, l->may_hold[i]);

		say(k, f, "it may be %s%s%s", thread_label(k, l->may_hold[i]),
		    *whose ? ", which serves " : "", whose);
	}
}

static void explain_lock(struct context *k, struct finding *f, const struct cand *c)
{
	const struct lock *l = c->lock != NO_IDX ? &k->w->locks[c->lock] : NULL;
	const char *did, *name, *whose;
	double share;

	if (!l) {
		f->summary = "Threads wait for a lock; its holder was not seen.";
		return;
	}
	name = site_text(k, &l->site, 1);
	name = *name ? arena_printf(k->arena, "a lock in %s", name) : "a lock";
	name_res(k, f, l->res);
	if (*lock_name(k, l))
		f->resource = lock_name(k, l);
	if (l->holder == NO_IDX) {
		f->summary = arena_printf(k->arena, "%u threads wait for %s; who holds it was not "
					  "seen.", l->waiter_cnt, name);
	} else {
		f->culprit = party_of(k->m, end_of_line(k, c));
		f->summary = f->cls == FIND_LOCK_HELD ?
			arena_printf(k->arena, "%s holds %s%s up to %s at a time; %u threads wait "
				     "for it.", thread_label(k, end_of_line(k, c)), name,
				     held_words(k, c, l), ns_text(k, l->hold_ns), l->waiter_cnt) :
			arena_printf(k->arena, "%u threads queue for %s, held only %s at a time "
				     "but wanted all the time.", l->waiter_cnt, name,
				     ns_text(k, l->hold_ns));
	}
	say_figures(k, f, "{} waits, {} in all, longest {}; {} threads waiting on average while "
		    "anyone did", N_CNT("waits", l->wait_cnt), N_NS("waited", l->wait_ns),
		    N_NS("longest", l->max_ns), N_AVG("waiting_threads", l->avg_waiters));
	if (l->presumed && l->holder == NO_IDX) {
		say_candidates(k, f, l);
	} else if (l->presumed) {
		say(k, f, c->top && c->top->kind == CAUSE_CLIENT ?
		    "nobody let go while it was watched: the holder is the only session that "
		    "waits for its client" :
		    "nobody let go while it was watched: the holder is the one that stopped "
		    "first, before the others");
		refute(k, f, "the others go on while this one still sleeps: watch for longer (-d)");
	} else if (l->virt)
		say_figures(k, f, "each waiter sleeps on something of its own ({} of them): the "
			    "lock is inferred from who wakes whom",
			    N_CNT("waited_for", l->res_cnt));
	say_figures(k, f, "the lock was waited for {} of the time; {} threads held it meanwhile",
		    N_SHARE("time_waited_for", part_of(l->busy_ns, k->window_ns)),
		    N_CNT("holders", l->holder_cnt));
	whose = l->holder == NO_IDX ? "" : whose_request(k, end_of_line(k, c));
	if (*whose)
		say(k, f, "%s, which has it, serves %s", thread_label(k, end_of_line(k, c)),
		    whose);
	did = holders_mostly(l, &share);
	if (did)
		say_figures(k, f, "holders were {} {} of that time", N_WORD(did),
			    N_SHARE("holders_did", share));
	if (l->pending_cnt)
		say_figures(k, f, "{} threads still waited when the watch ended",
			    N_CNT("waiting_at_end", l->pending_cnt));
}

static void refute_lock(struct context *k, struct finding *f, const struct cand *c)
{
	if (c->lock != NO_IDX)
		refute(k, f, "the wakers were not the holders: a hand-off (condition variable) "
		       "that looks like a lock");
}

/* The holder of a lock that the chain ends at, and what it does meanwhile. */
static void holder_step(struct context *k, struct finding *f, const struct cand *c)
{
	const struct lock *l = c->lock != NO_IDX ? &k->w->locks[c->lock] : NULL;
	uint32_t asked;
	const char *did;
	struct step *s;

	if (!l || l->holder == NO_IDX || l->presumed ||
	    (c->top->kind != CAUSE_LOCK && c->top->kind != CAUSE_CYCLE))
		return;
	did = holders_did(k, l);
	if (!did)
		return;
	s = step_thread(k, f, l->holder, f->share);
	asked = asked_meanwhile(k->m, l);
	if (asked != NO_IDX) {
		s->doing = asks;
		s->does = STEP_WAITS;
		step_res(k, s, asked);
		return;
	}
	s->doing = arena_printf(k->arena, "has the lock: %s", did);
	s->does = STEP_RUNS;
	for (unsigned i = 0; i < ST_CNT; i++) {
		if (l->holder_st[i] > l->holder_st[ST_RUN])
			s->does = STEP_OTHER; /* its waits may be for the lock as well */
	}
}

/* The process that is asked by the one who has the lock: it keeps the lock, too. */
static void asked_step(struct context *k, struct finding *f, const struct cand *c)
{
	const struct lock *l = c->lock != NO_IDX ? &k->w->locks[c->lock] : NULL;
	const struct step *last = f->chain_len ? &f->chain[f->chain_len - 1] : NULL;
	uint32_t asked = l && l->holder != NO_IDX ? asked_meanwhile(k->m, l) : NO_IDX;
	uint32_t e = asked != NO_IDX ? end_of_res(k->m, asked) : NO_IDX, p;
	const struct end *n;
	struct step *s;

	if (e == NO_IDX || !last || last->thread != l->holder)
		return;
	n = &k->m->ends[e];
	p = n->peer_tgid ? model_proc_by_tgid(k->m, n->peer_tgid) : NO_IDX;
	s = step_add(k, f, f->share);
	s->role = p != NO_IDX ? "peer" : "remote service";
	s->resource = n->name;
	s->res_kind = "socket";
	s->doing = "is waited for by the one that has the lock";
	if (p != NO_IDX)
		s->who = (struct party){ .pid = n->peer_tgid, .comm = k->m->procs[p].comm };
}

/* The lock is but a link where its holder waits for another process itself. */
static void lacks_end(struct context *k, struct finding *f, const struct lock *l)
{
	const struct step *s = f->chain_len ? &f->chain[f->chain_len - 1] : NULL;
	uint32_t p = s && s->who.pid ? model_proc_by_tgid(k->m, s->who.pid) : NO_IDX;

	if (p != NO_IDX && !k->m->procs[p].target && thread_is_target(k->m, l->holder))
		lack(k, f, 1, "its holder waits for %s (pid %u) itself", s->who.comm, s->who.pid);
}

/* Then it is not the lock that takes the time, but the CPU that its holders wait for. */
static bool holders_queued(const struct lock *l)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < ST_CNT; i++)
		all += l->holder_st[i];
	return 2 * l->holder_st[ST_RUNQ] > all;
}

static void lacks_holder(struct context *k, struct finding *f, const struct cand *c)
{
	const struct lock *l = c->lock != NO_IDX ? &k->w->locks[c->lock] : NULL;

	if (c->by_run) {
		lack(k, f, 1, "no lock was seen: its holder is inferred from what runs in the "
		     "stalls");
		return;
	}
	/* few waits make no lock, but say who ended them */
	if (!l && c->top && c->top->depth && c->top->thread != NO_IDX)
		return;
	if (!l || l->holder == NO_IDX) {
		lack(k, f, 2, "its holder was not seen");
		return;
	}
	if (l->presumed)
		lack(k, f, 1, "nobody let go of it: its holder is inferred from who stopped first");
	else if (holders_queued(l))
		lack(k, f, 1, "who has it mostly waits for a CPU");
	else if (l->virt)
		lack(k, f, 1, "no common lock was seen: it is inferred from who wakes whom");
	lacks_end(k, f, l);
}

static const struct lock *lock_of(const struct context *k, const struct cand *c)
{
	return c && c->lock != NO_IDX ? &k->w->locks[c->lock] : NULL;
}

static const char *next_lock(struct context *k, const struct finding *f, const struct cand *c)
{
	const struct lock *l = lock_of(k, c);
	const struct step *s = f->chain_len ? &f->chain[f->chain_len - 1] : NULL;
	const char *did = l ? holders_did(k, l) : NULL;

	/* behind the one who has it may stand who is asked */
	if (s && s->who.tid != f->culprit.tid && f->chain_len > 1)
		s--;
	/* what the one who is named does says more than what all holders did */
	if (f->cls == FIND_LOCK_HELD && s && s->does != STEP_OTHER &&
	    s->who.tid == f->culprit.tid && s->who.tid)
		return arena_printf(k->arena, "have %s let go of %s sooner: it %s%s%s%s",
				    step_who(k, f, "its holder"), step_what(f, "the lock"),
				    s->doing, s->doing == asks ? " " : "",
				    s->doing == asks ? s->resource : "",
				    step_place(k, f));
	if (f->cls == FIND_LOCK_HELD)
		return arena_printf(k->arena, "have %s let go of %s sooner%s%s%s",
				    step_who(k, f, "its holder"), step_what(f, "the lock"),
				    step_place(k, f), did ? ": holders were " : "", did ? did : "");
	if (!l)
		return "take the lock less often, or split it";
	return arena_printf(k->arena, "take %s less often or split it: it is wanted %.0f times a "
			    "second and kept %s each time", step_what(f, "the lock"),
			    (double)l->wait_cnt / (k->window_ns / 1e9),
			    ns_text(k, (double)l->hold_ns));
}

/* One that serves requests itself, as the waiter does. */
static bool is_sibling(const struct context *k, uint32_t a, uint32_t b)
{
	const struct model *m = k->m;

	return a != NO_IDX && b != NO_IDX && a != b && k->w->threads[a].role == ROLE_T_ENTRY &&
	       k->w->threads[b].role == ROLE_T_ENTRY &&
	       named_alike(m->threads[a].comm, m->threads[b].comm);
}

/*
 * Requests wake t to have something done.  One that they wait for and never ask has
 * something that they want.
 */
#define ASKED_MIN 0.5 /* of its wakings */

static bool is_asked(const struct context *k, uint32_t t)
{
	double all = 0, asked = 0;

	for (size_t i = 0; i < k->m->pair_cnt; i++) {
		const struct pair *p = &k->m->pairs[i];
		unsigned role = p->waker != NO_IDX ? k->w->threads[p->waker].role : ROLE_T_NONE;

		if (p->thread != t)
			continue;
		all += (double)p->cnt;
		if (role == ROLE_T_ENTRY || role == ROLE_T_LOOP)
			asked += (double)p->cnt;
	}
	return asked >= ASKED_MIN * all && asked > 0;
}

/* A thread of the process of those that wait, which no other rule blames for it. */
static bool is_holder(const struct context *k, const struct cause *x)
{
	const struct model *m = k->m;

	if (is_sibling(k, x->entry, x->thread))
		return true;
	return x->entry != NO_IDX && x->thread != NO_IDX && x->entry != x->thread &&
	       m->threads[x->thread].tracked &&
	       m->threads[x->thread].proc == m->threads[x->entry].proc &&
	       k->w->threads[x->entry].role == ROLE_T_ENTRY && !is_asked(k, x->thread) &&
	       !never_rests(&m->threads[x->thread]);
}

/*
 * What passes from one request thread to its like is a lock, too few as the waits may
 * be to tell one by their sums; the holder may compute, sleep or wait for its client.
 */
static void weigh_holders(struct context *k, const struct stall_group *g)
{
	struct cand *c = &k->cand[FIND_LOCK_HELD];

	(void)g;
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *x = &k->w->causes[i];
		unsigned cls = cause_finding(k, x);

		if (!x->depth || !is_holder(k, x) || !finding_def(cls)->is_held)
			continue;
		k->cand[cls].ns -= (double)x->ns;
		c->ns += (double)x->ns;
		if (!c->top || (double)x->ns > c->top_ns) {
			c->top = x;
			c->top_ns = (double)x->ns;
		}
	}
}

static const char *lock_words(struct context *k, const struct cand *c,
			      const struct stall_finding *s)
{
	const struct party *p = &s->f.culprit;

	(void)c;
	if (!p->pid)
		return "a lock whose holder was not seen";
	if (p->tid == p->pid)
		return arena_printf(k->arena, "%s (pid %u) holds a lock%s", p->comm, p->pid,
				    in_function(k, s, " in"));
	return arena_printf(k->arena, "%s (tid %u of pid %u) holds a lock%s", p->comm, p->tid,
			    p->pid, in_function(k, s, " in"));
}

/* The end of the chain has the lock, not who handed it on most often. */
static void stall_holder(struct context *k, const struct cand *c, struct finding *f)
{
	bool end = c->top && c->top->thread != NO_IDX && c->top->kind != CAUSE_LOCK &&
		   c->top->kind != CAUSE_CYCLE;

	if (end)
		f->cls = FIND_LOCK_HELD;
	if (end && c->top->depth)
		f->culprit = party_of(k->m, c->top->thread);
}

const struct finding_def finding_lock_held = {
	.cls = FIND_LOCK_HELD,
	.name = "lock-held",
	.title = "lock held too long",
	.carrier = CARRIER_LOCK,
	.claims = claims_held,
	.weigh_stalls = weigh_holders,
	.explain = explain_lock,
	.refute = refute_lock,
	.chain_threads = holder_step,
	.chain_end = asked_step,
	.lacks = lacks_holder,
	.next_step = next_lock,
	.stall_words = lock_words,
	.stall_culprit = stall_holder,
};

const struct finding_def finding_lock_convoy = {
	.cls = FIND_LOCK_CONVOY,
	.name = "lock-convoy",
	.title = "lock convoy",
	.carrier = CARRIER_LOCK,
	.claims = claims_convoy,
	.explain = explain_lock,
	.refute = refute_lock,
	.chain_threads = holder_step,
	.chain_end = asked_step,
	.lacks = lacks_holder,
	.next_step = next_lock,
	.stall_words = lock_words,
	.stall_culprit = stall_holder,
	.is_held = true,
};
