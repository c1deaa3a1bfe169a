/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/gaps.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "functions/appfn.h"
#include "model/calls.h"
#include "model/model.h"
#include "model/stack.h"

struct seen { const struct sample *sample; };

struct walk {
	const struct model *m;
	const struct appfns *app;
	const uint8_t *noise;
	struct sig_gap_set *set;
	struct seen *seen;	/* by thread, time */
	size_t at, cnt;
	uint32_t *last;		/* by fn: number of the last sample it was on, plus one */
	uint32_t number;
};

uint8_t gap_bin(uint64_t ns)
{
	unsigned bin = ns ? (63u - (unsigned)__builtin_clzll(ns)) / 2 : 0;

	return (uint8_t)(bin < GAP_BIN_MAX ? bin : GAP_BIN_MAX);
}

static int by_thread_and_time(const void *pa, const void *pb)
{
	const struct sample *a = ((const struct seen *)pa)->sample;
	const struct sample *b = ((const struct seen *)pb)->sample;

	CMP(a->thread, b->thread);
	CMP(a->ts_ns, b->ts_ns);
	CMP(a->stack, b->stack);
	return 0;
}

static void sample_add(struct walk *w, const struct sample *s, struct sig_gap gap)
{
	const struct app_stack *st = &w->app->stacks[s->stack];

	w->number++;
	gap.cnt = s->cnt;
	for (uint32_t i = 0; i < st->cnt; i++) {
		uint32_t fn = st->frames[i].fn;

		if (w->last[fn] == w->number) /* a function that calls itself counts once */
			continue;
		w->last[fn] = w->number;
		gap.self_cnt = i == 0 ? s->cnt : 0;
		sig_gaps_count(w->set, fn, &gap);
	}
}

static const struct sample *next_sample(const struct walk *w, uint32_t thread, uint64_t until_ns)
{
	const struct sample *s = w->at < w->cnt ? w->seen[w->at].sample : NULL;

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
static void gap_take(struct walk *w, struct sig_gap gap, struct between calls,
		     uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t thread = w->seen[w->at].sample->thread;
	size_t first = w->at;
	uint64_t ran_ns = w->m->meta.sample_ns, gap_ns = end_ns - begin_ns;
	const struct sample *s;

	for (; (s = next_sample(w, thread, end_ns)) != NULL; w->at++)
		ran_ns += s->cnt * w->m->meta.sample_ns;
	gap.bin = gap_bin(ran_ns < gap_ns ? ran_ns : gap_ns);
	for (size_t i = first; i < w->at; i++) {
		s = w->seen[i].sample;
		if (!at_call(w->m, s->stack, calls.last) && !at_call(w->m, s->stack, calls.next))
			sample_add(w, s, gap);
	}
}

static void thread_walk(struct walk *w, uint32_t thread)
{
	const struct model_calls *c = w->m->calls;
	const struct call_run *run = &c->runs[thread];
	struct sig_gap gap = {.before2 = SIG_NO_CALL, .before = SIG_NO_CALL};
	struct between calls = {NO_IDX, NO_IDX};
	uint64_t end_ns = 0;

	for (uint32_t i = run->first; i < run->first + run->cnt; i++) {
		const struct call *call = &c->calls[i];

		if (w->noise[call->nr])
			continue;
		gap.after = call->nr;
		calls.next = call->stack;
		if (next_sample(w, thread, call->begin_ns))
			gap_take(w, gap, calls, end_ns, call->begin_ns);
		if (gap.before != call->nr)
			gap.before2 = gap.before;
		gap.before = call->nr;
		calls.last = call->stack;
		end_ns = call->begin_ns + call->dur_ns;
		while (next_sample(w, thread, end_ns)) /* inside the call */
			w->at++;
	}
	gap.after = SIG_NO_CALL;
	calls.next = NO_IDX;
	if (next_sample(w, thread, UINT64_MAX))
		gap_take(w, gap, calls, end_ns, UINT64_MAX);
}

/* Of a process at the other end of a connection no call is known. */
static bool is_watched(const struct model *m, uint32_t thread)
{
	uint32_t proc = m->threads[thread].proc;

	return proc < m->proc_cnt && m->procs[proc].target;
}

void gaps_learn(const struct model *m, const struct appfns *app, const uint8_t *noise,
		struct sig_gap_set *ret_set)
{
	struct walk w = {.m = m, .app = app, .noise = noise, .set = ret_set,
			 .cnt = m->sample_cnt};

	*ret_set = (struct sig_gap_set){0};
	if (!m->sample_cnt || !m->calls->cnt)
		return;
	w.seen = xcalloc(m->sample_cnt, sizeof(*w.seen));
	w.last = xcalloc(app->fn_cnt + 1, sizeof(*w.last));
	for (size_t i = 0; i < m->sample_cnt; i++)
		w.seen[i].sample = &m->samples[i];
	qsort(w.seen, w.cnt, sizeof(*w.seen), by_thread_and_time);
	while (w.at < w.cnt) {
		uint32_t thread = w.seen[w.at].sample->thread;

		if (is_watched(m, thread))
			thread_walk(&w, thread);
		while (next_sample(&w, thread, UINT64_MAX))
			w.at++;
	}
	free(w.seen);
	free(w.last);
}
