/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds up the slow requests: stalls that are felt, each judged by the
 * rules of the mean verdict from its own requests alone.  Where the mean is
 * healthy and the tail is not, the tail is the verdict.
 *
 * Thresholds are times that a person at the other end notices, and counts that
 * chance does not make up; none knows a program, a port or a path.
 */
#include "verdict/tail/tail.h"

#include <stdlib.h>
#include <string.h>

#include "functions/units/app_frames.h"
#include "verdict/context/say.h"
#include "verdict/findings/findings.h"
#include "verdict/tail/tail_int.h"
#include "verdict/weigh/explain.h"
#include "verdict/weigh/weigh.h"

/* Once may be chance; from here on it is felt even so. */
#define ALONE_MIN_NS 100000000
/* The verdict on the mean stands against stalls of which less than this is explained. */
#define HEADS_SHARE 0.4
/* Groups looked at, largest first: what is behind is of few and short requests. */
enum { NAMED_MAX = 5, JUDGED_MAX = 24 };

static const double quantiles[TAIL_QUANTILES] = { 0.5, 0.9, 0.99, 0.999 };

static const struct cand *heaviest(const struct context *k)
{
	const struct cand *best = &k->cand[FIND_UNKNOWN];

	for (unsigned i = 0; i < FIND_CNT; i++) {
		if (k->cand[i].ns > best->ns)
			best = &k->cand[i];
	}
	return best;
}

static bool is_worth_naming(const struct stall_finding *s)
{
	const struct finding_def *def = finding_def(s->f.cls);

	if (def->stall_counts)
		return def->stall_counts(s);
	return s->cnt > 1 || s->max_ns >= ALONE_MIN_NS;
}

static void affects_tell(const struct waits_tail *t, struct stall_finding *s)
{
	uint64_t cnt = hist_from(t->hist, s->min_ns);

	if (cnt < s->req_cnt)
		cnt = s->req_cnt;
	for (unsigned q = 0; q < TAIL_QUANTILES; q++) {
		if ((double)cnt > (1 - quantiles[q]) * (double)t->requests)
			s->affects |= 1u << q;
	}
}

static void figures_take(const struct context *k, const struct waits_tail *t,
			 const struct stall_group *g, struct stall_finding *s)
{
	s->cnt = (uint32_t)g->stall_cnt;
	s->req_cnt = g->req_cnt;
	s->min_ns = g->min_ns;
	s->median_ns = g->median_ns;
	s->max_ns = g->max_ns;
	s->every_ns = g->every_ns;
	s->regular = g->regular;
	s->share = t->sum_ns ? (double)g->sum_ns / (double)t->sum_ns : 0;
	s->time_share = (double)g->busy_ns / k->window_ns;
	s->stalls = g->stalls;
	affects_tell(t, s);
}

/* By the rules of the mean verdict, from what the requests of the group waited for alone. */
static void group_judge(struct context *k, const struct appfns *a, const struct waits_tail *t,
			const struct stall_group *g, struct stall_finding *s)
{
	struct waits_result w = *k->w;
	struct self_run self;
	const struct cand *c;
	struct context own;

	w.causes = g->causes;
	w.cause_cnt = g->cause_cnt;
	w.locks = t->w->locks;
	w.lock_cnt = t->w->lock_cnt;
	w.edges = t->w->edges;
	w.edge_cnt = t->w->edge_cnt;
	context_init(&own, t->view, &w, k->arena);
	own.turns = g->req_cnt;
	weigh_stalls(&own, g);
	self = tail_self(&own, a, g);
	c = heaviest(&own);
	explain(&own, &s->f, c);
	figures_take(k, t, g, s);
	if (is_worth_naming(s)) {
		tail_function(&own, a, g, s);
		if (c->by_run && *self.function)
			s->function = self.function;
		tail_words(&own, a, t, c, s);
		if (c->by_run)
			say(&own, &s->f, "of what it runs %.0f %% is in %s in the stalls, "
			    "%.0f %% at other times", 100 * self.in, s->function,
			    100 * self.out);
	}
}

static bool same_culprit(const struct finding *a, const struct finding *b)
{
	return a->cls == b->cls && a->culprit.pid == b->culprit.pid;
}

/* Several findings may be one: kinds of waits that come to the same. */
static bool is_named(const struct tail *t, const struct stall_finding *s)
{
	for (size_t i = 0; i < t->stall_cnt; i++) {
		const struct stall_finding *o = &t->stalls[i];

		if (same_culprit(&o->f, &s->f) && strcmp(o->what, s->what) == 0)
			return true;
		if (s->own && strcmp(o->f.culprit.comm, s->f.culprit.comm) == 0)
			return true;
	}
	return false;
}

/*
 * The mean verdict says that nothing is wrong, or that all the CPU is in use, perhaps by
 * others too: of which most requests feel little, since a stall is many times what they take.
 */
static bool takes_over(const struct context *k, const struct verdict *v,
		       const struct stall_finding *s)
{
	const struct finding_def *first = finding_def(v->findings[0].cls);
	bool felt = s->cnt > 1 && s->f.share >= HEADS_SHARE;

	if (s->of_mean || finding_def(s->f.cls)->stall_is_vague || !first->yields)
		return false;
	return first->yields(k, v->findings[0].share, felt);
}

/* The tail's finding first; what it says already goes. */
static void take_over(struct context *k, struct verdict *v, struct stall_finding *s)
{
	unsigned was = v->findings[0].cls;
	size_t out = 1;
	struct finding *list = v->findings, first;

	s->heads = true;
	first = s->f;
	first.of_tail = 1;
	first.share = s->share;
	if (was == FIND_HEALTHY)
		first.summary = arena_printf(k->arena, "%s The mean request is not held up.",
					     first.summary);
	for (size_t i = v->finding_cnt; i > 0; i--)
		list[i] = list[i - 1];
	list[0] = first;
	v->finding_cnt++;
	for (size_t i = 1; i < v->finding_cnt; i++) {
		bool gone = (i == 1 && (was == FIND_HEALTHY || was == FIND_UNKNOWN)) ||
			    same_culprit(&list[i], &first);

		if (!gone)
			list[out++] = list[i];
	}
	v->finding_cnt = out;
	v->candidate_cnt = 0;
}

/*
 * Requests that held up others first.  Those that took long by their own doing may be
 * meant to, and those of who is named already are.
 */
static void groups_judge(struct context *k, const struct waits_tail *t, struct verdict *v, bool own)
{
	struct tail *tail = v->tail;
	const struct appfns *a = NULL;

	if (t->group_cnt && k->m->stack_cnt)
		a = appfns_make(k->m, k->arena);
	for (size_t i = 0; i < t->group_cnt && i < JUDGED_MAX; i++) {
		struct stall_finding *s = &tail->stalls[tail->stall_cnt];

		if (tail->stall_cnt == NAMED_MAX)
			return;
		if (t->groups[i].stalls[0].own != own)
			continue;
		*s = (struct stall_finding){ .function = "", .what = "", .own = own };
		group_judge(k, a, t, &t->groups[i], s);
		if (!is_worth_naming(s) || is_named(tail, s))
			continue;
		s->of_mean = same_culprit(&v->findings[0], &s->f);
		tail->stall_cnt++;
	}
}

void tail_judge(struct context *k, struct verdict *v)
{
	const struct waits_tail *t = k->w->tail;
	struct tail *tail;

	if (!t)
		return;
	v->tail = tail = ARENA_NEW(k->arena, struct tail);
	*tail = (struct tail){ .requests = t->requests, .p50_ns = t->p50_ns, .p99_ns = t->p99_ns,
			       .p999_ns = t->p999_ns, .slow_ns = t->slow_ns,
			       .slow_cnt = t->slow_cnt, .late_cnt = t->late_cnt };
	tail->stalls = ARENA_ARRAY(k->arena, struct stall_finding, NAMED_MAX + 1);
	groups_judge(k, t, v, false);
	groups_judge(k, t, v, true);
	for (size_t i = 0; i < tail->stall_cnt; i++) {
		if (!takes_over(k, v, &tail->stalls[i]))
			continue;
		take_over(k, v, &tail->stalls[i]);
		break;
	}
}
