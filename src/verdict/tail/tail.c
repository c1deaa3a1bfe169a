/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds up the slow requests: stalls that are felt, each judged by the
 * rules of the mean verdict from its own requests alone.  Where the mean is
 * healthy and the tail is not, the tail is the verdict.
 *
 * Thresholds are times that a person at the other end notices, and counts that
 * chance does not make up; none knows a program, a port or a path.
 */
#include "verdict/context/tail.h"

#include <stdlib.h>
#include <string.h>

#include "base/alike.h"
#include "functions/units/app_frames.h"
#include "verdict/tail/tail_int.h"

/* Once may be chance; from here on it is felt even so. */
#define ALONE_MIN_NS 100000000
/*
 * Waiting for a CPU: with more threads that want one than there are, each waits for
 * the time slices of the others, 3 to 30 ms each.  Longer is more than its turn.
 */
#define CPU_MIN_NS 100000000
/* Once, or in line behind its own load: that is only worth a word where it is this long. */
#define CPU_ALONE_NS 250000000
/*
 * What is not seen cannot be weighed: at least this often, and of so many
 * requests each.  One alone may be a message that asks for no answer.
 */
#define UNSEEN_CNT 3
#define UNSEEN_EACH 3
/* The verdict on the mean stands against stalls of which less than this is explained. */
#define HEADS_SHARE 0.4
/* Groups looked at, largest first: what is behind is of few and short requests. */
enum { NAMED_MAX = 5, JUDGED_MAX = 24 };

static const double quantiles[TAIL_QUANTILES] = { 0.5, 0.9, 0.99, 0.999 };

const char *tail_quantile_name(unsigned q)
{
	static const char *const names[TAIL_QUANTILES] = { "p50", "p90", "p99", "p999" };

	return q < TAIL_QUANTILES ? names[q] : "";
}

const char *tail_quantile_title(unsigned q)
{
	static const char *const names[TAIL_QUANTILES] = { "p50", "p90", "p99", "p99.9" };

	return q < TAIL_QUANTILES ? names[q] : "";
}

/* What it waited for a CPU while it computed is part of that. */
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
static void weigh_blocked(struct court *k, const struct stall_group *g)
{
	struct cand *c = &k->cand[FIND_LOOP_BLOCKED];

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *x = &k->w->causes[i];
		bool run = x->kind == CAUSE_RUNQ_SELF || x->kind == CAUSE_RUNQ_OTHER;

		if (x->entry == NO_IDX || k->w->threads[x->entry].role != ROLE_T_LOOP ||
		    x->thread != x->entry || x->depth || x->lock != NO_IDX || !blocks(x, g))
			continue;
		k->cand[finding_of_cause(k, x)].ns -= (double)x->ns;
		c->ns += (double)x->ns;
		c->loop = x->entry;
		if (run || (c->top && (double)x->ns <= c->top_ns))
			continue;
		c->top = x;
		c->top_ns = (double)x->ns;
	}
}

/* A loop that waits for a file is blocked, whatever keeps the file from it. */
static void weigh_unserved(struct court *k)
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

/* One that serves requests itself, as the waiter does. */
static bool is_sibling(const struct court *k, uint32_t a, uint32_t b)
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

static bool is_asked(const struct court *k, uint32_t t)
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

/* Of the process of those that wait, and held to account for it by no other rule. */
static bool is_holder(const struct court *k, const struct cause *x)
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
static void weigh_holders(struct court *k)
{
	struct cand *c = &k->cand[FIND_LOCK_HELD];

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *x = &k->w->causes[i];
		unsigned cls = finding_of_cause(k, x);

		if (!x->depth || !is_holder(k, x) ||
		    (cls != FIND_TIMER && cls != FIND_CPU_OWN && cls != FIND_CLIENTS &&
		     cls != FIND_HEALTHY && cls != FIND_UNKNOWN && cls != FIND_LOCK_CONVOY &&
		     cls != FIND_CONN_LIMIT))
			continue;
		k->cand[cls].ns -= (double)x->ns;
		c->ns += (double)x->ns;
		if (!c->top || (double)x->ns > c->top_ns) {
			c->top = x;
			c->top_ns = (double)x->ns;
		}
	}
}

static const struct cand *heaviest(const struct court *k)
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
	switch (s->f.cls) {
	case FIND_HEALTHY:
	case FIND_CLIENTS:
		return false;
	case FIND_CPU_OWN:
		return s->cnt > 1 && s->median_ns >= CPU_ALONE_NS;
	case FIND_UNKNOWN:
		return s->cnt >= UNSEEN_CNT && s->req_cnt >= UNSEEN_EACH * s->cnt &&
		       s->median_ns >= ALONE_MIN_NS;
	case FIND_CPU_NEIGHBOUR:
		return s->cnt > 1 ? s->median_ns >= CPU_MIN_NS : s->max_ns >= CPU_ALONE_NS;
	default:
		return s->cnt > 1 || s->max_ns >= ALONE_MIN_NS;
	}
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

static void figures_take(const struct court *k, const struct waits_tail *t,
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
static void group_judge(struct court *k, const struct appfns *a, const struct waits_tail *t,
			const struct stall_group *g, struct stall_finding *s)
{
	struct waits_result w = *k->w;
	struct self_run self;
	const struct cand *c;
	struct court own;

	w.causes = g->causes;
	w.cause_cnt = g->cause_cnt;
	w.locks = t->w->locks;
	w.lock_cnt = t->w->lock_cnt;
	w.edges = t->w->edges;
	w.edge_cnt = t->w->edge_cnt;
	court_init(&own, t->view, &w, k->arena);
	own.turns = g->req_cnt;
	weigh_causes(&own);
	weigh_disk(&own);
	weigh_unserved(&own);
	weigh_blocked(&own, g);
	weigh_holders(&own);
	weigh_neighbour(&own);
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
static bool takes_over(const struct court *k, const struct verdict *v,
		       const struct stall_finding *s)
{
	bool told = s->cnt > 1 && s->f.share >= HEADS_SHARE;

	if (s->of_mean || s->f.cls == FIND_UNKNOWN || s->f.cls == FIND_CPU_OWN)
		return false;
	switch (v->findings[0].cls) {
	case FIND_HEALTHY:
	case FIND_CLIENTS:
		return true;
	case FIND_CPU_OWN:
		return told;
	case FIND_CPU_NEIGHBOUR:
		return told && v->findings[0].share < HEADS_SHARE;
	case FIND_UNKNOWN:
		return told && !k->unwatched && !is_hung(k);
	default:
		return false;
	}
}

/* The tail's finding first; what it says already goes. */
static void take_over(struct court *k, struct verdict *v, struct stall_finding *s)
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
static void groups_judge(struct court *k, const struct waits_tail *t, struct verdict *v, bool own)
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

void tail_judge(struct court *k, struct verdict *v)
{
	const struct waits_tail *t = k->w->tail;
	struct tail *tail;

	if (!t)
		return;
	v->tail = tail = ARENA_NEW(k->arena, struct tail);
	*tail = (struct tail){ .requests = t->requests, .p50_ns = t->p50_ns, .p99_ns = t->p99_ns,
			       .p999_ns = t->p999_ns, .slow_ns = t->slow_ns,
			       .slow_cnt = t->slow_cnt };
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
