/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it waits for was not seen, or two findings explain as much.  And a server that answers
 * nothing while clients wait: no wait ends in the window, so no waker is known, and what its
 * threads sleep on is all there is.
 */
#include "base/hash.h"
#include "model/calls/calls.h"
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/tail.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/owed.h"
#include "verdict/evidence/request_lines.h"
#include "verdict/findings/findings.h"

static bool claims_all(const struct context *k, const struct cause *c)
{
	(void)k;
	(void)c;
	return true;
}

/* System calls tell how long each took, not what for or who ended it. */
static void unwatched_words(struct context *k, struct finding *f)
{
	const struct model_calls *calls = k->m->calls;
	uint32_t threads = 0;

	if (!calls->cnt) {
		f->summary = "There are no waits to judge from: its threads were not watched.";
		return;
	}
	f->summary = "There are no waits to judge from, only system calls: they point to "
		     "functions, not to what holds it up.";
	for (size_t t = 0; t < k->m->thread_cnt; t++)
		threads += calls->runs[t].cnt > 0;
	say_figures(k, f, "{} system calls of {} thread{} in {}", N_CNT("calls", calls->cnt),
		    N_CNT("threads", threads), N_WORD(threads == 1 ? "" : "s"),
		    N_NS("window", calls->end_ns - calls->begin_ns));
}

static void unknown_words(struct context *k, struct finding *f, const struct cause *t)
{
	f->summary = "What it waits for was not seen.";
	if (k->unwatched)
		unwatched_words(k, f);
	else if (t && (t->kind == CAUSE_DISK || t->kind == CAUSE_FSYNC))
		f->summary = arena_printf(k->arena, "It waits for %s, but no disk had a request of "
					  "it meanwhile: what for was not seen.",
					  t->res != NO_IDX ? k->m->res[t->res].name : "a file");
}

static void explain_unknown(struct context *k, struct finding *f, const struct cand *c)
{
	unknown_words(k, f, c->top);
	if (c->top)
		waits_line(k, f, c->top->thread, c->top->res);
}

struct asleep { uint32_t res, cnt, thread; uint64_t ns; };

/* The resource of this class that most of the target's threads still sleep on. */
static struct asleep most_asleep(const struct context *k, unsigned cls)
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

static void futex_candidate(struct context *k, struct verdict *v)
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
static void asked_candidate(struct context *k, struct verdict *v)
{
	const struct ev_conn *best = NULL;
	struct finding *f;

	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *c = &k->m->conns_last[i];
		uint32_t p = model_proc_by_tgid(k->m, c->tgid);

		if (proc_is_target(k->m, p) && c->role == ROLE_CLIENT &&
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
	refute(k, f, "that service owes no answer: it was sent a message, not a request");
}

static void workers_candidate(struct context *k, struct verdict *v)
{
	struct finding *f = candidate(v, FIND_WORKERS);

	f->resource = "worker pool";
	f->summary = "The threads that should answer are all held elsewhere, or gone.";
	say_figures(k, f, "{} connections wait for an answer", N_CNT("connections_owed", owed(k)));
	refute(k, f, "a thread that takes requests is idle");
}

void hung_candidates(struct context *k, struct verdict *v)
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

static const char *next_unknown(struct context *k, const struct finding *f, const struct cand *c)
{
	(void)f;
	(void)c;
	if (k->unwatched)
		return "record its waits as root (heldup record -p PID): calls do not tell them";
	return arena_printf(k->arena, "watch for longer than %.0f s, and record system calls for "
			    "the functions (heldup record --calls)", k->window_ns / 1e9);
}

/*
 * What is not seen cannot be weighed: at least this often, of so many requests each, and so
 * long.  One alone may be a message that asks for no answer.
 */
#define UNSEEN_CNT 3
#define UNSEEN_EACH 3
#define UNSEEN_MIN_NS 100000000

static bool stall_counts(const struct stall_finding *s)
{
	return s->cnt >= UNSEEN_CNT && s->req_cnt >= UNSEEN_EACH * s->cnt &&
	       s->median_ns >= UNSEEN_MIN_NS;
}

static const char *unknown_stall(struct context *k, const struct cand *c,
				 const struct stall_finding *s)
{
	(void)k;
	(void)c;
	(void)s;
	return "what they waited for was not seen";
}

static bool yields(const struct context *k, double share, bool felt)
{
	(void)share;
	return felt && !k->unwatched && !is_hung(k);
}

const struct finding_def finding_unknown = {
	.cls = FIND_UNKNOWN,
	.name = "unknown",
	.title = "inconclusive",
	.claims = claims_all,
	.explain = explain_unknown,
	.next_step = next_unknown,
	.stall_words = unknown_stall,
	.stall_counts = stall_counts,
	.yields = yields,
	.no_hold_up = true,
	.is_held = true,
	.stall_is_vague = true,
};
