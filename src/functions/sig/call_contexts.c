/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/sig/call_contexts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "base/search.h"
#include "functions/units/app_frames.h"
#include "functions/units/profile.h"
#include "functions/units/caller_weight.h"
#include "model/calls/calls.h"
#include "model/model.h"
#include "model/stack.h"

_Static_assert((RES_KIND_CNT << SIG_KIND_SHIFT) <= SIG_WHAT_MAX, "kinds of descriptors");

struct walk {
	const struct profile *p;
	struct sig_place_set *set;
	const struct sample **seen; /* by thread, time */
	size_t at, cnt;
	double *own;		/* by fn: samples between calls that it was on */
	uint32_t *last;		/* by fn: number of the last stack it was on, plus one */
	uint32_t number;
};

/* Two doublings of nanoseconds are one bin. */
static uint8_t place_bin(uint64_t ns)
{
	unsigned bin = ns ? (63u - (unsigned)__builtin_clzll(ns)) / 2 : 0;

	return (uint8_t)(bin < SIG_BIN_MAX ? bin : SIG_BIN_MAX);
}

/* ---- the place of a call */

void thread_calls_make(struct thread_calls *t, const struct profile *p, uint32_t thread)
{
	const struct call_run *run = &p->m->calls->runs[thread];

	if (t->made && t->p == p && t->thread == thread)
		return;
	t->made = true;
	t->p = p;
	t->noise = p->dims.noise;
	t->thread = thread;
	t->last_end = 0;
	norm_calls(&t->norm, p->m->calls->calls, run->first, run->cnt, t->noise);
}

void thread_calls_release(struct thread_calls *t)
{
	norm_release(&t->norm);
}

static unsigned main_flag(const struct thread_calls *t)
{
	const struct thread *thread = &t->p->m->threads[t->thread];

	return thread->tid == thread->tgid ? SIG_MAIN : 0;
}

/* One past the symbol that the call is of, or that comes before it. */
static size_t symbol_end(struct thread_calls *t, uint32_t call)
{
	const uint32_t *first = t->norm.first;
	size_t end = t->last_end;

	/* calls are asked for in their order */
	if (end && end <= t->norm.cnt && first[end - 1] <= call &&
	    (end == t->norm.cnt || call < first[end]))
		return end;
	t->last_end = SORTED_PREFIX(t->norm.first, t->norm.cnt, it, *it <= call);
	return t->last_end;
}

static uint16_t symbol(const struct thread_calls *t, size_t at)
{
	return at < t->norm.cnt ? t->norm.syms[at] : SIG_NO_CALL; /* before the first wraps */
}

struct sig_place call_place(struct thread_calls *t, uint32_t call)
{
	const struct call *c = &t->p->m->calls->calls[call];
	size_t s = symbol_end(t, call) - 1;
	unsigned blocked = c->result == CALL_UNFINISHED || call_blocked(&t->p->units, c);

	return (struct sig_place){
		.around = {symbol(t, s - 3), symbol(t, s - 2), symbol(t, s - 1), c->nr,
			   symbol(t, s + 1), symbol(t, s + 2)},
		.what = (uint16_t)((unsigned)c->kind << SIG_KIND_SHIFT | main_flag(t) |
				  (t->norm.first[s] == call ? SIG_FIRST : 0) |
				  (blocked ? SIG_BLOCKED : 0)),
		.bin = blocked ? place_bin(c->dur_ns) : 0, .cnt = 1};
}

/* The gap before a call of symbol next; its own when it repeats, as repeat says. */
static struct sig_place gap_before(const struct thread_calls *t, size_t next, bool repeat)
{
	size_t s = next - !repeat;

	return (struct sig_place){
		.around = {symbol(t, s - 2), symbol(t, s - 1), symbol(t, s), SIG_NO_CALL,
			   symbol(t, next), symbol(t, next + 1)},
		.what = (uint16_t)main_flag(t), .cnt = 1};
}

size_t thread_symbol(struct thread_calls *t, uint32_t call)
{
	return symbol_end(t, call) - 1;
}

struct sig_place gap_between(const struct thread_calls *t, size_t last, size_t next)
{
	const struct call *calls = t->p->m->calls->calls;
	const struct call *before = &calls[t->norm.first[last + 1] - 1];
	uint64_t from_ns = before->begin_ns + before->dur_ns;
	uint64_t to_ns = calls[t->norm.first[next]].begin_ns;

	return (struct sig_place){
		.around = {symbol(t, last - 2), symbol(t, last - 1), symbol(t, last), SIG_NO_CALL,
			   symbol(t, next), symbol(t, next + 1)},
		.what = (uint16_t)main_flag(t),
		.bin = place_bin(to_ns > from_ns ? to_ns - from_ns : 0), .cnt = 1};
}

/* Is one of the symbol's calls after it? */
static bool goes_on(const struct thread_calls *t, size_t s, uint32_t call)
{
	const struct model_calls *c = t->p->m->calls;
	const struct call_run *run = &c->runs[t->thread];
	uint32_t end = s + 1 < t->norm.cnt ? t->norm.first[s + 1] : run->first + run->cnt;

	for (uint32_t i = call + 1; i < end; i++)
		if (!t->noise[c->calls[i].nr])
			return true;
	return false;
}

struct sig_place gap_place(struct thread_calls *t, uint32_t call, uint64_t ran_ns)
{
	size_t end = symbol_end(t, call);
	bool repeat = end && goes_on(t, end - 1, call);
	struct sig_place p = gap_before(t, end - repeat, repeat);

	p.bin = place_bin(ran_ns);
	return p;
}

/* ---- learning */

static int by_thread_and_time(const void *pa, const void *pb)
{
	const struct sample *a = *(const struct sample *const *)pa;
	const struct sample *b = *(const struct sample *const *)pb;

	CMP(a->thread, b->thread);
	CMP(a->ts_ns, b->ts_ns);
	CMP(a->stack, b->stack);
	return 0;
}

/* As rank.c weighs the frames of a call's stack, and of a sample's. */
static double step_weight(const struct walk *w, uint32_t fn, bool sampled, double *most)
{
	if (!sampled)
		return CALLER_WEIGHT;
	if (w->own[fn] < GATHERS * *most)
		return PASSES_ON;
	*most = w->own[fn];
	return 1;
}

/* A library is one step for its caller (rank_weight_at); steps of a sample weigh more. */
static double entry_weight(const struct walk *w, const struct app_stack *st, uint32_t i,
			   double weight, double *first)
{
	if (!appfn_is_entry(w->p->fns, st, i))
		return weight;
	if (weight < PASSES_ON * *first)
		weight = PASSES_ON * *first;
	*first = weight * PASSES_ON;
	return weight;
}

/* The place was seen with that stack, as often as its cnt says. */
static void stack_add(struct walk *w, uint32_t stack, struct sig_place place)
{
	const struct app_stack *st = &w->p->fns->stacks[stack];
	bool sampled = place.around[SIG_AT] == SIG_NO_CALL;
	double weight = 1, first = 1, most = st->cnt ? w->own[st->frames[0].fn] : 0;

	w->number++;
	for (uint32_t i = 0; i < st->cnt && i < PLACE_FRAMES_MAX; i++) {
		uint32_t fn = st->frames[i].fn;

		if (i)
			weight *= step_weight(w, fn, sampled, &most);
		if (sampled)
			weight = entry_weight(w, st, i, weight, &first);
		else
			weight = rank_weight_at(w->p->fns, st, i, weight, &first);
		if (w->last[fn] == w->number) /* a function that calls itself counts once */
			continue;
		w->last[fn] = w->number;
		place.self_cnt = i == 0 ? place.cnt : 0;
		place.near_sum = (uint64_t)(weight * SIG_NEAR_ONE) * place.cnt;
		sig_places_count(w->set, fn, &place);
	}
}

static void own_add(struct walk *w, const struct sample *s)
{
	const struct app_stack *st = &w->p->fns->stacks[s->stack];

	w->number++;
	for (uint32_t i = 0; i < st->cnt; i++) {
		uint32_t fn = st->frames[i].fn;

		if (w->last[fn] != w->number)
			w->own[fn] += s->cnt;
		w->last[fn] = w->number;
	}
}

static const struct sample *next_sample(const struct walk *w, uint32_t thread, uint64_t until_ns)
{
	const struct sample *s = w->at < w->cnt ? w->seen[w->at] : NULL;

	return s && s->thread == thread && s->ts_ns < until_ns ? s : NULL;
}

/* Still or already at the call's instruction: the kernel's way in or out, where tracers work. */
static bool at_call(const struct model *m, uint32_t sample, uint32_t call)
{
	const struct stack *a = &m->stacks[sample], *b;

	if (call == NO_IDX)
		return false;
	b = &m->stacks[call];
	return a->user_cnt && a->user_cnt == b->user_cnt &&
	       memcmp(a->frames + a->kernel_cnt, b->frames + b->kernel_cnt,
		      a->user_cnt * sizeof(*a->frames)) == 0;
}

struct between { uint32_t last, next; }; /* stacks of the calls before and after */

/*
 * The samples of one gap.  A thread that lost its CPU did not run all of it:
 * it ran no longer than the samples in it stand for, and one more.
 */
static void gap_take(struct walk *w, struct sig_place gap, struct between calls,
		     uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t thread = w->seen[w->at]->thread;
	size_t first = w->at;
	uint64_t ran_ns = w->p->m->meta.sample_ns, gap_ns = end_ns - begin_ns;
	const struct sample *s;

	for (; (s = next_sample(w, thread, end_ns)) != NULL; w->at++)
		ran_ns += s->cnt * w->p->m->meta.sample_ns;
	gap.bin = place_bin(ran_ns < gap_ns ? ran_ns : gap_ns);
	for (size_t i = first; i < w->at; i++) {
		s = w->seen[i];
		gap.cnt = s->cnt;
		if (s->stack != NO_IDX && gap.cnt && !at_call(w->p->m, s->stack, calls.last) &&
		    !at_call(w->p->m, s->stack, calls.next))
			stack_add(w, s->stack, gap);
	}
}

/* All samples that were taken in the thread's gaps. */
static void gaps_walk(struct walk *w, const struct thread_calls *t)
{
	const struct model_calls *c = w->p->m->calls;
	const struct call_run *run = &c->runs[t->thread];
	struct between calls = {NO_IDX, NO_IDX};
	uint64_t end_ns = 0;
	size_t s = 0;		/* symbols that began */

	for (uint32_t i = run->first; i < run->first + run->cnt; i++) {
		const struct call *call = &c->calls[i];
		bool begins = s < t->norm.cnt && t->norm.first[s] == i;

		if (t->noise[call->nr])
			continue;
		calls.next = call->stack;
		if (next_sample(w, t->thread, call->begin_ns))
			gap_take(w, gap_before(t, begins ? s : s - 1, !begins), calls, end_ns,
				 call->begin_ns);
		s += begins;
		calls.last = call->stack;
		end_ns = call->begin_ns + call->dur_ns;
		while (next_sample(w, t->thread, end_ns)) /* inside the call */
			w->at++;
	}
	calls.next = NO_IDX;
	if (next_sample(w, t->thread, UINT64_MAX))
		gap_take(w, gap_before(t, s, false), calls, end_ns, UINT64_MAX);
}

static void calls_walk(struct walk *w, struct thread_calls *t)
{
	const struct units_opts o = {.dims = &w->p->dims, .fns = w->p->fns};
	const struct model_calls *c = w->p->m->calls;
	const struct call_run *run = &c->runs[t->thread];
	const struct call *before = NULL;

	for (uint32_t i = run->first; i < run->first + run->cnt; i++) {
		const struct call *call = &c->calls[i];
		struct sig_place place;

		if (t->noise[call->nr])
			continue;
		place = call_place(t, i);
		if (key_is_home(&w->p->units.homes[t->thread], call_key(&o, call, before),
				call->result == CALL_UNFINISHED))
			place.what |= SIG_HOME;
		if (call->stack != NO_IDX)
			stack_add(w, call->stack, place);
		before = call;
	}
}

/* Only watched processes: calls at the other end of a connection are not known. */
static bool is_watched(const struct model *m, uint32_t thread)
{
	uint32_t proc = m->threads[thread].proc;

	return proc < m->proc_cnt && m->procs[proc].target;
}

static void samples_sort(struct walk *w)
{
	w->seen = xcalloc(w->cnt + 1, sizeof(*w->seen));
	for (size_t i = 0; i < w->cnt; i++)
		w->seen[i] = &w->p->m->samples[i];
	w->own = xcalloc(w->p->fns->fn_cnt + 1, sizeof(*w->own));
	w->last = xcalloc(w->p->fns->fn_cnt + 1, sizeof(*w->last));
	for (size_t i = 0; i < w->cnt; i++)
		if (w->seen[i]->stack != NO_IDX)
			own_add(w, w->seen[i]);
	if (w->cnt)
		qsort(w->seen, w->cnt, sizeof(*w->seen), by_thread_and_time);
}

void places_learn(const struct profile *p, struct sig_place_set *ret_set)
{
	const struct model *m = p->m;
	struct walk w = {.p = p, .set = ret_set, .cnt = m->sample_cnt};
	struct thread_calls t = {0};

	*ret_set = (struct sig_place_set){0};
	samples_sort(&w);
	for (uint32_t thread = 0; m->calls->cnt && thread < m->thread_cnt; thread++) {
		thread_calls_make(&t, p, thread);
		calls_walk(&w, &t);
		if (is_watched(m, thread) && next_sample(&w, thread, UINT64_MAX))
			gaps_walk(&w, &t);
		while (next_sample(&w, thread, UINT64_MAX))
			w.at++;
	}
	thread_calls_release(&t);
	free(w.seen);
	free(w.own);
	free(w.last);
}
