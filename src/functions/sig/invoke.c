/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over each thread's calls.  The first learns at which places of a
 * function its runs begin and end where that is certain; the second cuts there
 * too, and collects.
 *
 * A level is one function on the stack, counted from the outermost.  From one
 * call to the next the levels further out than the first difference stay.
 */
#include "functions/sig/invoke.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "functions/units/normalize.h"
#include "model/calls/calls.h"
#include "model/model.h"

struct level {
	uint32_t fn;
	uint32_t call_cnt;	/* in this run */
	uint64_t site;
	uint16_t len;
	uint16_t syms[SEQ_LEN_MAX];
};

struct walk {
	struct invoked *in;
	const struct appfns *app;
	bool collect;		/* the second pass */
	uint32_t prev;		/* model stack of the call before, NO_IDX */
	struct level *levels;
	uint32_t level_cnt;
	size_t level_cap;
	struct hmap entries, exits; /* of place_key: a run began or ended here */
};

static uint64_t place_key(uint32_t fn, uint64_t site)
{
	return hash_u64(site) ^ ((uint64_t)fn << 32 | fn);
}

static void run_end(struct walk *w, struct level *l)
{
	if (l->len && l->syms[l->len - 1] == SYM_NONE)
		l->len--;
	if (l->len)
		seqs_add(&w->in->fns[l->fn].seqs, l->syms, l->len, 1);
	l->len = 0;
	l->call_cnt = 0;
}

/* known: the next call shows that it ended, not only that nothing more was seen. */
static void levels_cut(struct walk *w, uint32_t to, bool known)
{
	while (w->level_cnt > to) {
		struct level *l = &w->levels[--w->level_cnt];

		run_end(w, l);
		if (known && !w->collect)
			hmap_put(&w->exits, place_key(l->fn, l->site), 1);
	}
}

static void levels_add(struct walk *w, uint32_t stack, bool known)
{
	const struct stack_path *path = &w->app->paths[stack];
	const uint64_t *sites = w->app->stacks[stack].sites;

	if (w->level_cap < path->user_cnt)
		w->levels = vec_grow_items(w->levels, &w->level_cap, path->user_cnt,
					   sizeof(*w->levels));
	for (uint32_t d = w->level_cnt; d < path->user_cnt; d++) {
		struct level *l = &w->levels[d];

		l->fn = path->fns[d];
		l->site = sites[d];
		l->len = 0;
		l->call_cnt = 0;
		if (known && !w->collect)
			hmap_put(&w->entries, place_key(l->fn, l->site), 1);
	}
	w->level_cnt = path->user_cnt;
}

/* Levels that are the same in both, call sites and all. */
static uint32_t same_levels(const struct walk *w, uint32_t stack)
{
	const struct stack_path *path = &w->app->paths[stack];
	const uint64_t *sites = w->app->stacks[stack].sites;
	uint32_t d = 0;

	while (d < w->level_cnt && d < path->user_cnt && w->levels[d].fn == path->fns[d] &&
	       w->levels[d].site == sites[d])
		d++;
	return d;
}

/* The function at the level goes on at another of its call sites. */
static void level_moves(struct walk *w, struct level *l, uint64_t site)
{
	if (w->collect && site < l->site &&
	    hmap_get(&w->exits, place_key(l->fn, l->site), NULL) &&
	    hmap_get(&w->entries, place_key(l->fn, site), NULL))
		run_end(w, l);
	l->site = site;
}

static void stack_next(struct walk *w, uint32_t stack)
{
	const struct stack_path *path = &w->app->paths[stack];
	bool known = w->prev != NO_IDX;
	uint32_t same;

	if (stack == w->prev)
		return;
	same = same_levels(w, stack);
	if (same < w->level_cnt && same < path->user_cnt &&
	    w->levels[same].fn == path->fns[same]) {
		levels_cut(w, same + 1, known);
		level_moves(w, &w->levels[same], w->app->stacks[stack].sites[same]);
	} else {
		levels_cut(w, same, known);
	}
	levels_add(w, stack, known);
	w->prev = stack;
}

static void symbol_add(struct walk *w, struct level *l, uint16_t nr)
{
	bool repeat = l->len && l->syms[l->len - 1] == nr;

	if ((l->len == SEQ_LEN_MAX && !repeat) || l->call_cnt == INVOKE_CALLS_MAX)
		run_end(w, l);
	if (!l->len || l->syms[l->len - 1] != nr)
		l->syms[l->len++] = nr;
	l->call_cnt++;
}

/* Callers further out: what they call next does not follow what they called last. */
static void breaks_add(struct walk *w, const struct app_stack *s, uint32_t from)
{
	for (uint32_t i = from; i < s->cnt; i++) {
		struct level *l = &w->levels[s->frames[i].depth];

		if (l->len && l->len < SEQ_LEN_MAX && l->syms[l->len - 1] != SYM_NONE)
			l->syms[l->len++] = SYM_NONE;
		else if (l->len == SEQ_LEN_MAX)
			run_end(w, l);
	}
}

static void call_collect(struct walk *w, const struct call *c)
{
	const struct app_stack *s = &w->app->stacks[c->stack];
	uint32_t cnt = s->cnt < 1 + APPFN_CALLERS ? s->cnt : 1 + APPFN_CALLERS;

	w->in->no_app_cnt += cnt == 0;
	breaks_add(w, s, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		struct fn_calls *fn = &w->in->fns[s->frames[i].fn];
		bool again = false;

		symbol_add(w, &w->levels[s->frames[i].depth], c->nr);
		for (uint32_t k = 0; k < i; k++)
			again = again || s->frames[k].fn == s->frames[i].fn;
		fn->calls += !again;
		fn->self_calls += i == 0;
	}
}

static void thread_walk(struct walk *w, const struct model *m, const struct call_run *run,
			const uint8_t *noise)
{
	w->prev = NO_IDX;
	for (uint32_t i = run->first; i < run->first + run->cnt; i++) {
		const struct call *c = &m->calls->calls[i];

		if (noise && noise[c->nr]) {
			w->in->noise_cnt += w->collect;
			continue;
		}
		if (c->stack == NO_IDX || w->app->paths[c->stack].user_cnt == 0) {
			w->in->no_stack_cnt += w->collect;
			levels_cut(w, 0, false);
			w->prev = NO_IDX;
			continue;
		}
		stack_next(w, c->stack);
		if (w->collect)
			call_collect(w, c);
	}
	levels_cut(w, 0, false);
}

void invoked_make(struct invoked *in, const struct model *m, const struct appfns *app,
		  const uint8_t *noise)
{
	struct walk w = {.in = in, .app = app};

	*in = (struct invoked){.fn_cnt = app->fn_cnt, .call_cnt = m->calls->cnt};
	in->fns = xcalloc(app->fn_cnt + 1, sizeof(*in->fns));
	for (int pass = 0; pass < 2; pass++) {
		w.collect = pass == 1;
		for (size_t t = 0; t < m->thread_cnt && m->calls->cnt; t++)
			thread_walk(&w, m, &m->calls->runs[t], noise);
	}
	free(w.levels);
	hmap_release(&w.entries);
	hmap_release(&w.exits);
}

void invoked_release(struct invoked *in)
{
	for (size_t i = 0; i < in->fn_cnt; i++)
		seqs_release(&in->fns[i].seqs);
	free(in->fns);
	*in = (struct invoked){0};
}
