/* SPDX-License-Identifier: Apache-2.0 */
/* An event loop that one handler keeps from its other requests. */
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/tail.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/forks.h"
#include "verdict/findings/findings.h"
#include "verdict/findings/next_step.h"
#include "waits/tail.h"

/* Stalls explain a loop's delay when they are this part of its time away from its wait. */
#define STALL_SHARE 0.5
/* One handler: at most one request in four is such a one. Else all are: then it is load. */
#define STALL_RARE 0.25

struct kind { double ns, most_ns; const struct cause *most; };

static void kinds_add(struct kind *kinds, const struct cause *x, double ns)
{
	struct kind *d = &kinds[x->kind];

	d->ns += ns;
	if (ns > d->most_ns) {
		d->most_ns = ns;
		d->most = x;
	}
}

/* Each child that a handler waits for has a little of it: what counts is their sum. */
static void top_of_kinds(struct cand *c, const struct kind *kinds)
{
	double best = 0;

	for (unsigned i = 0; i < CAUSE_CNT; i++) {
		if (kinds[i].ns <= best)
			continue;
		best = kinds[i].ns;
		c->top = kinds[i].most;
		c->top_ns = kinds[i].most_ns;
	}
}

static void weigh_loop(struct context *k)
{
	struct cand *c = &k->cand[FIND_LOOP_BLOCKED];
	struct kind kinds[CAUSE_CNT] = { 0 };

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const struct thread *th = &k->m->threads[t];
		const struct wthread *w = &k->w->threads[t];
		double life = th->end_ns - th->begin_ns, away, part, ns;
		struct cand *from;

		if (w->role != ROLE_T_LOOP || !thread_is_target(k->m, t))
			continue;
		away = life - w->idle_ns;
		part = away > 0 ? w->stall_ns / away : 0;
		if (w->stall_max_ns < WAITS_STALL_NS || part < STALL_SHARE ||
		    w->stall_cnt > STALL_RARE * k->turns + 1)
			continue;
		if (part > 1)
			part = 1;
		for (size_t i = 0; i < k->w->cause_cnt; i++) {
			const struct cause *x = &k->w->causes[i];

			if (x->entry != t || x->lock != NO_IDX || x->kind == CAUSE_QUEUE ||
			    x->end != NO_IDX)
				continue;
			from = x->kind == CAUSE_TIMER ? &k->cand[FIND_TIMER] :
			       x->kind == CAUSE_RUN || x->kind == CAUSE_RUNQ_SELF ?
						      &k->cand[FIND_CPU_OWN] :
			       x->kind == CAUSE_UNSEEN || x->kind == CAUSE_OTHER ||
					       x->kind == CAUSE_CHILD ?
						      &k->cand[FIND_UNKNOWN] : NULL;
			ns = x->ns * part;
			if (!from || from->ns < ns)
				continue;
			from->ns -= ns;
			c->ns += ns;
			c->loop = t;
			kinds_add(kinds, x, ns);
		}
	}
	top_of_kinds(c, kinds);
}

static void explain_loop(struct context *k, struct finding *f, const struct cand *c)
{
	const struct thread *th = c->loop != NO_IDX ? &k->m->threads[c->loop] : NULL;
	const struct wthread *w = c->loop != NO_IDX ? &k->w->threads[c->loop] : NULL;

	f->culprit = party_of(k->m, c->loop);
	f->resource = "event loop";
	if (!th)
		return;
	f->summary = arena_printf(k->arena, "One handler keeps the event loop of %s from turning, "
				  "up to %s at a time.", thread_label(k, c->loop),
				  ns_text(k, w->stall_max_ns));
	say_figures(k, f, "{} stalls, {} in all, longest {}, among {} requests",
		    N_CNT("stalls", w->stall_cnt), N_NS("stalled", w->stall_ns),
		    N_NS("longest", w->stall_max_ns), N_CNT("requests", k->turns));
	say_figures(k, f, "in the loop: computing {}, idle {} of the time",
		    N_SHARE("running", part_of(th->ns[ST_RUN], th->end_ns - th->begin_ns)),
		    N_SHARE("idle", part_of(k->w->threads[c->loop].idle_ns,
					    th->end_ns - th->begin_ns)));
}

static const char *next_loop(struct context *k, const struct finding *f, const struct cand *c)
{
	uint64_t ns = c && c->loop != NO_IDX ? k->w->threads[c->loop].stall_max_ns : 0;

	return arena_printf(k->arena, "move what %s does%s to a thread of its own%s%s",
			    step_who(k, f, "the loop"), step_place(k, f),
			    ns ? ": the loop stands still for up to " : "",
			    ns ? ns_text(k, (double)ns) : "");
}

/* A wait for a CPU while it computes is part of computing. */
static bool blocks(const struct cause *x, const struct stall_group *g)
{
	switch (x->kind) {
	case CAUSE_TIMER:
	case CAUSE_RUN:
	case CAUSE_OTHER:
	case CAUSE_CHILD:
		return true;
	case CAUSE_RUNQ_SELF:
	case CAUSE_RUNQ_OTHER:
		return g->stalls[0].kind == CAUSE_RUN;
	default:
		return false;
	}
}

/* A handler in a loop that sleeps, computes or waits for what is not seen: the loop is blocked. */
static void weigh_blocked(struct context *k, const struct stall_group *g)
{
	struct cand *c = &k->cand[FIND_LOOP_BLOCKED];

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *x = &k->w->causes[i];
		bool run = x->kind == CAUSE_RUNQ_SELF || x->kind == CAUSE_RUNQ_OTHER;

		if (x->entry == NO_IDX || k->w->threads[x->entry].role != ROLE_T_LOOP ||
		    x->thread != x->entry || x->depth || x->lock != NO_IDX || !blocks(x, g))
			continue;
		k->cand[cause_finding(k, x)].ns -= (double)x->ns;
		c->ns += (double)x->ns;
		c->loop = x->entry;
		if (run || (c->top && (double)x->ns <= c->top_ns))
			continue;
		c->top = x;
		c->top_ns = (double)x->ns;
	}
}

/* A loop that waits for a file is blocked, whatever keeps the file from it. */
static void weigh_unserved(struct context *k)
{
	struct cand *from = &k->cand[FIND_UNKNOWN], *to = &k->cand[FIND_LOOP_BLOCKED];
	const struct cause *x = from->top;

	if (!x || (x->kind != CAUSE_DISK && x->kind != CAUSE_FSYNC) || x->entry == NO_IDX ||
	    k->w->threads[x->entry].role != ROLE_T_LOOP || x->thread != x->entry)
		return;
	from->ns -= (double)x->ns;
	to->ns += (double)x->ns;
	to->loop = x->entry;
	to->top = x;
	to->top_ns = (double)x->ns;
}

static void weigh_stalls_loop(struct context *k, const struct stall_group *g)
{
	weigh_unserved(k);
	weigh_blocked(k, g);
}

static const char *blocked_words(struct context *k, const struct cand *c,
				 const struct stall_finding *s)
{
	const char *does = c->top && c->top->kind == CAUSE_RUN ? computing_words(k, c, s) :
			   c->top && c->top->kind == CAUSE_TIMER ? "asleep" : "waiting";

	return arena_printf(k->arena, "event loop of %s blocked%s, %s", thread_label(k, c->loop),
			    in_function(k, s, " in"), does);
}

const struct finding_def finding_loop_blocked = {
	.cls = FIND_LOOP_BLOCKED,
	.name = "loop-blocked",
	.title = "event loop blocked by one handler",
	.moves_from = 1u << FIND_TIMER | 1u << FIND_CPU_OWN | 1u << FIND_UNKNOWN,
	.weigh = weigh_loop,
	.weigh_stalls = weigh_stalls_loop,
	.explain = explain_loop,
	.refuted_if = "every request takes that long: then it is load, not one handler",
	.next_step = next_loop,
	.stall_words = blocked_words,
	.stall_forks = true,
};
