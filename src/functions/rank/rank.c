/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/rank/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "functions/units/app_frames.h"
#include "functions/units/function_requests.h"
#include "functions/units/normalize.h"
#include "functions/rank/vote.h"
#include "model/calls/calls.h"

/* Less of the requests' time than this in a function is no reason to show. */
#define HELD_MIN 0.01
/* Scores and parts are rounded to this: what differs by less is rounding, not evidence. */
#define SCORE_STEP 1e-9
/* The list as a whole is a guess where less of the harm is certain than is not. */
#define GUESS_SHARE 0.5

struct sums {			/* of one function */
	double e, e_weighted, e_self;
	double p, p_weighted, p_self;
	double own;		/* time without calls, harm or not, through it */
	uint32_t seen;		/* number of the last site, plus one */
	struct fn_evidence ev[FN_EVIDENCE_MAX];
	uint32_t ev_cnt;
	const char *name, *module;
	uint32_t group;		/* of signatures, plus one; 0 none */
};

struct folder {
	const struct blame *b;
	const struct held_fn *held; /* by fn of the stacks; NULL */
	double held_ns, held_all_ns;
	struct sums *sums;	/* by fn of the stacks, then what only signatures know */
	size_t cnt;
	uint32_t site;		/* number of the present one, plus one */
	double harm_ns;		/* of all */
};

/* The kind of evidence with most harm stay; the least makes room. */
static struct fn_evidence *ev_get(struct sums *s, unsigned nr, unsigned kind)
{
	struct fn_evidence *least = &s->ev[0];

	for (uint32_t i = 0; i < s->ev_cnt; i++) {
		struct fn_evidence *e = &s->ev[i];

		if (e->nr == nr && e->kind == kind)
			return e;
		if (e->harm_ns < least->harm_ns)
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

/* Weight of the step outwards to frame i; most: gathered by the best of the frames inside it. */
static double step_weight(const struct folder *f, const struct app_stack *st, uint32_t i,
			  double *most)
{
	double own = f->sums[st->frames[i].fn].own;

	if (own < GATHERS * *most)
		return PASSES_ON;
	*most = own;
	return 1;
}

/* frames: innermost first; from skip on, they count as self, caller, ... */
static void fold(struct folder *f, const struct site *site, const struct app_stack *st,
		 uint32_t skip)
{
	double harm = site_harm_ns(site), weight = 1, first = 1;
	double most = skip < st->cnt ? f->sums[st->frames[skip].fn].own : 0;

	f->site++;
	for (uint32_t i = skip; i < st->cnt; i++) {
		struct sums *s = &f->sums[st->frames[i].fn];

		weight = rank_weight_at(f->b->p->fns, st, i, weight, &first);
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
		if (site->sampled && i + 1 < st->cnt)
			weight *= step_weight(f, st, i + 1, &most);
		else
			weight *= CALLER_WEIGHT;
	}
}

/* So that fold knows what each function gathers. */
static void fold_own(struct folder *f, const struct site *site, const struct app_stack *st)
{
	double all = site_harm_ns(site) + site->usual_ns;

	f->site++;
	for (uint32_t i = 0; i < st->cnt; i++) {
		struct sums *s = &f->sums[st->frames[i].fn];

		if (s->seen != f->site) {
			s->seen = f->site;
			s->own += all;
		}
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
static double usual_weight(const struct folder *f)
{
	const struct blame *b = f->b;
	double normal_cnt = (double)(b->p->units.units.cnt - b->abnormal_cnt);
	double each = part(b->usual_ns, normal_cnt);
	double harm = part(f->harm_ns, (double)b->abnormal_cnt);

	return harm > each ? each / harm : 1;
}

/* The usual time that speaks for a function: w of its own calls', all of what it called. */
static double excuse(const struct folder *f, const struct sums *s)
{
	return part(usual_weight(f) * s->p_self + (s->p - s->p_self), f->b->usual_ns);
}

/* The share of the requests' time that a function holds, where that time is known. */
static double held_cost(const struct folder *f, const struct held_fn *held, double all,
			double cost)
{
	double known = part(f->held_ns, all);

	return known * held_score(held) + (1 - known) * cost;
}

/* Beside deviations, before them where it weighs more: first is what is shown in one line. */
static void held_add(const struct folder *f, const struct held_fn *held, bool first,
		     struct fn_report *to)
{
	const double ns[] = {held->wait_ns, held->run_ns};
	struct fn_evidence all[FN_EVIDENCE_MAX + 2];
	uint32_t cnt = 0, devs = to->evidence_cnt;

	to->held_share = held->all * part(f->held_ns, f->held_all_ns);
	if (!first)
		memcpy(all, to->evidence, devs * sizeof(all[0]));
	cnt += first ? 0 : devs;
	for (unsigned i = 0; i < 2; i++)
		if (ns[i] >= HELD_MIN * f->held_ns && ns[i] > 0)
			all[cnt++] = (struct fn_evidence){
				.nr = NR_OWN, .kind = i ? DEV_WORKS : DEV_HELD,
				.self = held->self_most, .harm_ns = (uint64_t)ns[i],
				.stack = held->stack, .episode = ""};
	if (first)
		memcpy(all + cnt, to->evidence, devs * sizeof(all[0]));
	cnt += first ? devs : 0;
	to->evidence_cnt = cnt < FN_EVIDENCE_MAX ? cnt : FN_EVIDENCE_MAX;
	memcpy(to->evidence, all, to->evidence_cnt * sizeof(all[0]));
}

static void report_make(const struct folder *f, const struct sums *s, struct fn_report *to)
{
	const struct blame *b = f->b;
	const struct held_fn *held = f->held && s < f->sums + b->p->fns->fn_cnt
					     ? &f->held[s - f->sums] : NULL;
	double harm = f->harm_ns, usual = b->usual_ns, all = harm + usual;
	double every = all > f->held_ns ? all : f->held_ns;
	double sure = part(harm, harm + HARM_SHARE * every);
	double p = part(s->p, usual);
	double cost = rank_score(part(s->e_weighted + s->p_weighted, all),
				 part(s->e + s->p, all), 0);

	if (held)
		cost = held_cost(f, held, every, cost);
	to->harm_share = part(s->e, harm);
	/* samples between units, too, are usual time: their sum may pass that of the units */
	to->usual_share = p < 1 ? p : 1;
	to->self = rounded(part(s->e_self, harm));
	to->score = rounded(sure * rank_score(part(s->e_weighted, harm), to->harm_share,
					      excuse(f, s)) +
			    (1 - sure) * COST_WEIGHT * cost);
	to->evidence_cnt = s->ev_cnt;
	memcpy(to->evidence, s->ev, sizeof(to->evidence));
	qsort(to->evidence, to->evidence_cnt, sizeof(to->evidence[0]), cmp_ev);
	if (held)
		held_add(f, held, sure * to->harm_share < (1 - sure) * held->all, to);
}

static int cmp_fn(const void *pa, const void *pb)
{
	const struct fn_report *a = pa, *b = pb;
	int by_module;

	CMP(b->place, a->place);
	CMP(a->group, b->group);
	CMP(b->score, a->score);
	CMP(b->self, a->self);
	by_module = strcmp(a->module, b->module);
	return by_module ? by_module : strcmp(a->name, b->name);
}

static bool same_place(const struct fn_report *a, const struct fn_report *b)
{
	return a->group || b->group ? a->group == b->group
				    : a->place == b->place && a->self == b->self;
}

/* Members of a tie keep its first one's rank; a tie of one is none. */
void rank_ties(struct functions_result *r)
{
	uint32_t tie = 0;

	for (size_t i = 0, end; i < r->fn_cnt; i = end) {
		for (end = i + 1; end < r->fn_cnt; end++)
			if (!same_place(&r->fns[end], &r->fns[i]))
				break;
		tie += end - i > 1;
		for (size_t k = i; k < end; k++) {
			r->fns[k].rank = (uint32_t)i + 1;
			r->fns[k].tie = end - i > 1 ? tie : 0;
			r->fns[k].tie_cnt = (uint32_t)(end - i);
		}
	}
}

/* Each group stands at the place of its best. */
static void places_make(struct functions_result *r)
{
	CLEANUP(hmap_release) struct hmap best = {0};

	for (size_t i = 0; i < r->fn_cnt; i++) {
		struct fn_report *f = &r->fns[i];
		uint64_t *slot;

		f->place = f->score;
		if (!f->group)
			continue;
		slot = hmap_slot(&best, f->group);
		if (!*slot || r->fns[*slot - 1].score < f->score)
			*slot = i + 1;
	}
	for (size_t i = 0; i < r->fn_cnt; i++)
		if (r->fns[i].group)
			r->fns[i].place = r->fns[*hmap_slot(&best, r->fns[i].group) - 1].score;
}

void rank_sort(struct functions_result *r)
{
	places_make(r);
	qsort(r->fns, r->fn_cnt, sizeof(*r->fns), cmp_fn);
	r->candidate_cnt = r->fn_cnt;
	while (r->fn_cnt && (r->fn_cnt > LISTED_MAX || r->fns[r->fn_cnt - 1].place <= 0 ||
			     r->fns[r->fn_cnt - 1].place < LISTED_SHARE * r->fns[0].place))
		r->fn_cnt--;
	rank_ties(r);
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

static void fold_stacks(struct folder *f)
{
	const struct blame *b = f->b;
	const struct appfns *fns = b->p->fns;
	const struct site **order = xcalloc(b->sites.cnt + 1, sizeof(struct site *));

	for (size_t i = 0; i < fns->fn_cnt; i++) {
		f->sums[i].name = fns->fns[i].name;
		f->sums[i].module = fns->fns[i].module;
	}
	for (size_t i = 0; i < b->sites.cnt; i++)
		order[i] = &b->sites.items[i];
	qsort(order, b->sites.cnt, sizeof(struct site *), cmp_site);
	for (size_t i = 0; i < b->sites.cnt; i++)
		if (order[i]->sampled && order[i]->stack != NO_IDX)
			fold_own(f, order[i], &fns->stacks[order[i]->stack]);
	for (size_t i = 0; i < b->sites.cnt; i++)
		fold_site(f, order[i]);
	free(order);
}

/* ---- signatures */

static const char *sig_module_name(const struct sigs *s, const struct sig_fn *fn)
{
	return fn->module == SIG_NO_MODULE ? "" : s->modules[fn->module].name;
}

static const char *episode_text(const struct sigs *s, uint32_t id, struct arena *arena)
{
	CLEANUP(buf_release) struct buf b = {0};
	const struct episode *e = &s->episodes[id];

	for (unsigned i = 0; i < e->len; i++)
		buf_printf(&b, "%s%s", i ? " " : "", s->call_names[e->syms[i]]);
	return arena_strdup(arena, buf_str(&b));
}

static const char *name_of(const struct model *m, uint16_t nr)
{
	return nr == SYM_NONE ? "" : model_call_name(m, nr);
}

/* "read ... write" for the time between them, "read futex write" for a call. */
static const char *place_text(const struct model *m, const struct vote_evidence *e,
			      struct arena *arena)
{
	return arena_printf(arena, "%s %s %s", name_of(m, e->before),
			    e->nr == NR_OWN ? "..." : model_call_name(m, e->nr),
			    name_of(m, e->after));
}

static uint64_t name_hash(const char *module, const char *name)
{
	return hash_u64(hash_bytes(module, strlen(module)) + 1) ^ hash_bytes(name, strlen(name));
}

static void vote_fold(const struct folder *f, struct sums *to, const struct votes *v,
		      const struct sigs *s, double usual_scale, struct arena *arena)
{
	to->e += v->harm_ns;
	to->e_weighted += v->near_ns;
	to->e_self += v->self_ns;
	to->p += v->usual_ns * usual_scale;
	to->p_self += v->usual_ns * usual_scale; /* whose calls they were is not known */
	to->p_weighted += v->usual_near_ns * usual_scale;
	for (uint32_t i = 0; i < v->ev_cnt; i++) {
		struct fn_evidence *e = ev_get(to, v->ev[i].nr, v->ev[i].kind);

		e->harm_ns += (uint64_t)v->ev[i].harm_ns;
		e->cnt += v->ev[i].cnt;
		e->unit_cnt += v->ev[i].unit_cnt;
		e->self = v->self_ns * 2 > v->harm_ns;
		e->episode = v->ev[i].episode == NO_IDX
				     ? place_text(f->b->p->m, &v->ev[i], arena)
				     : episode_text(s, v->ev[i].episode, arena);
	}
}

/* true: most of the harm is laid on functions that were never seen where it is. */
static bool fold_votes(struct folder *f, const struct sigs *s, struct arena *arena)
{
	CLEANUP(hmap_release) struct hmap by_name = {0};
	struct vote_sums all;
	const struct votes *votes = vote_make(f->b, s, arena, &all);
	double scale = part(f->b->usual_ns, all.usual_ns);

	f->harm_ns -= all.home_ns;
	for (size_t i = 0; i < f->cnt; i++)
		*hmap_slot(&by_name, name_hash(f->sums[i].module, f->sums[i].name)) = i + 1;
	for (uint32_t i = 0; i < s->fn_cnt; i++) {
		const char *module = sig_module_name(s, &s->fns[i]);
		uint64_t *slot = hmap_slot(&by_name, name_hash(module, s->fns[i].name));
		struct sums *to;

		if (!*slot)
			*slot = ++f->cnt;
		to = &f->sums[*slot - 1];
		to->name = s->fns[i].name;
		to->module = module;
		/* places tell functions apart whose episodes are the same */
		if (!f->b->p->fns && votes[i].place_ns <= 0 && s->fns[i].group != SIG_NO_GROUP &&
		    s->groups[s->fns[i].group].cnt > 1)
			to->group = s->fns[i].group + 1;
		vote_fold(f, to, &votes[i], s, f->b->p->fns ? 0 : scale, arena);
	}
	return !all.call_stacks && all.guess_ns > GUESS_SHARE * f->harm_ns;
}

void rank_make(const struct ranking *by, struct functions_result *r, struct arena *arena)
{
	const struct blame *b = by->b;
	const struct sigs *sigs = by->sigs;
	size_t max = (b->p->fns ? b->p->fns->fn_cnt : 0) + (sigs ? sigs->fn_cnt : 0);
	struct folder f = {.b = b, .cnt = b->p->fns ? b->p->fns->fn_cnt : 0,
			   .harm_ns = b->harm_ns};

	f.sums = xcalloc(max + 1, sizeof(*f.sums));
	if (b->p->fns)
		fold_stacks(&f);
	if (b->p->fns && by->held && by->held->ns > 0) {
		f.held = held_fns(b->p->fns, by->held, arena);
		f.held_ns = by->held->ns;
		f.held_all_ns = by->held->all_ns;
	}
	if (sigs && fold_votes(&f, sigs, arena))
		r->thin |= THIN_GUESS;
	r->fns = ARENA_ARRAY(arena, struct fn_report, f.cnt + 1);
	for (size_t i = 0; i < f.cnt; i++) {
		struct fn_report *to = &r->fns[r->fn_cnt];
		const struct sums *s = &f.sums[i];

		double held = f.held && i < b->p->fns->fn_cnt ? f.held[i].all : 0;

		r->seen_fn_cnt += s->e + s->p + held > 0 || sigs;
		if (s->e + s->p + held <= 0)
			continue;
		*to = (struct fn_report){.name = s->name, .module = s->module, .group = s->group};
		report_make(&f, s, to);
		r->fn_cnt++;
	}
	free(f.sums);
	rank_sort(r);
}
