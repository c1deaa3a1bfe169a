/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/function_requests.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "functions/units/app_frames.h"
#include "functions/units/caller_weight.h"
#include "model/stack.h"

struct held_folder {
	const struct appfns *fns;
	const struct held *h;
	struct held_fn *to;
	double *run_ns;		/* by fn: of samples, to tell who gathers */
	double *best_ns;	/* by fn: of the stack in to[].stack */
	uint32_t *seen;		/* by fn: number of the last stack, plus one */
};

static double share(double ns, double all)
{
	return all > 0 ? ns / all : 0;
}

static void idle_add(struct held_folder *k, uint32_t at, const struct held_stack *s)
{
	const struct app_stack *st = &k->fns->stacks[s->stack];

	for (uint32_t i = 0; i < st->cnt; i++) {
		uint32_t fn = st->frames[i].fn;

		if (k->seen[fn] == at + 1)
			continue;
		k->seen[fn] = at + 1;
		k->to[fn].idle += share(s->idle_ns, k->h->idle_ns);
		if (s->runs)
			k->run_ns[fn] += s->ns;
		else
			k->to[fn].wait_ns += s->ns;
	}
}

/* Weight that is left one step further out. */
static double step(const struct held_folder *k, const struct held_stack *s,
		   const struct app_stack *st, uint32_t i, double *most)
{
	uint32_t fn = st->frames[i].fn;
	double waits = share(k->to[fn].wait_ns, k->h->ns), own;

	if (!s->runs)
		return 1 - (1 - CALLER_WEIGHT) * share(waits, waits + k->to[fn].idle);
	own = i + 1 < st->cnt ? k->run_ns[st->frames[i + 1].fn] : 0;
	if (own < GATHERS * *most)
		return PASSES_ON;
	*most = own;
	return 1;
}

static void fold(struct held_folder *k, uint32_t at, const struct held_stack *s)
{
	const struct app_stack *st = &k->fns->stacks[s->stack];
	double weight = 1, first = 1, part = share(s->ns, k->h->ns);
	double most = st->cnt ? k->run_ns[st->frames[0].fn] : 0;

	for (uint32_t i = 0; i < st->cnt; i++) {
		uint32_t fn = st->frames[i].fn;
		struct held_fn *f = &k->to[fn];

		weight = rank_weight_at(k->fns, st, i, weight, &first);
		if (k->seen[fn] != at + 1) {
			k->seen[fn] = at + 1;
			f->all += part;
			f->weighted += part * weight;
			f->self += i == 0 ? part : 0;
			if (s->ns > k->best_ns[fn]) {
				k->best_ns[fn] = s->ns;
				f->stack = s->stack;
			}
		}
		weight *= step(k, s, st, i, &most);
	}
}

/* Caps waits in several places at one time to the whole. */
static void cap(struct held_fn *f, double all_ns)
{
	f->wait_ns = f->wait_ns < all_ns ? f->wait_ns : all_ns;
	f->run_ns = f->run_ns < all_ns ? f->run_ns : all_ns;
	if (f->all <= 1)
		return;
	f->weighted /= f->all;
	f->self /= f->all;
	f->all = 1;
}

struct held_fn *held_fns(const struct appfns *fns, const struct held *h, struct arena *arena)
{
	struct held_fn *to = ARENA_ARRAY(arena, struct held_fn, fns->fn_cnt + 1);
	CLEANUP_FREE double *run_ns = xcalloc(fns->fn_cnt + 1, sizeof(*run_ns));
	CLEANUP_FREE double *best_ns = xcalloc(fns->fn_cnt + 1, sizeof(*best_ns));
	CLEANUP_FREE uint32_t *seen = xcalloc(fns->fn_cnt + 1, sizeof(*seen));
	struct held_folder k = {fns, h, to, run_ns, best_ns, seen};

	for (size_t i = 0; i < fns->fn_cnt; i++)
		to[i].stack = NO_IDX;
	for (uint32_t i = 0; i < h->stack_cnt; i++)
		idle_add(&k, i, &h->stacks[i]);
	for (size_t i = 0; i < fns->fn_cnt; i++)
		seen[i] = 0;
	for (uint32_t i = 0; i < h->stack_cnt; i++)
		fold(&k, i, &h->stacks[i]);
	for (size_t i = 0; i < fns->fn_cnt; i++) {
		to[i].run_ns = run_ns[i];
		to[i].self_most = to[i].self * 2 > to[i].all;
		cap(&to[i], h->ns);
	}
	return to;
}

double held_score(const struct held_fn *f)
{
	return rank_score(f->weighted, f->all, f->idle);
}
