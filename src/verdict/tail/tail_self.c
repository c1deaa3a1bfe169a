/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slow requests that wait for an answer of their own process, which asks itself: that
 * is a hop and no end.  What the process ran during the stalls, and hardly runs at
 * other times, is what the requests at the end of that hop are presumed to wait for;
 * whether through a lock is not seen where the runtime parks its own threads.
 */
#include <string.h>

#include "functions/units/app_frames.h"
#include "model/stack.h"
#include "verdict/tail/tail_int.h"

/* This part of what the process ran during the stalls is in one function ... */
#define SHARED_MIN 0.5
/* ... in which it is at other times for no more than this part as often. */
#define OUTSIDE_MAX 0.3
/* Less than this of the stalls' time, and nothing inside worked. */
#define WORK_MIN 0.2
/* Fewer samples than these tell nothing. */
#define SAMPLES_MIN 10

struct busy_in {			/* samples of the process by function, once each */
	uint64_t *in, *out;	/* by function */
	uint64_t in_all, out_all;
};

static bool in_any(const struct stall_group *g, uint64_t ts_ns)
{
	for (size_t i = 0; i < g->stall_cnt; i++) {
		if (ts_ns >= g->stalls[i].begin_ns && ts_ns < g->stalls[i].end_ns)
			return true;
	}
	return false;
}

/* Counts what the process ran, by function. */
static void count(const struct context *k, const struct appfns *a, const struct stall_group *g,
		  uint32_t proc, struct busy_in *r)
{
	const struct model *m = k->m;
	uint32_t *last = ARENA_ARRAY(k->arena, uint32_t, a->fn_cnt + 1);

	r->in = ARENA_ARRAY(k->arena, uint64_t, a->fn_cnt + 1);
	r->out = ARENA_ARRAY(k->arena, uint64_t, a->fn_cnt + 1);
	for (uint32_t i = 0; i < m->sample_cnt; i++) {
		const struct sample *x = &m->samples[i];
		bool in = in_any(g, x->ts_ns);
		const struct app_stack *p;

		if (m->threads[x->thread].proc != proc)
			continue;
		*(in ? &r->in_all : &r->out_all) += x->cnt;
		p = x->stack < m->stack_cnt ? &a->stacks[x->stack] : NULL;
		for (uint32_t f = 0; p && f < p->cnt; f++) {
			uint32_t fn = p->frames[f].fn;

			if (last[fn] == i + 1)
				continue;
			last[fn] = i + 1;
			*(in ? &r->in[fn] : &r->out[fn]) += x->cnt;
		}
	}
}

/*
 * The function that tells the stalls from the rest best, of several its innermost;
 * NO_IDX: none does.
 */
static uint32_t fn_of(const struct context *k, const struct appfns *a, const struct stall_group *g,
		      const struct busy_in *r)
{
	double inside = (double)g->busy_ns, outside = k->window_ns - inside, least = 0;
	uint32_t best = NO_IDX;

	for (uint32_t f = 0; f < a->fn_cnt; f++) {
		double in = (double)r->in[f], part = in > 0 ? (double)r->out[f] / in : 1;

		if (r->in_all < SAMPLES_MIN || in < SHARED_MIN * (double)r->in_all ||
		    part * inside > OUTSIDE_MAX * outside)
			continue;
		if (best == NO_IDX || part < least ||
		    (part <= least && r->in[f] < r->in[best])) {
			best = f;
			least = part;
		}
	}
	return best;
}

/* The thread of the process that was in fn during the stalls most often. */
static uint32_t thread_in(const struct context *k, const struct appfns *a,
			  const struct stall_group *g, uint32_t proc, uint32_t fn)
{
	const struct model *m = k->m;
	uint64_t *cnt = ARENA_ARRAY(k->arena, uint64_t, m->thread_cnt + 1);
	uint32_t best = NO_IDX;

	for (size_t i = 0; i < m->sample_cnt; i++) {
		const struct sample *x = &m->samples[i];
		const struct app_stack *p;

		if (m->threads[x->thread].proc != proc || !in_any(g, x->ts_ns) ||
		    x->stack >= m->stack_cnt)
			continue;
		p = &a->stacks[x->stack];
		for (uint32_t f = 0; f < p->cnt; f++) {
			if (p->frames[f].fn != fn)
				continue;
			cnt[x->thread] += x->cnt;
			break;
		}
		if (cnt[x->thread] && (best == NO_IDX || cnt[x->thread] > cnt[best]))
			best = x->thread;
	}
	return best;
}

static void move(struct context *k, uint32_t thread)
{
	struct cand *from = &k->cand[FIND_PEER], *to = &k->cand[FIND_LOCK_HELD];
	struct cause *x = ARENA_NEW(k->arena, struct cause);

	*x = *from->top;
	x->kind = CAUSE_RUN;
	x->thread = thread;
	x->via = x->entry;
	x->end = x->res = x->via_res = NO_IDX;
	x->depth = 1;
	to->ns += from->ns;
	to->top = x;
	to->top_ns = from->ns;
	to->lock = NO_IDX;
	to->by_run = true;
	from->ns = 0;
}

struct self_run tail_self(struct context *k, const struct appfns *a, const struct stall_group *g)
{
	struct self_run ret = { .function = "" };
	struct cand *c = &k->cand[FIND_PEER];
	struct busy_in r = { 0 };
	uint32_t fn, t;

	if (!a || !c->top || c->top->entry_proc == NO_IDX || c->peer != c->top->entry_proc ||
	    k->cand[FIND_LOCK_HELD].ns > c->ns)
		return ret;
	count(k, a, g, c->peer, &r);
	if ((double)r.in_all * (double)k->m->meta.sample_ns < WORK_MIN * (double)g->busy_ns)
		return ret;
	fn = fn_of(k, a, g, &r);
	t = fn != NO_IDX ? thread_in(k, a, g, c->peer, fn) : NO_IDX;
	if (t == NO_IDX) {
		k->cand[FIND_UNKNOWN].ns += c->ns;
		c->ns = 0;
		return ret;
	}
	move(k, t);
	ret.function = a->fns[fn].name;
	ret.in = part_of((double)r.in[fn], (double)r.in_all);
	ret.out = part_of((double)r.out[fn], (double)r.out_all);
	return ret;
}
