/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks the findings and decides whether any holds the process up.
 *
 * Every threshold here is a share of the requests' time or of the window;
 * its reason stands beside it.  None knows a program, a port or a path.
 */
#include "verdict/verdict.h"

#include <stdlib.h>

#include "base/cmp.h"
#include "model/calls/calls.h"
#include "verdict/compare.h"
#include "verdict/confidence.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/negligible.h"
#include "verdict/evidence/owed.h"
#include "verdict/findings/findings.h"
#include "verdict/not_covered.h"
#include "verdict/tail/tail.h"
#include "verdict/weigh/explain.h"
#include "verdict/weigh/weigh.h"

/* A finding must explain this much to be the verdict: less, and mending it is hardly felt. */
#define VERDICT_MIN 0.30
/* ... and this much to be named beside the verdict. */
#define MENTION_MIN 0.15
/* Two findings closer than this are one by sums that carry a few per cent of error. */
#define TIE 0.08
/* Nobody feels that much of a request, as in evidence/negligible.c. */
#define UNFELT_NS 5e6

const char *confidence_name(unsigned conf)
{
	return conf == CONF_HIGH ? "high" : conf == CONF_MEDIUM ? "medium" : "low";
}

static int by_ns(const void *pa, const void *pb)
{
	const struct cand *const *a = pa, *const *b = pb;

	CMP((*b)->ns, (*a)->ns);
	return (*a)->cls - (*b)->cls;
}

static bool is_hold_up(const struct cand *c)
{
	return finding_holds_up(c->cls);
}

static void finding_add(struct context *k, struct verdict *v, const struct cand *c)
{
	struct cand own = *c;

	/* other carriers of its class are named by themselves */
	own.ns -= own.more_ns;
	explain(k, &v->findings[v->finding_cnt++], &own);
}

/*
 * Threads are known, but of none its states: a trace of system calls, or a
 * kernel that refused to track them.  That nobody waited is no health then.
 */
static bool is_unwatched(const struct context *k)
{
	bool known = k->m->calls->cnt > 0;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		if (!thread_is_target(k->m, t))
			continue;
		if (k->m->threads[t].tracked)
			return false;
		known = true;
	}
	return known;
}

static bool is_child(const struct model *m, const struct proc *p)
{
	uint32_t parent = model_proc_by_tgid(m, p->ppid);

	return proc_is_target(m, parent);
}

/* The one that the others come from; numbers wrap, so a child's may be lower. */
static bool comes_first(const struct model *m, const struct proc *a, const struct proc *b)
{
	if (is_child(m, a) != is_child(m, b))
		return is_child(m, b);
	return a->tgid < b->tgid;
}

static const char *subject_of(struct context *k)
{
	const struct model *m = k->m;
	const struct proc *p = NULL;
	uint32_t procs = 0, threads = 0, named = 0;

	for (size_t i = 0; i < m->proc_cnt; i++) {
		if (!m->procs[i].target)
			continue;
		if (!p || comes_first(m, &m->procs[i], p))
			p = &m->procs[i];
		procs++;
	}
	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		threads += thread_is_target(m, t) && m->threads[t].tracked;
		named += thread_is_target(m, t);
	}
	threads = threads ? threads : named;
	if (!p)
		return "nothing";
	if (procs > 1)
		return arena_printf(k->arena, "%s (pid %u) and %u more process%s, %u threads",
				    p->comm, p->tgid, procs - 1, procs == 2 ? "" : "es", threads);
	return arena_printf(k->arena, "%s (pid %u), %u thread%s", p->comm, p->tgid, threads,
			    threads == 1 ? "" : "s");
}

static void candidates_add(struct context *k, struct verdict *v, struct cand **order, size_t cnt)
{
	v->candidates = ARENA_ARRAY(k->arena, struct finding, 2);
	for (size_t i = 0; i < cnt && v->candidate_cnt < 2; i++) {
		if (is_hold_up(order[i]) && order[i]->ns > 0)
			explain(k, &v->candidates[v->candidate_cnt++], order[i]);
	}
}

/* Beside a server that nothing holds up: what a request does not feel is part of its work. */
static bool is_unfelt(const struct context *k, const struct verdict *v, const struct cand *c)
{
	return v->findings[0].cls == FIND_HEALTHY && k->turns > 0 && c->ns < UNFELT_NS * k->turns;
}

/* Findings beside the verdict. */
static void mention(struct context *k, struct verdict *v, struct cand **order, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		if (is_hold_up(order[i]) && order[i]->cls != v->findings[0].cls &&
		    order[i]->ns >= MENTION_MIN * k->demand_ns &&
		    !is_negligible(k, order[i]) && !is_unfelt(k, v, order[i]))
			finding_add(k, v, order[i]);
	}
	if (k->pool.ns > 0 && v->findings[0].cls == k->pool.kept_by)
		finding_add(k, v, &k->pool);
	for (size_t i = 0; i < k->more_cnt; i++) {
		if (!is_negligible(k, &k->more[i]))
			finding_add(k, v, &k->more[i]);
	}
}

/* The first that holds up, computing and clients left aside; NULL when there is none. */
static const struct cand *hold_up(struct cand **order, size_t cnt, size_t skip)
{
	for (size_t i = 0; i < cnt; i++) {
		if (is_hold_up(order[i]) && order[i]->ns > 0 && !skip--)
			return order[i];
	}
	return NULL;
}

static double share_of(const struct context *k, const struct cand *c)
{
	return c && k->demand_ns > 0 ? c->ns / k->demand_ns : 0;
}

/* Most of what is not known are waits for files that no disk had a request for. */
static bool unknown_file(const struct context *k, const struct cand *unknown)
{
	return unknown->top && share_of(k, unknown) >= VERDICT_MIN && !is_negligible(k, unknown) &&
	       (unknown->top->kind == CAUSE_DISK || unknown->top->kind == CAUSE_FSYNC);
}

/*
 * order is sorted; decides what findings[0] is.  Computing that has room left
 * holds nobody up however large its share, so it does not compete.
 */
static void decide(struct context *k, struct verdict *v, struct cand **order, size_t cnt)
{
	const struct cand *top = hold_up(order, cnt, 0), *next = hold_up(order, cnt, 1);
	const struct cand *unknown = &k->cand[FIND_UNKNOWN], *clients = &k->cand[FIND_CLIENTS];
	double share = share_of(k, top), second = share_of(k, next);

	if (is_hung(k) && (!top || is_negligible(k, top) || share < VERDICT_MIN)) {
		finding_add(k, v, unknown);
		hung_candidates(k, v);
	} else if ((k->unwatched || unknown_file(k, unknown)) && (!top || is_negligible(k, top))) {
		finding_add(k, v, unknown);
	} else if (!top || is_negligible(k, top)) {
		top = clients->ns > VERDICT_MIN * k->demand_ns ? clients : &k->cand[FIND_HEALTHY];
		finding_add(k, v, top);
	} else if (clients->ns > top->ns && clients->ns > unknown->ns) {
		finding_add(k, v, clients);
	} else if (unknown->ns > top->ns ? share_of(k, unknown) >= VERDICT_MIN :
					   share >= VERDICT_MIN && share < 0.5 &&
						   share - second < TIE) {
		finding_add(k, v, unknown);
		candidates_add(k, v, order, cnt);
	} else if (share >= VERDICT_MIN) {
		finding_add(k, v, top);
	} else {
		finding_add(k, v, &k->cand[FIND_HEALTHY]);
	}
	mention(k, v, order, cnt);
}

/* The refutation of the first of two candidates decides between them. */
static void unknown_tell(struct context *k, struct verdict *v)
{
	struct finding *f = &v->findings[0];
	const struct finding *a = v->candidates;

	if (f->cls != FIND_UNKNOWN || !v->candidate_cnt || !a->refute_cnt)
		return;
	f->next_step = arena_printf(k->arena, "check whether %s; if not, candidate A holds: %s",
				    a->refute[0], a->next_step);
}

static void next_steps_rest(struct context *k, struct verdict *v)
{
	for (size_t i = 0; i < v->finding_cnt; i++)
		if (!v->findings[i].next_step)
			next_step(k, &v->findings[i], NULL);
	for (size_t i = 0; i < v->candidate_cnt; i++)
		if (!v->candidates[i].next_step)
			next_step(k, &v->candidates[i], NULL);
	unknown_tell(k, v);
}

struct verdict *verdict_make(const struct model *m, const struct waits_result *w,
			     const struct model *base, const struct waits_result *base_waits,
			     struct arena *arena)
{
	struct verdict *v = ARENA_NEW(arena, struct verdict);
	struct cand *order[FIND_CNT];
	struct context k;
	unsigned certain;
	size_t cnt = 0;

	context_init(&k, m, w, arena);
	if (m->stack_sum_cnt)
		k.s = stacks_make(m, &(struct stacks_opts){.idle = true}, arena);
	v->seconds = k.window_ns / 1e9;
	v->findings = ARENA_ARRAY(arena, struct finding, FIND_CNT + CARRIERS_MAX + 3);
	v->subject = subject_of(&k);
	k.unwatched = is_unwatched(&k);
	weigh(&k);
	for (unsigned i = 0; i < FIND_CNT; i++)
		order[cnt++] = &k.cand[i];
	qsort(order, cnt, sizeof(*order), by_ns);
	certain = explain_certain(&k, v);
	if (certain == FIND_CNT)
		decide(&k, v, order, cnt);
	else if (!finding_def(certain)->stands_alone)
		mention(&k, v, order, cnt);
	next_steps_rest(&k, v);
	tail_judge(&k, v);
	confidence_judge(&k, v);
	not_covered_add(&k, v);
	if (base && base_waits)
		compare(&k, base, base_waits, v);
	return v;
}
