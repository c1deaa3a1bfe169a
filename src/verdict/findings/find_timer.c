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

static void lacks_place(struct context *k, struct finding *f, const struct cand *c)
{
	(void)c;
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
