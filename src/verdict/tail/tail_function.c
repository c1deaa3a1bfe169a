/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function in which stalls were spent: where the thread at the end of the
 * chain went to sleep, or of one that ran the innermost function that most of
 * its samples of that time share.  Of the application's functions, as
 * functions/units/app_frames.h tells them.
 */
#include <string.h>

#include "functions/units/app_frames.h"
#include "model/stack.h"
#include "verdict/tail/tail_int.h"

/* Stalls looked at of a group; more say the same. */
#define STALLS_MAX 64
/* A running thread is in a function that this part of its samples share. */
#define SHARED_MIN 0.6
#define SAMPLES_MIN 3

struct place { uint32_t fns[4]; uint32_t cnt, named; uint64_t ns, times; uint8_t what; };

/* The longest wait of t in the stall that has a stack; NULL if none has. */
static const struct wait *longest_wait(const struct model *m, const struct stall *h, uint32_t t)
{
	const struct thread *th = &m->threads[t];
	const struct wait *best = NULL;
	uint64_t most = 0;

	for (uint32_t i = th->first_wait; i < th->first_wait + th->wait_len; i++) {
		const struct wait *w = &m->waits[i];
		uint64_t from = w->off_ns > h->begin_ns ? w->off_ns : h->begin_ns;
		uint64_t to = w->end_ns < h->end_ns ? w->end_ns : h->end_ns;

		if (w->off_ns >= h->end_ns)
			break;
		if (to <= from || to - from <= most || w->ustack == NO_IDX ||
		    w->flags & WAITF_PREEMPTED)
			continue;
		most = to - from;
		best = w;
	}
	return most * 2 >= h->len_ns ? best : NULL;
}

static bool in_stall(const struct sample *x, const struct stall *h)
{
	return x->thread == h->thread && x->ts_ns >= h->begin_ns && x->ts_ns < h->end_ns;
}

/* Counts each function of the samples once a sample; how many samples there are. */
static uint64_t fns_count(const struct context *k, const struct appfns *a, const struct stall *h,
			  uint64_t *cnt)
{
	uint32_t *last = ARENA_ARRAY(k->arena, uint32_t, a->fn_cnt + 1);
	uint64_t all = 0;

	for (uint32_t i = 0; i < k->m->sample_cnt; i++) {
		const struct sample *x = &k->m->samples[i];
		const struct app_stack *p;

		if (!in_stall(x, h) || x->stack >= k->m->stack_cnt)
			continue;
		p = &a->stacks[x->stack];
		all += x->cnt;
		for (uint32_t f = 0; f < p->cnt; f++) {
			if (last[p->frames[f].fn] == i + 1)
				continue;
			last[p->frames[f].fn] = i + 1;
			cnt[p->frames[f].fn] += x->cnt;
		}
	}
	return all;
}

/* A file without symbols gives only an offset: its caller's name says more. */
static bool has_name(const struct stack_fn *fn)
{
	return !strstr(fn->name, "+0x");
}

/* Function at of the stack and its callers; the innermost of those that has a name. */
static void place_set(const struct appfns *a, const struct app_stack *st, uint32_t at,
		      uint8_t what, struct place *ret)
{
	ret->what = what;
	ret->cnt = 0;
	ret->named = st->frames[at].fn;
	for (uint32_t f = at; f < st->cnt && ret->cnt < 4; f++)
		ret->fns[ret->cnt++] = st->frames[f].fn;
	for (uint32_t f = at; f < st->cnt; f++) {
		if (!has_name(&a->fns[st->frames[f].fn]))
			continue;
		ret->named = st->frames[f].fn;
		return;
	}
}

static bool run_place(const struct context *k, const struct appfns *a, const struct stall *h,
		      struct place *ret)
{
	uint64_t *cnt = ARENA_ARRAY(k->arena, uint64_t, a->fn_cnt + 1);
	uint64_t all = fns_count(k, a, h, cnt);

	for (uint32_t i = 0; all >= SAMPLES_MIN && i < k->m->sample_cnt; i++) {
		const struct sample *x = &k->m->samples[i];
		const struct app_stack *p;

		if (!in_stall(x, h) || x->stack >= k->m->stack_cnt)
			continue;
		p = &a->stacks[x->stack];
		for (uint32_t f = 0; f < p->cnt; f++) {
			if ((double)cnt[p->frames[f].fn] < SHARED_MIN * (double)all)
				continue;
			place_set(a, p, f, FNS_RUNS, ret);
			return true;
		}
	}
	return false;
}

const char *tail_runs_in(const struct context *k, const struct appfns *a, uint32_t thread)
{
	struct stall life = { .begin_ns = k->m->threads[thread].begin_ns, .thread = thread,
			      .end_ns = k->m->threads[thread].end_ns };
	struct place p;

	return a && run_place(k, a, &life, &p) ? a->fns[p.named].name : "";
}

/* The function of t, which had the request or is the end of its chain. */
static bool place_of(const struct context *k, const struct appfns *a, const struct stall *h,
		     uint32_t t, struct place *ret)
{
	const struct wait *w;

	if (t == NO_IDX || !k->m->threads[t].tracked)
		return false;
	if (h->kind == CAUSE_RUN && t == h->thread)
		return run_place(k, a, h, ret);
	w = longest_wait(k->m, h, t);
	if (!w || w->ustack >= k->m->stack_cnt || !a->stacks[w->ustack].cnt)
		return false;
	place_set(a, &a->stacks[w->ustack], 0, FNS_WAITS, ret);
	return true;
}

static void step_name(struct context *k, const struct appfns *a, struct step *st,
		      const struct place *p, uint64_t all_ns)
{
	struct step_fns *f = ARENA_NEW(k->arena, struct step_fns);

	f->what = p->what;
	f->who.comm = "";
	f->share = all_ns ? (double)p->ns / (double)all_ns : 0;
	f->cnt = p->times;
	f->name_cnt = p->cnt;
	for (uint32_t i = 0; i < p->cnt; i++) {
		const struct stack_fn *fn = &a->fns[p->fns[i]];

		f->names[i] = fn->name;
		f->modules[i] = fn->kind == FN_KERNEL ? "kernel" : fn->module;
	}
	st->fns = f;
	st->fn_cnt = 1;
}

/* The last step that is a thread. */
static struct step *end_of_chain(struct finding *f)
{
	for (size_t i = f->chain_len; i-- > 0;) {
		if (f->chain[i].thread != NO_IDX)
			return &f->chain[i];
	}
	return NULL;
}

/* The place of most of the stalls, named at st, which may be NULL; its function, "" none. */
static const char *most_name(struct context *k, const struct appfns *a, const struct stall_group *g,
			     struct step *st, bool end)
{
	struct place places[STALLS_MAX], *best = NULL;
	size_t cnt = 0;
	uint64_t all_ns = 0;

	for (size_t i = 0; i < g->stall_cnt && i < STALLS_MAX; i++) {
		const struct stall *h = &g->stalls[i];
		struct place p = { .ns = h->len_ns, .times = 1 };
		size_t j = 0;

		if (!place_of(k, a, h, end ? h->thread : h->entry, &p))
			continue;
		all_ns += h->len_ns;
		while (j < cnt && places[j].named != p.named)
			j++;
		if (j == cnt) {
			places[cnt++] = p;
		} else {
			places[j].ns += p.ns;
			places[j].times++;
		}
	}
	for (size_t j = 0; j < cnt; j++) {
		if (!best || places[j].ns > best->ns)
			best = &places[j];
	}
	if (best && st)
		step_name(k, a, st, best, all_ns);
	return best ? a->fns[best->named].name : "";
}

void tail_function(struct context *k, const struct appfns *a, const struct stall_group *g,
		   struct stall_finding *s)
{
	struct step *end = end_of_chain(&s->f);

	if (!a)
		return;
	s->function = most_name(k, a, g, end, true);
	if (end && end != s->f.chain && s->f.chain[0].thread != NO_IDX)
		most_name(k, a, g, &s->f.chain[0], false);
}
