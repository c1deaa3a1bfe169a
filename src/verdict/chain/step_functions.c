/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions under each step of a chain: where running threads run, where
 * waiting ones went to sleep, and where those were that ended the waits.  All
 * threads that are alike speak for a step, since one alone has few stacks.
 */
#include "verdict/chain/step_functions.h"

#include <string.h>

#include "model/stack.h"
#include "stacks/tops.h"
#include "verdict/chain/chain.h"
#include "verdict/context/say.h"

enum {
	SAMPLES_MIN = 3,	/* fewer running samples tell nothing */
	FNS_MAX = 3,		/* lines of a step */
};
static const double NAMELESS_PART = 0.25; /* of a step's time, to ask for names of made code */
static const double SECOND_MIN = 0.15; /* a second running function is worth a line from here */

struct wanted {
	const struct context *k;
	const struct step *step;
	bool lang;	/* only where functions of an interpreted program are known */
	bool user;	/* only where the program's functions are known, and of the step's enders */
	bool by_res;		/* on the step's resource only, else in its states */
	uint32_t waker;		/* thread idx: ended by it or its like only; NO_IDX any */
};

static bool has_lang(const struct stacks_result *r, uint32_t stack)
{
	for (uint32_t i = 0; stack != NO_IDX && i < r->paths[stack].user_cnt; i++)
		if (r->fns[r->paths[stack].fns[i]].lang)
			return true;
	return false;
}

static bool keep_row(const struct stack_row *row, void *ctx)
{
	const struct wanted *w = ctx;

	if ((row->stack == NO_IDX && row->mode != STACKS_WAKER) ||
	    (row->thread != w->step->thread &&
	     !chain_alike(w->k, row->thread, w->step->thread)))
		return false;
	if (w->user && row->stack != NO_IDX && !w->k->s->paths[row->stack].user_cnt)
		return false;
	if (w->lang && row->mode == STACKS_OFF && !has_lang(w->k->s, row->stack))
		return false;
	if (row->mode == STACKS_ON)
		return w->step->does == STEP_RUNS;
	if (w->step->does != STEP_WAITS || row->st < ST_WAIT)
		return false;
	if (w->user && w->step->enders && !(w->step->enders >> row->ctx & 1))
		return false;
	if (w->by_res ? row->res != w->step->res
		      : w->step->states && !(w->step->states >> (row->st - ST_WAIT) & 1))
		return false;
	return w->waker == NO_IDX || row->waker == w->waker ||
	       chain_alike(w->k, row->waker, w->waker);
}

static struct step_fns *fns_add(struct context *k, struct step *s, unsigned what)
{
	struct step_fns *f;

	if (!s->fns)
		s->fns = ARENA_ARRAY(k->arena, struct step_fns, FNS_MAX);
	f = &s->fns[s->fn_cnt++];
	f->what = (uint8_t)what;
	f->who.comm = "";
	return f;
}

static void fns_name(const struct stacks_result *r, struct step_fns *f, const uint32_t *fns,
		     uint32_t cnt)
{
	f->name_cnt = cnt < 4 ? cnt : 4;
	for (uint32_t i = 0; i < f->name_cnt; i++) {
		f->names[i] = r->fns[fns[i]].name;
		f->nameless |= (uint8_t)(r->fns[fns[i]].nameless << i);
		f->modules[i] = r->fns[fns[i]].kind == FN_KERNEL ? "kernel" : r->fns[fns[i]].module;
	}
}

static uint64_t rows_ns(const struct stacks_result *r, unsigned mode)
{
	uint64_t ns = 0;

	for (size_t i = r->first_row[mode]; i < r->first_row[mode + 1]; i++)
		ns += r->rows[i].ns;
	return ns;
}

/* The heaviest row that runs in fn says from where it is called. */
static uint32_t running_callers(const struct stacks_result *r, uint32_t fn, uint32_t *ret_fns)
{
	for (size_t i = r->first_row[STACKS_ON]; i < r->first_row[STACKS_ON + 1]; i++) {
		const struct stack_path *p = &r->paths[r->rows[i].stack];

		if (p->cnt && p->fns[p->cnt - 1] == fn)
			return callers_of(r, p, p->cnt - 1, ret_fns, 4);
	}
	return 0;
}

static void running(struct context *k, struct step *s, const struct stacks_result *r)
{
	uint64_t all = rows_ns(r, STACKS_ON), samples = 0;
	uint32_t fns[4];
	size_t cnt;
	struct top_fn *tops = tops_make(r, STACKS_ON, k->arena, &cnt);

	for (size_t i = r->first_row[STACKS_ON]; i < r->first_row[STACKS_ON + 1]; i++)
		samples += r->rows[i].cnt;
	for (size_t i = 0; i < cnt && i < 2 && samples >= SAMPLES_MIN; i++) {
		double share = all ? (double)tops[i].self_ns / (double)all : 0;
		struct step_fns *f;

		if (!tops[i].self_ns || (i && share < SECOND_MIN))
			return;
		f = fns_add(k, s, FNS_RUNS);
		f->share = share;
		f->cnt = tops[i].cnt;
		fns_name(r, f, fns, running_callers(r, tops[i].fn, fns));
	}
}

static void spot_add(struct context *k, struct step *s, const struct stacks_result *r,
		     unsigned mode)
{
	uint64_t all = rows_ns(r, mode);
	bool ended = mode == STACKS_WAKER;
	size_t cnt;
	struct spot *spots = spots_make(r, mode, k->arena, &cnt);
	struct step_fns *f;

	if (!cnt || !(ended ? spots->waker_fn_cnt : spots->fn_cnt))
		return;
	f = fns_add(k, s, ended ? FNS_ENDED : FNS_WAITS);
	f->share = all ? (double)spots->ns / (double)all : 0;
	f->cnt = spots->cnt;
	fns_name(r, f, ended ? spots->waker_fns : spots->fns,
		 ended ? spots->waker_fn_cnt : spots->fn_cnt);
	if (ended && spots->waker != NO_IDX)
		f->who = party_of(k->m, spots->waker);
}

static struct stacks_result rows_of(struct context *k, struct wanted *w)
{
	struct stacks_result r;

	/* of short waits the native stack alone is known: those read in full stand for them */
	w->user = w->lang = true;
	r = stacks_filter(k->s, keep_row, w, k->arena);
	w->lang = false;
	if (r.first_row[STACKS_OFF] == r.first_row[STACKS_OFF + 1])
		r = stacks_filter(k->s, keep_row, w, k->arena);
	w->user = false; /* better than none */
	if (!r.row_cnt)
		r = stacks_filter(k->s, keep_row, w, k->arena);
	if (r.row_cnt || !w->by_res)
		return r;
	w->by_res = false; /* the resource stands for others: by the kind of wait */
	return stacks_filter(k->s, keep_row, w, k->arena);
}

static bool path_has_nameless_code(const struct stacks_result *r, uint32_t stack)
{
	const struct stack_path *p = &r->paths[stack];

	for (uint32_t i = 0; i < p->cnt; i++) {
		const struct stack_fn *fn = &r->fns[p->fns[i]];

		/* a source calls it after its memory, "[anon]" */
		if (fn->kind == FN_JIT && (fn->nameless || fn->name[0] == '['))
			return true;
	}
	return false;
}

static bool much_in_nameless_code(const struct stacks_result *r)
{
	uint64_t ns = 0, all_ns = 0;

	for (size_t i = 0; i < r->row_cnt; i++) {
		if (r->rows[i].stack == NO_IDX)
			continue;
		all_ns += r->rows[i].ns;
		if (path_has_nameless_code(r, r->rows[i].stack))
			ns += r->rows[i].ns;
	}
	return ns > 0 && (double)ns >= NAMELESS_PART * (double)all_ns;
}

/* next: who the step's waits are passed on to, NULL at the end. */
static void step_functions(struct context *k, struct step *s, const struct step *next)
{
	struct wanted w = {.k = k, .step = s, .by_res = s->res != NO_IDX, .waker = NO_IDX};
	struct stacks_result r;

	if (s->thread == NO_IDX || s->does == STEP_OTHER)
		return;
	r = rows_of(k, &w);
	s->in_nameless_code = much_in_nameless_code(&r);
	if (s->does == STEP_RUNS) {
		running(k, s, &r);
		return;
	}
	spot_add(k, s, &r, STACKS_OFF);
	if (next && next->thread != NO_IDX) {
		w.waker = next->thread;
		r = rows_of(k, &w);
	}
	spot_add(k, s, &r, STACKS_WAKER);
}

void functions_add(struct context *k, struct finding *f)
{
	if (!k->s)
		return;
	for (size_t i = 0; i < f->chain_len; i++)
		step_functions(k, &f->chain[i], i + 1 < f->chain_len ? &f->chain[i + 1] : NULL);
}
