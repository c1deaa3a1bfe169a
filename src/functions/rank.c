/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cmp.h"
#include "functions/appfn.h"
#include "model/calls.h"

/* Scores and parts are rounded to this: what differs by less is rounding, not evidence. */
#define SCORE_STEP 1e-9

struct sums {			/* of one function */
	double e, e_weighted, e_self;
	double p, p_weighted, p_self;
	uint32_t seen;		/* number of the last site, plus one */
	struct fn_evidence ev[FN_EVIDENCE_MAX];
	uint32_t ev_cnt;
};

struct folder {
	const struct blame *b;
	struct sums *sums;	/* by fn */
	uint32_t site;		/* number of the present one, plus one */
};

/* The kind of evidence with most harm stay; the least makes room. */
static struct fn_evidence *ev_get(struct sums *s, unsigned nr, unsigned kind)
{
	struct fn_evidence *least = NULL;

	for (uint32_t i = 0; i < s->ev_cnt; i++) {
		struct fn_evidence *e = &s->ev[i];

		if (e->nr == nr && e->kind == kind)
			return e;
		if (!least || e->harm_ns < least->harm_ns)
			least = e;
	}
	if (s->ev_cnt < FN_EVIDENCE_MAX)
		least = &s->ev[s->ev_cnt++];
	*least = (struct fn_evidence){.nr = (uint16_t)nr, .kind = (uint8_t)kind,
				      .stack = NO_IDX, .episode = ""};
	return least;
}

static void ev_add(struct sums *s, const struct site *site, bool self)
{
	for (unsigned kind = 0; kind < DEV_KIND_CNT; kind++) {
		struct fn_evidence *e;

		if (site->harm_ns[kind] <= 0)
			continue;
		e = ev_get(s, site->nr, kind);
		if (e->stack == NO_IDX)
			e->stack = site->stack;
		e->self |= self;
		e->harm_ns += (uint64_t)site->harm_ns[kind];
		e->cnt += site->bad_cnt;
		e->unit_cnt += site->unit_cnt;
	}
	if (site->usual_ns > 0) {
		for (uint32_t i = 0; i < s->ev_cnt; i++)
			if (s->ev[i].nr == site->nr)
				s->ev[i].usual_ns += (uint64_t)site->usual_ns;
	}
}

static double site_harm_ns(const struct site *s)
{
	double sum = 0;

	for (unsigned kind = 0; kind < DEV_KIND_CNT; kind++)
		sum += s->harm_ns[kind];
	return sum;
}

/* frames: innermost first; from skip on, they count as self, caller, ... */
static void fold(struct folder *f, const struct site *site, const struct app_stack *st,
		 uint32_t skip)
{
	double harm = site_harm_ns(site), weight = 1;

	f->site++;
	for (uint32_t i = skip; i < st->cnt; i++) {
		struct sums *s = &f->sums[st->frames[i].fn];

		if (s->seen != f->site) { /* a function that calls itself counts once */
			s->seen = f->site;
			s->e += harm;
			s->e_weighted += harm * weight;
			s->p += site->usual_ns;
			s->p_weighted += site->usual_ns * weight;
			if (i == skip) {
				s->e_self += harm;
				s->p_self += site->usual_ns;
			}
			ev_add(s, site, i == skip);
		}
		weight *= CALLER_WEIGHT;
	}
}

/* Functions that both stacks have from the outside in: the time between was spent below them. */
static uint32_t shared_skip(const struct app_stack *a, const struct app_stack *b)
{
	uint32_t same = 0;

	while (same < a->cnt && same < b->cnt &&
	       a->frames[a->cnt - 1 - same].fn == b->frames[b->cnt - 1 - same].fn)
		same++;
	return a->cnt - (same ? same : a->cnt);
}

static void fold_site(struct folder *f, const struct site *s)
{
	const struct app_stack *stacks = f->b->p->fns->stacks;

	if (s->stack == NO_IDX)
		return;
	if (s->nr != NR_OWN || s->sampled || s->other == NO_IDX)
		fold(f, s, &stacks[s->stack], 0);
	else
		fold(f, s, &stacks[s->stack],
		     shared_skip(&stacks[s->stack], &stacks[s->other]));
}

double rank_score(double e_weighted, double e, double p)
{
	return e > 0 ? e_weighted / sqrt(e + p) : 0;
}

static double part(double of, double all)
{
	return all > 0 ? of / all : 0;
}

static double rounded(double value)
{
	return round(value / SCORE_STEP) * SCORE_STEP;
}

static int cmp_ev(const void *pa, const void *pb)
{
	const struct fn_evidence *a = pa, *b = pb;

	CMP(b->harm_ns, a->harm_ns);
	CMP(a->nr, b->nr);
	CMP(a->kind, b->kind);
	return 0;
}

/* How much usual work weighs: a unit's usual time against an abnormal one's harm. */
static double usual_weight(const struct blame *b)
{
	double normal_cnt = (double)(b->p->units.units.cnt - b->abnormal_cnt);
	double each = part(b->usual_ns, normal_cnt);
	double harm = part(b->harm_ns, (double)b->abnormal_cnt);

	return harm > each ? each / harm : 1;
}

static void report_make(const struct blame *b, const struct sums *s, struct fn_report *to)
{
	double harm = b->harm_ns, usual = b->usual_ns, all = harm + usual;
	double sure = part(harm, harm + HARM_SHARE * all);
	double cost = rank_score(part(s->e_weighted + s->p_weighted, all),
				 part(s->e + s->p, all), 0);

	to->harm_share = part(s->e, harm);
	to->usual_share = part(s->p, usual);
	to->self = rounded(part(s->e_self, harm));
	to->score = rounded(sure * rank_score(part(s->e_weighted, harm), to->harm_share,
					      usual_weight(b) * to->usual_share) +
			    (1 - sure) * COST_WEIGHT * cost);
	to->evidence_cnt = s->ev_cnt;
	memcpy(to->evidence, s->ev, sizeof(to->evidence));
	qsort(to->evidence, to->evidence_cnt, sizeof(to->evidence[0]), cmp_ev);
}

static int cmp_fn(const void *pa, const void *pb)
{
	const struct fn_report *a = pa, *b = pb;
	int by_module;

	CMP(b->score, a->score);
	CMP(b->self, a->self);
	by_module = strcmp(a->module, b->module);
	return by_module ? by_module : strcmp(a->name, b->name);
}

/* Members of a tie keep its first one's rank; a tie of one is none. */
static void ties_make(struct functions_result *r)
{
	uint32_t tie = 0;

	for (size_t i = 0, end; i < r->fn_cnt; i = end) {
		for (end = i + 1; end < r->fn_cnt; end++)
			if (r->fns[end].score != r->fns[i].score)
				break;
		tie += end - i > 1;
		for (size_t k = i; k < end; k++) {
			r->fns[k].rank = (uint32_t)i + 1;
			r->fns[k].tie = end - i > 1 ? tie : 0;
			r->fns[k].tie_cnt = (uint32_t)(end - i);
		}
	}
}

void rank_sort(struct functions_result *r)
{
	qsort(r->fns, r->fn_cnt, sizeof(*r->fns), cmp_fn);
	r->candidate_cnt = r->fn_cnt;
	while (r->fn_cnt && (r->fn_cnt > LISTED_MAX || r->fns[r->fn_cnt - 1].score <= 0 ||
			     r->fns[r->fn_cnt - 1].score < LISTED_SHARE * r->fns[0].score))
		r->fn_cnt--;
	ties_make(r);
}

/* By harm, then in an order that no hash table and no order of events decides. */
static int cmp_site(const void *pa, const void *pb)
{
	const struct site *a = *(const struct site *const *)pa;
	const struct site *b = *(const struct site *const *)pb;
	double ha = site_harm_ns(a), hb = site_harm_ns(b);

	CMP(hb, ha);
	CMP(a->stack, b->stack);
	CMP(a->nr, b->nr);
	CMP(a->other, b->other);
	return 0;
}

void rank_stacks(const struct blame *b, struct functions_result *r, struct arena *arena)
{
	const struct appfns *fns = b->p->fns;
	struct folder f = {.b = b};
	const struct site **order = xcalloc(b->sites.cnt + 1, sizeof(struct site *));

	f.sums = xcalloc(fns->fn_cnt + 1, sizeof(*f.sums));
	for (size_t i = 0; i < b->sites.cnt; i++)
		order[i] = &b->sites.items[i];
	qsort(order, b->sites.cnt, sizeof(struct site *), cmp_site);
	for (size_t i = 0; i < b->sites.cnt; i++)
		fold_site(&f, order[i]);
	r->fns = ARENA_ARRAY(arena, struct fn_report, fns->fn_cnt + 1);
	for (size_t i = 0; i < fns->fn_cnt; i++) {
		struct fn_report *to = &r->fns[r->fn_cnt];

		if (f.sums[i].e + f.sums[i].p <= 0)
			continue;
		*to = (struct fn_report){.name = fns->fns[i].name, .module = fns->fns[i].module};
		report_make(b, &f.sums[i], to);
		r->fn_cnt++;
	}
	r->seen_fn_cnt = r->fn_cnt;
	free(f.sums);
	free(order);
	rank_sort(r);
}
