/* SPDX-License-Identifier: Apache-2.0 */
#include "explore/explore.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/search.h"
#include "explore/timelines.h"

/*
 * Functions of the first round: the outermost.  What is called in a loop lies further in,
 * and a loop of a million calls is slowed down before it is seen that it is one.
 */
#define FIRST_MAX 16
#define MORE_MAX 16		/* new ones of a later round */
#define KEPT_MAX 12		/* of the round before, where time was in them */
/* Functions with less of the time in stacks cannot hold up most of a request. */
#define WORTH_ALL 0.01
#define WORTH_CALL 0.15		/* the same of a callee, of its caller's, */
#define WORTH_LITTLE 0.02	/* and where that gives none */
#define KEEP_SHARE 0.05
/*
 * A function is too hot when its hits cost more than this share of what is seen in it: the
 * price is a mean, and what is then left may be the tracepoint's own.
 */
#define COST_SHARE 0.2
/* Its callees are not tried where its own hits cost so much: they are called ten times as often. */
#define SPLIT_COST_SHARE 0.02
#define OWN_STEPS 32		/* callers looked at for one outside the C library */
#define MOST 0.5		/* a callee's share of its caller that is called most of it */
#define POOL_MIN 40		/* requests, before it is said which are slow */
#define POOL_ENOUGH 20000	/* that many say it without waiting for the end of the round */

struct round {
	VEC(uint32_t) on;
	uint32_t hot_cnt, top;
	uint32_t focus;		/* function to be split: top, or that asks; or top */
	struct look look;
};

struct explore {
	const struct explore_graph *g;
	uint8_t *tried, *hot;	/* by function: was on in a look that was evidence; too dear */
	struct pool pool;
	VEC(struct round) rounds;
	uint32_t again_cnt;	/* rounds in a row whose look is no evidence yet */
	size_t taken_cnt;	/* requests of the look that the pool has */
	bool anew;		/* the next round is the same look, begun anew */
	uint32_t best;		/* round of the last look that was; EXPLORE_NONE */
	enum explore_end end;
	struct explore_value values[EXPLORE_VALUES_MAX];
	uint32_t value_cnt;
	struct path_sock asked;
};

struct wanted {			/* functions to be switched on, those of most worth first */
	uint32_t fns[EXPLORE_ON_MAX];
	double worth[EXPLORE_ON_MAX];
	uint32_t cnt, max;
	double share;		/* of its caller's time that a callee must have */
};

struct explore *explore_new(const struct explore_graph *graph)
{
	struct explore *e = xcalloc(1, sizeof(*e));

	e->g = graph;
	e->tried = xcalloc(graph->fn_cnt + 1, 1);
	e->hot = xcalloc(graph->fn_cnt + 1, 1);
	e->best = EXPLORE_NONE;
	return e;
}

void explore_free(struct explore *e)
{
	if (!e)
		return;
	VEC_FOREACH(&e->rounds, r) {
		vec_release(&r->on);
		look_release(&r->look);
	}
	vec_release(&e->rounds);
	pool_release(&e->pool);
	free(e->tried);
	free(e->hot);
	free(e);
}

/* ---- choosing */

/* Is it known which requests are slow? */
static bool is_judged(const struct explore *e)
{
	return e->pool.ns.cnt >= POOL_MIN;
}

static bool is_new(const struct explore *e, uint32_t fn)
{
	return e->g->fns[fn].usable && !e->tried[fn] && !e->hot[fn];
}

static void want(struct wanted *w, uint32_t fn, double worth)
{
	uint32_t at;

	for (uint32_t i = 0; i < w->cnt; i++)
		if (w->fns[i] == fn)
			return;
	for (at = w->cnt; at > 0 && w->worth[at - 1] < worth; at--)
		;
	if (at >= w->max)
		return;
	if (w->cnt < w->max)
		w->cnt++;
	for (uint32_t i = w->cnt - 1; i > at; i--) {
		w->fns[i] = w->fns[i - 1];
		w->worth[i] = w->worth[i - 1];
	}
	w->fns[at] = fn;
	w->worth[at] = worth;
}

static const struct explore_call *calls_of(const struct explore_graph *g, uint32_t fn, size_t *cnt)
{
	size_t at = SORTED_PREFIX(g->calls, g->call_cnt, c, c->caller < fn), end = at;

	while (end < g->call_cnt && g->calls[end].caller == fn)
		end++;
	*cnt = end - at;
	return g->calls + at;
}

/*
 * Callees with some of the caller's time.  One that cannot be on stands for its own:
 * inlined, too hot or tried, but not found, it may still lead to the one that is sought.
 */
static void want_callees(const struct explore *e, struct wanted *w, uint32_t fn, int depth)
{
	const struct explore_graph *g = e->g;
	size_t cnt;
	const struct explore_call *calls = calls_of(g, fn, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		const struct explore_call *c = &calls[i];

		if ((double)c->ns < w->share * (double)g->fns[fn].ns ||
		    (double)c->ns < WORTH_ALL * (double)g->all_ns)
			continue;
		if (is_new(e, c->callee))
			want(w, c->callee, (double)c->ns);
		else if (!e->tried[c->callee] && depth > 0)
			want_callees(e, w, c->callee, depth - 1);
	}
}

/* Callers of the function call others after it: time after it returned may be in these. */
static void want_siblings(const struct explore *e, struct wanted *w, uint32_t fn)
{
	for (size_t i = 0; i < e->g->call_cnt; i++)
		if (e->g->calls[i].callee == fn && e->g->calls[i].caller != fn)
			want_callees(e, w, e->g->calls[i].caller, 0);
}

static void want_outermost(const struct explore *e, struct wanted *w)
{
	for (uint32_t i = 0; i < e->g->fn_cnt; i++)
		if (is_new(e, i) && (double)e->g->fns[i].ns >= WORTH_ALL * (double)e->g->all_ns)
			want(w, i, -e->g->fns[i].depth);
}

static const struct round *best_of(const struct explore *e)
{
	return e->best == EXPLORE_NONE ? NULL : &e->rounds.items[e->best];
}

/* The functions by which the one found is split; none: it is small enough. */
static void want_next(const struct explore *e, struct wanted *w)
{
	const struct round *best = best_of(e);

	if (!best) {
		w->max = FIRST_MAX;
		want_outermost(e, w);
		return;
	}
	w->max = MORE_MAX;
	if (best->focus == PART_BEGIN) {
		want_outermost(e, w);
		return;
	}
	if (best->focus >= e->g->fn_cnt || best->look.points.items[0].cost_share > SPLIT_COST_SHARE)
		return;
	for (w->share = WORTH_CALL; !w->cnt && w->share >= WORTH_LITTLE;
	     w->share -= WORTH_CALL - WORTH_LITTLE) {
		want_callees(e, w, best->focus, 2);
		want_siblings(e, w, best->focus);
	}
}

/* Functions with time in them stay on, so that the one found is not taken for them. */
static void keep(const struct explore *e, struct wanted *w)
{
	const struct round *best = best_of(e);
	uint32_t kept = 0;

	w->max = EXPLORE_ON_MAX;
	VEC_FOREACH(&best->look.points, p) {
		if (p->point >= e->g->fn_cnt || e->hot[p->point] || kept >= KEPT_MAX)
			continue;
		if (p->point != best->focus && p->share < KEEP_SHARE)
			continue;
		want(w, p->point, 0);
		kept++;
	}
}

bool explore_next(struct explore *e, uint32_t *ret_fns, uint32_t *ret_cnt)
{
	struct wanted w = {0};
	struct round *r;

	if (e->end != EXPLORE_GOING)
		return false;
	if (e->again_cnt) {	/* the same, without what was too hot */
		const struct round *last = vec_last(&e->rounds);

		for (size_t i = 0; i < last->on.cnt; i++)
			if (!e->hot[last->on.items[i]])
				w.fns[w.cnt++] = last->on.items[i];
	} else if (e->rounds.cnt) {
		want_next(e, &w);
		if (!w.cnt && e->best != EXPLORE_NONE) {
			e->end = EXPLORE_FOUND;
			return false;
		}
		if (e->best != EXPLORE_NONE)
			keep(e, &w);
	}
	if (e->rounds.cnt >= EXPLORE_ROUNDS_MAX) {
		e->end = EXPLORE_ROUNDS;
		return false;
	}
	e->anew = false;
	r = vec_add(&e->rounds);
	r->top = EXPLORE_NONE;
	for (uint32_t i = 0; i < w.cnt; i++) {
		vec_push(&r->on, w.fns[i]);
		ret_fns[i] = w.fns[i];
	}
	*ret_cnt = w.cnt;
	return true;
}

void explore_hot(struct explore *e, uint32_t fn)
{
	if (fn >= e->g->fn_cnt || !e->rounds.cnt)
		return;
	e->hot[fn] = 1;
	e->anew = true;
	vec_last(&e->rounds)->hot_cnt++;
}

/* ---- seeing */

bool explore_is_slow(const struct explore *e, uint64_t ns)
{
	return ns >= e->pool.slow_ns;
}

bool explore_enough(const struct explore *e, uint64_t cnt, uint64_t slow_cnt)
{
	if (e->rounds.cnt == 1 || !is_judged(e))
		return cnt >= POOL_ENOUGH;
	return cnt >= LOOK_MIN && (!e->pool.varies || slow_cnt >= LOOK_SLOW_MIN + 1);
}

static uint32_t heaviest_caller(const struct explore_graph *g, uint32_t fn)
{
	const struct explore_call *top = NULL;

	for (size_t i = 0; i < g->call_cnt; i++) {
		const struct explore_call *c = &g->calls[i];

		if (c->callee == fn && c->caller != fn && (!top || c->ns > top->ns))
			top = c;
	}
	return top ? top->caller : EXPLORE_NONE;
}

/* The function, or the nearest caller of it outside the C library. */
static uint32_t own_of(const struct explore_graph *g, uint32_t fn)
{
	uint32_t at = fn;

	for (int i = 0; i < OWN_STEPS && at < g->fn_cnt && !g->fns[at].own; i++)
		at = heaviest_caller(g, at);
	return at < g->fn_cnt && g->fns[at].own ? at : fn;
}

/* In which part slow requests began to wait for most of what they asked for. */
static uint32_t asker_of(struct explore *e, const struct timelines *t)
{
	double *ns = xcalloc(e->g->fn_cnt + 1, sizeof(*ns)), begin = 0;
	uint32_t top = PART_BEGIN;
	uint64_t longest = 0;

	VEC_FOREACH(&t->items, q) {
		if (!q->ask.family || !explore_is_slow(e, q->ns))
			continue;
		if (q->ns > longest) {
			longest = q->ns;
			e->asked = q->ask;
		}
		if (q->ask_point < e->g->fn_cnt)
			ns[q->ask_point] += (double)q->ns;
		else
			begin += (double)q->ns;
	}
	for (uint32_t i = 0; i < e->g->fn_cnt; i++)
		if (ns[i] > begin && (top == PART_BEGIN || ns[i] > ns[top]))
			top = i;
	free(ns);
	return top;
}

static void look_take(struct explore *e, struct round *r, const struct timelines *t)
{
	uint32_t own;

	r->top = r->look.points.items[0].point;
	e->best = (uint32_t)(e->rounds.cnt - 1);
	e->again_cnt = 0;
	for (size_t i = 0; i < r->on.cnt; i++)
		e->tried[r->on.items[i]] = 1;
	own = own_of(e->g, r->top);
	e->value_cnt = values_find(t, &e->pool, look_point(&r->look, own) ? own : r->top,
				   e->values, EXPLORE_VALUES_MAX);
	r->focus = r->top == PART_ASK ? asker_of(e, t) : r->top;
	if (r->top == PART_QUEUE)
		e->end = EXPLORE_FOUND;
}

static bool top_is_hot(struct explore *e, const struct round *r)
{
	const struct look_point *top = &r->look.points.items[0];

	if (top->point >= e->g->fn_cnt || top->cost_share <= COST_SHARE)
		return false;
	explore_hot(e, top->point);
	return true;
}

/* Requests that are slow now and then take longer to be known. */
static void pool_decide(struct explore *e)
{
	if (is_judged(e) && (e->pool.settled || e->again_cnt >= EXPLORE_AGAIN))
		e->again_cnt = 0;
	else if (++e->again_cnt > EXPLORE_AGAIN)
		e->end = EXPLORE_QUIET;
}

static void decide(struct explore *e, const struct timelines *t, bool whole)
{
	struct round *r;

	r = vec_last(&e->rounds);
	pool_add(&e->pool, t, e->taken_cnt);
	pool_judge(&e->pool);
	look_make(&r->look, t, &e->pool);
	if (!r->on.cnt) {
		pool_decide(e);
		return;
	}
	if (r->look.telling && r->look.points.cnt && !top_is_hot(e, r))
		look_take(e, r, t);
	else if (!whole && e->again_cnt)
		return;		/* EXPLORE_ROUNDS_MAX bounds these */
	else if (++e->again_cnt > (e->anew ? EXPLORE_AGAIN + 1 : EXPLORE_AGAIN))
		e->end = e->best == EXPLORE_NONE ? EXPLORE_QUIET : EXPLORE_FOUND;
}

void explore_take(struct explore *e, const struct timelines *t, bool whole)
{
	if (!e->rounds.cnt)
		return;
	decide(e, t, whole);
	e->taken_cnt = explore_goes_on(e) ? t->items.cnt : 0;
}

bool explore_goes_on(const struct explore *e)
{
	return e->again_cnt > 0 && !e->anew;
}

/* ---- the answer */

static uint64_t call_ns(const struct explore_graph *g, uint32_t caller, uint32_t callee)
{
	size_t cnt;
	const struct explore_call *calls = calls_of(g, caller, &cnt);

	for (size_t i = 0; i < cnt; i++)
		if (calls[i].callee == callee)
			return calls[i].ns;
	return 0;
}

static bool was_on(const struct explore *e, uint32_t fn)
{
	const struct round *best = best_of(e);

	for (size_t i = 0; i < best->on.cnt; i++)
		if (best->on.items[i] == fn)
			return !e->hot[fn];
	return false;
}

/* The function's time outside of callees that were on, and the largest of the others. */
static uint64_t own_ns(const struct explore *e, uint32_t fn, uint64_t *ret_top_ns,
		       uint32_t *ret_top)
{
	size_t cnt;
	const struct explore_call *calls = calls_of(e->g, fn, &cnt);
	uint64_t on = 0;

	*ret_top_ns = 0;
	for (size_t i = 0; i < cnt; i++) {
		if (was_on(e, calls[i].callee)) {
			on += calls[i].ns;
		} else if (!*ret_top_ns) {	/* calls are by time */
			*ret_top_ns = calls[i].ns;
			*ret_top = calls[i].callee;
		}
	}
	return e->g->fns[fn].ns > on ? e->g->fns[fn].ns - on : 0;
}

/*
 * A part holds what runs after its function returned.  Where stacks show the caller at
 * work for longer than the function, itself or in callees that were not on, the time is
 * the caller's.
 */
static void place(const struct explore *e, struct explore_result *ret)
{
	const struct explore_graph *g = e->g;
	uint32_t caller, inner = EXPLORE_NONE;
	uint64_t own, inner_ns;

	if (ret->top >= g->fn_cnt)
		return;
	caller = heaviest_caller(g, ret->top);
	if (caller == EXPLORE_NONE)
		return;
	own = own_ns(e, caller, &inner_ns, &inner);
	if (own <= 2 * call_ns(g, caller, ret->top))
		return;
	ret->after = true;
	ret->callee = ret->top;
	ret->top = caller;
	if ((double)inner_ns > MOST * (double)own)
		ret->hot = inner;
}

/* A person can change what the program does with a library, not the library. */
static void own_find(const struct explore *e, struct explore_result *ret)
{
	uint32_t fn = own_of(e->g, ret->top);
	const struct look_point *own;

	if (fn == ret->top || ret->after)
		return;
	ret->inner = ret->top;
	ret->top = fn;
	own = look_point(&best_of(e)->look, fn);
	if (own)	/* what it does beside is its own time, too */
		ret->point.share += own->share;
}

static void hot_find(const struct explore *e, struct explore_result *ret)
{
	size_t cnt;
	const struct explore_call *calls;

	if (ret->top >= e->g->fn_cnt || ret->after)
		return;
	calls = calls_of(e->g, ret->top, &cnt);
	if (cnt && e->hot[calls[0].callee] &&
	    (double)calls[0].ns > MOST * (double)e->g->fns[ret->top].ns)
		ret->hot = calls[0].callee;
}

static void callers_find(const struct explore *e, struct explore_result *ret)
{
	uint32_t fn = ret->top == PART_ASK ? ret->asker : ret->top;

	for (int i = 0; i < EXPLORE_CALLERS; i++)
		ret->callers[i] = EXPLORE_NONE;
	for (int i = 0; i < EXPLORE_CALLERS && fn < e->g->fn_cnt; i++) {
		fn = heaviest_caller(e->g, fn);
		for (int k = 0; k < i && fn != EXPLORE_NONE; k++)
			if (ret->callers[k] == fn)	/* recursion */
				fn = EXPLORE_NONE;
		ret->callers[i] = fn;
	}
}

static void rounds_put(const struct explore *e, struct arena *arena, struct explore_result *ret)
{
	struct explore_round *out = ARENA_ARRAY(arena, struct explore_round, e->rounds.cnt + 1);
	uint8_t *ever = ARENA_ARRAY(arena, uint8_t, e->g->fn_cnt + 1);

	for (size_t i = 0; i < e->rounds.cnt; i++) {
		const struct round *r = &e->rounds.items[i];

		out[i] = (struct explore_round){.on = r->on.items, .on_cnt = (uint32_t)r->on.cnt,
						.hot_cnt = r->hot_cnt, .look = r->look,
						.top = r->top};
		for (size_t k = 0; k < r->on.cnt; k++) {
			ret->ever_cnt += !ever[r->on.items[k]];
			ever[r->on.items[k]] = 1;
		}
	}
	ret->rounds = out;
	ret->round_cnt = (uint32_t)e->rounds.cnt;
}

void explore_result(struct explore *e, struct arena *arena, struct explore_result *ret)
{
	const struct round *best = best_of(e);

	*ret = (struct explore_result){
		.end = e->end, .varies = e->pool.varies, .p50_ns = e->pool.p50_ns,
		.p99_ns = e->pool.p99_ns, .slow_ns = e->pool.slow_ns, .cv = e->pool.cv,
		.top = EXPLORE_NONE, .callee = EXPLORE_NONE, .hot = EXPLORE_NONE,
		.inner = EXPLORE_NONE, .asker = EXPLORE_NONE,
		.value_cnt = e->value_cnt, .asked = e->asked};
	memcpy(ret->values, e->values, sizeof(ret->values));
	if (best) {
		ret->top = best->top;
		if (best->top == PART_ASK && best->focus < e->g->fn_cnt)
			ret->asker = best->focus;
		ret->point = best->look.points.items[0];
	}
	place(e, ret);
	own_find(e, ret);
	hot_find(e, ret);
	callers_find(e, ret);
	rounds_put(e, arena, ret);
	ret->request_cnt = e->pool.ns.cnt;
	if (e->pool.ns.cnt && !e->pool.settled)
		ret->rare_ns = e->pool.ns.items[e->pool.ns.cnt - 1];
	for (size_t i = e->pool.ns.cnt; i > 0 && e->pool.ns.items[i - 1] >= e->pool.slow_ns; i--)
		ret->slow_cnt++;
}
