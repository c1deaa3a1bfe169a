/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a window: profile (units, clusters, what is usual), judge (which
 * units deviate, and at what cost), blame (on which stacks), rank.
 */
#include "functions/functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cmp.h"
#include "functions/units/app_frames.h"
#include "functions/rank/attribute.h"
#include "functions/units/pending_wait.h"
#include "functions/rank/stuck.h"
#include "functions/units/function_requests.h"
#include "functions/sig/learnt_homes.h"
#include "functions/units/work_waits_fn.h"
#include "functions/sig/learn.h"
#include "functions/rank/chain_end.h"
#include "functions/rank/external.h"
#include "functions/rank/rank.h"
#include "functions/sig/sig.h"
#include "model/calls/calls.h"
#include "model/stack.h"

enum {
	UNITS_MIN = 20,		/* fewer: what is usual is a guess */
	UNITS_SHOWN = 100,	/* abnormal units in the result */
};
#define HARM_MIN_SHARE 0.005	/* of all time; less than this is what chance makes */
#define NAMELESS_SHARE 0.5
#define OWN_SHARE 0.5		/* of the harm, in spins: then no outside cause is looked for */
#define QUEUED_SHARE 0.5		/* then functions are known of the smaller part */

struct analysis {
	struct functions_result *r;
	struct arena *arena;
	struct homes homes;
	struct profile p, good;
	struct judge judge;
	struct blame blame;
	struct hangs hangs;
};

const char *dev_kind_name(unsigned kind)
{
	static const char *const names[] = {"more", "slower", "never-returned", "own-time",
					    "spins", "cost", "held", "works", "ends"};

	return kind < DEV_KIND_CNT ? names[kind] : "?";
}

static const struct { uint32_t bit; const char *name, *text; } thins[] = {
	{THIN_NO_CALLS, "no-calls", "there is no window of system calls in it: heldup functions "
	 "-p PID, or heldup record"},
	{THIN_SILENT, "silent", "no call ended or began in the window: samples of running "
	 "threads are all there is"},
	{THIN_NO_STACKS, "no-stacks", "the calls have no stacks: functions are known by "
	 "signatures, where there are some, and by samples of what runs"},
	{THIN_NO_SIGNATURES, "no-signatures", "no stacks and no signatures: calls and threads "
	 "are reported, functions are not"},
	{THIN_SIGS_OTHER, "other-build", "the signatures are of another build of the program"},
	{THIN_FEW_UNITS, "few-units", "few execution units: the baseline is a guess"},
	{THIN_NO_HARM, "no-deviation", "no execution unit stands out from the others: "
	 "ranked by where time goes; a good capture (--baseline) tells more"},
	{THIN_LOST, "lost", "calls were lost"},
	{THIN_NO_TIMES, "no-times", "the trace has no durations: only numbers of calls count"},
	{THIN_NO_SAMPLES, "no-samples", "no samples of running threads: time between calls is "
	 "inferred from the calls around it"},
	{THIN_NO_NAMES, "no-names", "most functions have no names: symbols are missing"},
	{THIN_AWAY, "away", "recorded a part of the time only, to keep the cost down"},
	{THIN_MANY_PATTERNS, "many-patterns", "more kinds of work than are compared exactly"},
	{THIN_MANY_CALLS, "many-calls", "more kinds of calls than are kept apart: the rarest were "
	 "left out"},
	{THIN_QUEUED, "queued", "for most of their time nobody was at work for the requests: they "
	 "queue, and no stack shows where; heldup why tells for what"},
	{THIN_BLOCKING, "blocking", "of most of the time only calls that blocked are known: what "
	 "was done by others is known by samples"},
	{THIN_COARSE, "coarse", "of most of that time only calls over 1 ms, to keep the cost down"},
	{THIN_GUESS, "guess", "most of what went wrong was never seen where it is now, or took far "
	 "less time there, when the signatures were learnt: the functions are guesses"},
};

const char *functions_thin_text(uint32_t bit)
{
	for (size_t i = 0; i < sizeof(thins) / sizeof(*thins); i++)
		if (thins[i].bit == bit)
			return thins[i].text;
	return NULL;
}

const char *functions_thin_name(uint32_t bit)
{
	for (size_t i = 0; i < sizeof(thins) / sizeof(*thins); i++)
		if (thins[i].bit == bit)
			return thins[i].name;
	return NULL;
}

/* ---- clusters and units for the report */

static const uint16_t *key_nrs(const struct profile *p, const struct cluster *c, uint32_t *ret_cnt,
			       struct arena *arena)
{
	uint16_t *nrs = ARENA_ARRAY(arena, uint16_t, p->dims.cnt + 1);

	for (unsigned d = 1; d < p->dims.cnt; d++)
		if (c->key[d / 64] >> d % 64 & 1)
			nrs[(*ret_cnt)++] = p->dims.nr_of[d];
	return nrs;
}

static void clusters_report(struct analysis *a)
{
	struct functions_result *r = a->r;
	const struct profile *p = &a->p;

	r->cluster_cnt = p->cluster_cnt;
	r->clusters = ARENA_ARRAY(a->arena, struct cluster_report, p->cluster_cnt + 1);
	for (uint32_t i = 0; i < p->cluster_cnt; i++) {
		const struct cluster *c = &p->clusters[i];
		struct cluster_report *to = &r->clusters[i];

		to->nrs = key_nrs(p, c, &to->nr_cnt, a->arena);
		to->pattern_cnt = c->pattern_cnt;
		to->unit_cnt = c->unit_cnt;
		to->abnormal_cnt = a->blame.abnormal_of[i];
		to->usual_ns = c->centre.usual_ns;
		to->small = c->unit_cnt < CLUSTER_UNITS_MIN;
	}
}

static int cmp_dev(const void *pa, const void *pb)
{
	const struct deviation *a = pa, *b = pb;

	CMP(b->harm_ns, a->harm_ns);
	CMP(a->dim, b->dim);
	CMP(a->kind, b->kind);
	return 0;
}

/* The longest call of a dimension in the unit, or time between two. */
static uint64_t longest_of(const struct analysis *a, const struct unit *u, unsigned dim)
{
	const struct model_calls *c = a->p.m->calls;
	uint64_t most = 0;

	for (uint32_t i = u->first; i < u->first + u->cnt; i++) {
		const struct call *call = &c->calls[i];
		bool has_next = i + 1 < u->first + u->cnt;
		uint64_t ns = dim != DIM_OWN ? call->dur_ns
			    : has_next ? own_gap_ns(c, call, call + 1) : 0;

		if ((dim == DIM_OWN || a->p.dims.of_nr[call->nr] == dim) && ns > most)
			most = ns;
	}
	return most;
}

static struct unit_dev dev_report(const struct analysis *a, const struct vectors *v,
				  const struct judged *j, const struct deviation *d,
				  const struct unit *u)
{
	const struct feature *f = &v->at[d->dim];
	uint64_t mean_ns = f->cnt ? f->ns / f->cnt : 0;

	if (d->kind == DEV_NEVER)
		mean_ns = a->p.m->calls->calls[u->first + u->cnt - 1].dur_ns;
	return (struct unit_dev){
		.nr = d->dim == DIM_OWN ? NR_OWN : a->p.dims.nr_of[d->dim], .kind = d->kind,
		.cnt = f->cnt, .usual_cnt = (float)d->usual_cnt,
		.mean_ns = mean_ns, .usual_ns = (uint64_t)d->usual_ns,
		.max_ns = d->kind == DEV_NEVER ? mean_ns : longest_of(a, u, d->dim),
		.harm_ns = (uint64_t)(d->harm_ns * j->weight)};
}

static void unit_report(struct analysis *a, uint32_t unit, struct vectors *v, struct judged *j)
{
	const struct unit *u = &a->p.units.units.items[unit];
	struct unit_report *to = &a->r->units[a->r->unit_report_cnt++];
	const struct point *pt = &a->judge.outliers.points[u->shape];

	vectors_of(v, u);
	judge_unit(&a->judge, u, v, j);
	qsort(j->devs, j->dev_cnt, sizeof(j->devs[0]), cmp_dev);
	*to = (struct unit_report){
		.thread = a->p.m->calls->calls[u->first].thread, .first = u->first,
		.cnt = u->cnt, .cluster = u->pattern, .next = NO_IDX, .before = NO_IDX,
		.reasons = j->reasons, .score = pt->score > pt->top ? pt->score : pt->top,
		.begin_ns = unit_begin_ns(a->p.m, u), .end_ns = unit_end_ns(a->p.m, u),
		.harm_ns = (uint64_t)j->harm_ns, .waits_for = NO_IDX};
	for (uint32_t i = 0; i < j->dev_cnt && i < UNIT_DEVS; i++)
		to->devs[to->dev_cnt++] = dev_report(a, v, j, &j->devs[i], u);
	if (j->reasons & UNIT_STUCK)
		to->waits_for = hangs_waits_for(a->p.m, to->thread);
}

static void spin_report(struct analysis *a, const struct spin *s)
{
	struct unit_report *to = &a->r->units[a->r->unit_report_cnt++];

	*to = (struct unit_report){
		.thread = s->thread, .cluster = NO_IDX, .next = NO_IDX, .before = NO_IDX,
		.waits_for = NO_IDX, .reasons = UNIT_STUCK, .begin_ns = s->begin_ns,
		.end_ns = s->end_ns, .harm_ns = (uint64_t)s->harm_ns, .dev_cnt = 1};
	to->devs[0] = (struct unit_dev){.nr = NR_OWN, .kind = DEV_SPINS,
					.mean_ns = s->quiet_ns, .max_ns = s->quiet_ns,
					.harm_ns = (uint64_t)s->harm_ns};
}

static int cmp_report(const void *pa, const void *pb)
{
	const struct unit_report *a = pa, *b = pb;

	CMP(a->reasons & UNIT_RESTS, b->reasons & UNIT_RESTS);
	CMP(b->harm_ns, a->harm_ns);
	CMP(a->thread, b->thread);
	CMP(a->begin_ns, b->begin_ns);
	return 0;
}

/* Links the reported units just before and just after in time, of the same thread. */
static void units_link(struct functions_result *r)
{
	for (uint32_t i = 0; i < r->unit_report_cnt; i++) {
		struct unit_report *u = &r->units[i];

		for (uint32_t k = 0; k < r->unit_report_cnt; k++) {
			const struct unit_report *o = &r->units[k];

			if (o->begin_ns < u->begin_ns &&
			    (u->before == NO_IDX || o->begin_ns > r->units[u->before].begin_ns))
				u->before = k;
			if (o->begin_ns > u->begin_ns &&
			    (u->next == NO_IDX || o->begin_ns < r->units[u->next].begin_ns))
				u->next = k;
		}
	}
}

static void units_report(struct analysis *a)
{
	size_t cnt = a->blame.bad.cnt < UNITS_SHOWN ? a->blame.bad.cnt : UNITS_SHOWN;
	struct vectors *v = vectors_new(a->p.m, &a->p.dims);
	struct judged *j = xcalloc(1, sizeof(*j));

	a->r->units = ARENA_ARRAY(a->arena, struct unit_report, cnt + a->hangs.spin_cnt + 1);
	for (size_t i = 0; i < cnt; i++)
		unit_report(a, a->blame.bad.items[i].unit, v, j);
	for (uint32_t i = 0; i < a->hangs.spin_cnt; i++)
		spin_report(a, &a->hangs.spins[i]);
	qsort(a->r->units, a->r->unit_report_cnt, sizeof(*a->r->units), cmp_report);
	if (a->r->unit_report_cnt > UNITS_SHOWN)
		a->r->unit_report_cnt = UNITS_SHOWN;
	units_link(a->r);
	vectors_free(v);
	free(j);
}

/* ---- which units speak for a function */

static bool stack_has(const struct appfns *fns, uint32_t stack, const struct fn_report *f)
{
	const struct app_stack *st = stack == NO_IDX ? NULL : &fns->stacks[stack];

	for (uint32_t i = 0; st && i < st->cnt; i++)
		if (fns->fns[st->frames[i].fn].name == f->name &&
		    fns->fns[st->frames[i].fn].module == f->module)
			return true;
	return false;
}

/* The time between calls: most samples taken meanwhile, else the calls around it, are in it. */
static bool own_has(const struct analysis *a, const struct unit_report *u,
		    const struct fn_report *f)
{
	const struct blame *b = &a->blame;
	uint32_t in = 0, all = 0;

	for (uint32_t i = b->samples ? b->sample_first[u->thread] : 0;
	     b->samples && i < b->sample_first[u->thread + 1]; i++) {
		const struct sample *s = &a->p.m->samples[b->samples[i]];

		if (s->ts_ns < u->begin_ns || s->ts_ns > u->end_ns)
			continue;
		all++;
		in += stack_has(a->p.fns, s->stack, f);
	}
	for (uint32_t i = u->first; !all && !in && i < u->first + u->cnt; i++)
		in += stack_has(a->p.fns, a->p.m->calls->calls[i].stack, f);
	return 2 * in > all;
}

/* A call that is to blame for the deviation: not one of the same name that was quick. */
static bool is_of_dev(const struct unit_dev *d, const struct call *c)
{
	if (d->nr != c->nr)
		return false;
	return d->kind == DEV_NEVER ? c->result == CALL_UNFINISHED
	     : d->kind != DEV_SLOWER || c->dur_ns >= d->mean_ns;
}

static bool unit_has(const struct analysis *a, const struct unit_report *u,
		     const struct fn_report *f)
{
	const struct model_calls *c = a->p.m->calls;

	if (!u->cnt)
		return own_has(a, u, f);
	for (uint32_t d = 0; d < u->dev_cnt; d++) {
		if (u->devs[d].nr == NR_OWN && own_has(a, u, f))
			return true;
		for (uint32_t i = u->first; i < u->first + u->cnt; i++)
			if (is_of_dev(&u->devs[d], &c->calls[i]) &&
			    stack_has(a->p.fns, c->calls[i].stack, f))
				return true;
	}
	return false;
}

static void fn_units(struct analysis *a)
{
	for (size_t i = 0; a->p.fns && i < a->r->fn_cnt; i++) {
		struct fn_report *f = &a->r->fns[i];

		for (uint32_t k = 0; k < a->r->unit_report_cnt && f->unit_cnt < FN_UNITS_MAX; k++)
			if (unit_has(a, &a->r->units[k], f))
				f->units[f->unit_cnt++] = k;
	}
}

/* ---- what remains unknown */

static bool is_nameless(const char *name)
{
	return strstr(name, "+0x") != NULL;
}

static void thin_find(struct analysis *a, const struct sigs *sigs, const struct held *held)
{
	struct functions_result *r = a->r;
	const struct model_calls *c = r->m->calls;
	size_t nameless = 0;

	for (size_t i = 0; i < r->fn_cnt; i++)
		nameless += is_nameless(r->fns[i].name);
	if (!r->call_cnt)
		r->thin |= THIN_SILENT;
	if (!r->stack_cnt && r->call_cnt)
		r->thin |= sigs || a->p.fns ? THIN_NO_STACKS : THIN_NO_SIGNATURES;
	if (r->unit_cnt < UNITS_MIN)
		r->thin |= THIN_FEW_UNITS;
	if ((double)r->harm_ns < HARM_MIN_SHARE * (double)(r->busy_ns + r->harm_ns))
		r->thin |= THIN_NO_HARM;
	if (r->held_ns && held->queued_ns > QUEUED_SHARE * held->all_ns)
		r->thin |= THIN_QUEUED;
	if (r->away_ns)
		r->thin |= THIN_AWAY;
	if (r->part_ns > (r->end_ns - r->begin_ns) / 2)
		r->thin |= THIN_BLOCKING;
	if (r->coarse_ns > r->part_ns / 2)
		r->thin |= THIN_COARSE;
	if ((c->lost_cnt && !r->away_ns) || c->dropped_cnt)
		r->thin |= THIN_LOST;
	if (a->p.fns && !r->m->sample_cnt)
		r->thin |= THIN_NO_SAMPLES;
	if (r->fn_cnt && (double)nameless > NAMELESS_SHARE * (double)r->fn_cnt)
		r->thin |= THIN_NO_NAMES;
	if (r->pattern_cnt > CLUSTER_EXACT_MAX)
		r->thin |= THIN_MANY_PATTERNS;
	if (r->folded_cnt)
		r->thin |= THIN_MANY_CALLS;
}

static void counts_fill(struct analysis *a, const struct functions_opts *o)
{
	struct functions_result *r = a->r;
	const struct model_calls *c = r->m->calls;
	uint64_t all_ns = 0;

	for (size_t i = 0; i < c->cnt; i++) {
		r->stack_cnt += c->calls[i].stack != NO_IDX;
		r->part_cnt += !!(c->calls[i].flags & CALLF_WAIT);
		all_ns |= c->calls[i].dur_ns;
	}
	if (c->cnt && !all_ns)
		r->thin |= THIN_NO_TIMES;
	r->begin_ns = c->begin_ns;
	r->end_ns = c->end_ns;
	r->call_cnt = c->cnt;
	r->lost_cnt = c->lost_cnt + c->dropped_cnt;
	r->skipped_cnt = c->skipped_cnt;
	r->away_ns = calls_time_in(c->aways, c->away_cnt, c->begin_ns, c->end_ns);
	r->part_ns = calls_time_in(c->parts, c->part_cnt, c->begin_ns, c->end_ns);
	r->coarse_ns = calls_time_in(c->coarse, c->coarse_cnt, c->begin_ns, c->end_ns);
	r->total_fn_cnt = o->total_fn_cnt;
}

static void results_fill(struct analysis *a, const struct held *held)
{
	struct functions_result *r = a->r;

	r->noise_cnt = a->p.units.noise_cnt;
	r->folded_cnt = a->p.dims.folded_cnt;
	r->unit_cnt = a->p.units.units.cnt;
	r->idle_cnt = a->p.units.idle_cnt;
	r->torn_cnt = a->p.units.torn_cnt;
	r->busy_ns = a->p.busy_ns;
	r->abnormal_cnt = a->blame.abnormal_cnt;
	r->harm_ns = (uint64_t)a->blame.harm_ns;
	r->held_ns = a->p.fns && held ? (uint64_t)held->all_ns : 0;
	r->pattern_cnt = a->p.pattern_cnt;
	r->baseline = a->judge.baseline;
	r->mem_bytes = a->p.bytes + a->judge.outliers.bytes +
		       a->blame.sites.cap * sizeof(struct site) + a->blame.by_key.cap * 17 +
		       a->arena->used_bytes;
}

static void sigs_fit(struct analysis *a, const struct sigs *sigs)
{
	struct sig_module *running;
	struct sig_check check;
	size_t cnt;

	if (!sigs)
		return;
	running = sig_modules(a->p.m, a->arena, &cnt);
	check = sig_check(sigs, running, cnt, a->arena);
	if (cnt && sig_check_text(&check, a->arena))
		a->r->thin |= THIN_SIGS_OTHER;
	if (!a->r->total_fn_cnt)
		a->r->total_fn_cnt = sigs->fn_cnt;
}

/* The profiles of the window and of the good one, if any. */
static void profiles_make(struct analysis *a, const struct sigs *sigs,
			  const struct functions_opts *o, const struct appfns *fns)
{
	struct profile_opts opts = {fns, &a->homes, o->units};

	if (a->r->stack_cnt && o->held) {
		homes_of_held(&a->homes, o->held, fns);
	} else if (!a->r->stack_cnt && sigs) {
		uint32_t name_cnt;
		const char **names = model_call_names(a->r->m, a->arena, &name_cnt);

		homes_of_sigs(&a->homes, sigs, sig_bind(sigs, names, name_cnt, a->arena));
	}
	profile_make(&a->p, a->r->m, &opts, a->arena);
	if (!o->good || !o->good->calls->cnt)
		return;
	opts = (struct profile_opts){.rule = o->units,
				     .fns = fns ? appfns_make(o->good, a->arena) : NULL};
	profile_make(&a->good, o->good, &opts, a->arena);
}

/* The same model, and no call has a stack; what runs is sampled all the same. */
static const struct model *without_stacks(const struct model *m, struct arena *arena)
{
	struct model *to = ARENA_NEW(arena, struct model);
	struct model_calls *calls = ARENA_NEW(arena, struct model_calls);

	*to = *m;
	*calls = *m->calls;
	calls->calls = ARENA_ARRAY(arena, struct call, m->calls->cnt + 1);
	for (size_t i = 0; i < m->calls->cnt; i++) {
		calls->calls[i] = m->calls->calls[i];
		calls->calls[i].stack = NO_IDX;
	}
	to->calls = calls;
	return to;
}

/* A loop that does not end is the program's own, whoever else has the CPU meanwhile. */
static void outside_add(struct analysis *a, const struct functions_opts *o)
{
	const struct blame *b = &a->blame;

	if (b->class_harm[DEV_SPINS] > OWN_SHARE * b->harm_ns)
		return;
	outside_find(b, a->r->fn_cnt ? a->r->fns[0].score : 0, &a->r->outside, a->arena);
	if (o->outside)
		outside_told(&a->r->outside, o->outside);
}

static void run(struct analysis *a, const struct sigs *sigs, const struct functions_opts *o)
{
	const struct model *m = a->r->m;
	const struct appfns *fns = a->r->stack_cnt || m->sample_cnt ? appfns_make(m, a->arena)
								    : NULL;
	bool good = o->good && o->good->calls->cnt;

	profiles_make(a, sigs, o, fns);
	judge_make(&a->judge, &a->p, good ? &a->good : NULL, sigs, a->arena);
	hangs_weigh(&a->judge, &a->homes);
	if (fns && o->held)
		judge_feel(&a->judge, o->held);
	blame_init(&a->blame, &a->judge, sigs, a->arena);
	blame_units(&a->blame);
	hangs_find(&a->blame, &a->hangs, a->arena);
	blame_samples(&a->blame);
	if (fns || sigs)
		rank_make(&(struct ranking){&a->blame, sigs, o->held}, a->r, a->arena);
	a->r->by_signatures = !a->r->stack_cnt && sigs;
	sigs_fit(a, sigs);
	clusters_report(a);
	units_report(a);
	fn_units(a);
	outside_add(a, o);
	results_fill(a, o->held);
	thin_find(a, sigs, o->held);
	if (o->end)
		chain_end_first(a->r, o->end, a->arena);
	blame_release(&a->blame);
	judge_release(&a->judge);
	profile_release(&a->p);
	homes_release(&a->homes);
	if (good)
		profile_release(&a->good);
}

const struct functions_result *functions_analyse(const struct model *m, const struct sigs *sigs,
						 const struct functions_opts *opts,
						 struct arena *arena)
{
	static const struct functions_opts defaults;
	struct analysis a = {.arena = arena, .r = ARENA_NEW(arena, struct functions_result)};

	if (opts && opts->calls_only)
		m = without_stacks(m, arena);
	a.r->m = m;
	a.r->outside.who = "";
	counts_fill(&a, opts ? opts : &defaults);
	/* who spins makes none in all of a window */
	if (m->calls->end_ns)
		run(&a, sigs, opts ? opts : &defaults);
	else
		a.r->thin |= THIN_NO_CALLS;
	return a.r;
}
