/* SPDX-License-Identifier: Apache-2.0 */
/* The application sleeps on purpose: a back-off, a poll interval. */
#include "verdict/context/say.h"
#include "verdict/context/tail.h"
#include "verdict/evidence/forks.h"
#include "verdict/evidence/request_lines.h"
#include "verdict/findings/findings.h"
#include "verdict/findings/next_step.h"

static bool claims_timer(const struct context *k, const struct cause *c)
{
	(void)k;
	return c->kind == CAUSE_TIMER;
}

static void explain_timer(struct context *k, struct finding *f, const struct cand *c)
{
	const struct cause *t = c->top;

	f->resource = "timer";
	f->res_kind = "timer";
	f->culprit = t ? party_of(k->m, t->thread) : f->culprit;
	f->summary = arena_printf(k->arena, "%s sleeps on a timer%s: a pause, back-off or poll "
				  "interval of its own.", thread_label(k, t ? t->thread : NO_IDX),
				  k->turns > 0 ? " while requests are open" : "");
	if (t)
		waits_line(k, f, t->thread, t->res);
}

/* Half of the sleeps follow another with no other wait between: who polls does so. */
#define AGAIN_SHARE 0.5

/* Are most sleeps of a process the next wait after another sleep? */
static bool sleeps_again(const struct context *k, uint32_t proc)
{
	const struct model *m = k->m;
	double all = 0, again = 0;

	for (size_t i = 1; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];

		if (w->cls != WAIT_TIMER || w->flags & WAITF_PREEMPTED ||
		    (k->w->wait_idle && k->w->wait_idle[i]) || m->threads[w->thread].proc != proc)
			continue;
		all++;
		again += w[-1].thread == w->thread && w[-1].cls == WAIT_TIMER &&
			 w[-1].ustack == w->ustack;
	}
	return again >= AGAIN_SHARE * all && all > 1;
}

/* A sleep is the end of the chain only where it is a pause that was meant, of who was asked. */
static void lacks_purpose(struct context *k, struct finding *f, const struct cause *t)
{
	uint32_t proc = t->thread != NO_IDX ? k->m->threads[t->thread].proc : NO_IDX;

	if (proc == NO_IDX)
		return;
	if (t->entry_proc != NO_IDX && proc != t->entry_proc)
		lack(k, f, 1, "another program sleeps: why it is waited for was not seen");
	else if (sleeps_again(k, proc))
		lack(k, f, 1, "it sleeps again and again, as who polls: what for was not seen");
}

static void lacks_place(struct context *k, struct finding *f, const struct cand *c)
{
	if (c->top)
		lacks_purpose(k, f, c->top);
	if (!f->chain_len || !f->chain[f->chain_len - 1].fn_cnt)
		lack(k, f, 1, "where in the program it sleeps is not known");
	if (k->w->demand_kind != 1)
		lack(k, f, 1, "no request was seen: it may sleep since nothing is asked of it");
}

static const char *next_timer(struct context *k, const struct finding *f, const struct cand *c)
{
	(void)c;
	return arena_printf(k->arena, "shorten the sleep of %s%s, or wake it when what it sleeps "
			    "for is there", step_who(k, f, "the thread"), step_place(k, f));
}

static const char *timer_stall(struct context *k, const struct cand *c,
			       const struct stall_finding *s)
{
	return arena_printf(k->arena, "%s sleeps on a timer%s",
			    thread_label(k, c->top ? c->top->thread : NO_IDX),
			    in_function(k, s, " in"));
}

const struct finding_def finding_timer = {
	.cls = FIND_TIMER,
	.name = "timer",
	.title = "sleeps on a timer of its own",
	.claims = claims_timer,
	.explain = explain_timer,
	.refuted_if = "something that is not watched ends the sleep early when it is ready",
	.lacks = lacks_place,
	.next_step = next_timer,
	.stall_words = timer_stall,
	.may_be_work = true,
	.is_held = true,
};
