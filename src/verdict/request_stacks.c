/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/request_stacks.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "functions/units/function_requests.h"
#include "model/stack.h"
#include "verdict/context/targets.h"
#include "waits/waits.h"

struct pool {			/* time without a stack, and with one, that is alike */
	double ns, idle_ns;
	double seen_ns;
};

struct layer {
	const struct model *m;
	const struct waits_result *w;
	struct held_stack *waits, *runs; /* by model stack idx */
	VEC(struct pool) pools;
	struct hmap by_key;	/* to place plus one */
};

static bool has_frames(const struct model *m, uint32_t stack)
{
	return stack != NO_IDX && m->stacks[stack].user_cnt > 0;
}

static struct pool *pool_of(struct layer *k, uint64_t key)
{
	uint64_t *slot = hmap_slot(&k->by_key, key);

	if (!*slot) {
		vec_add(&k->pools);
		*slot = k->pools.cnt;
	}
	return &k->pools.items[*slot - 1];
}

static uint64_t wait_key(uint32_t thread, uint32_t res, unsigned st)
{
	return hash_u64((uint64_t)thread << 32 | res) + st;
}

static void waits_take(struct layer *k)
{
	for (uint32_t i = 0; i < k->m->wait_cnt; i++) {
		const struct wait *w = &k->m->waits[i];
		double ns = k->w->wait_demand_ns[i], idle_ns = 0;

		if (k->w->wait_idle[i] && thread_is_target(k->m, w->thread) &&
		    w->end_ns > w->off_ns)
			idle_ns = (double)(w->end_ns - w->off_ns) / k->w->part;
		if (ns + idle_ns <= 0)
			continue;
		if (has_frames(k->m, w->ustack)) {
			k->waits[w->ustack].ns += ns;
			k->waits[w->ustack].idle_ns += idle_ns;
		} else {
			struct pool *p = pool_of(k, wait_key(w->thread, w->res, ST_WAIT + w->cls));

			p->ns += ns;
			p->idle_ns += idle_ns;
		}
	}
}

/* The weight of a sum among its like. */
static double sum_ns(const struct stack_sum *s)
{
	return s->st == ST_RUN && !s->ns ? (double)s->cnt : (double)s->ns;
}

/* A capture may hold sums of nothing at all. */
static double part(const struct stack_sum *s, const struct pool *p)
{
	return p->seen_ns > 0 ? sum_ns(s) / p->seen_ns : 0;
}

static void waits_spread(struct layer *k)
{
	const struct model *m = k->m;

	for (size_t i = 0; i < m->stack_sum_cnt; i++) {
		const struct stack_sum *s = &m->stack_sums[i];

		if (s->st >= ST_WAIT && has_frames(m, s->stack))
			pool_of(k, wait_key(s->thread, s->res, s->st))->seen_ns += sum_ns(s);
	}
	for (size_t i = 0; i < m->stack_sum_cnt; i++) {
		const struct stack_sum *s = &m->stack_sums[i];
		const struct pool *p;

		if (s->st < ST_WAIT || !has_frames(m, s->stack))
			continue;
		p = pool_of(k, wait_key(s->thread, s->res, s->st));
		k->waits[s->stack].ns += p->ns * part(s, p);
		k->waits[s->stack].idle_ns += p->idle_ns * part(s, p);
	}
}

static uint64_t proc_key(const struct model *m, uint32_t thread)
{
	return wait_key(m->threads[thread].proc, NO_IDX, ST_CNT);
}

static uint64_t run_key(uint32_t thread)
{
	return wait_key(thread, NO_IDX, ST_RUN);
}

static void runs_spread(struct layer *k)
{
	const struct model *m = k->m;

	for (size_t i = 0; i < m->stack_sum_cnt; i++) {
		const struct stack_sum *s = &m->stack_sums[i];

		if (s->st != ST_RUN || !has_frames(m, s->stack))
			continue;
		pool_of(k, run_key(s->thread))->seen_ns += sum_ns(s);
		pool_of(k, proc_key(m, s->thread))->seen_ns += sum_ns(s);
	}
	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		double ns = k->w->run_demand_ns[t];
		struct pool *own = pool_of(k, run_key(t));

		if (ns > 0 && own->seen_ns > 0)
			own->ns += ns;
		else if (ns > 0)
			pool_of(k, proc_key(m, t))->ns += ns;
	}
	for (size_t i = 0; i < m->stack_sum_cnt; i++) {
		const struct stack_sum *s = &m->stack_sums[i];
		const struct pool *p;

		if (s->st != ST_RUN || !has_frames(m, s->stack))
			continue;
		p = pool_of(k, run_key(s->thread));
		k->runs[s->stack].ns += p->ns * part(s, p);
		p = pool_of(k, proc_key(m, s->thread));
		k->runs[s->stack].ns += p->ns * part(s, p);
	}
}

static void stacks_keep(struct held *h, const struct held_stack *from, size_t cnt, bool runs)
{
	for (uint32_t i = 0; i < cnt; i++) {
		struct held_stack *to = &h->stacks[h->stack_cnt];

		if (from[i].ns + from[i].idle_ns <= 0)
			continue;
		*to = from[i];
		to->stack = i;
		to->runs = runs;
		h->idle_ns += to->idle_ns;
		h->stack_cnt++;
	}
}

/* Demand that was spent in a wait of somebody's, or running. */
static bool has_place(const struct cause *c)
{
	switch (c->kind) {
	case CAUSE_UNSEEN:
	case CAUSE_RUNQ_SELF:
	case CAUSE_RUNQ_OTHER:
	case CAUSE_RUNQ_QUOTA:
	case CAUSE_CLIENT:
	case CAUSE_IDLE:
	case CAUSE_QUEUE:
		return false;
	}
	return c->thread != NO_IDX;
}

static void sums_take(const struct layer *k, struct held *h)
{
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];
		double ns = (double)c->ns;

		if (!proc_is_target(k->m, c->entry_proc))
			continue;
		h->ns += has_place(c) ? ns : 0;
		h->all_ns += c->kind != CAUSE_CLIENT && c->kind != CAUSE_IDLE ? ns : 0;
		h->queued_ns += c->kind == CAUSE_QUEUE ? ns : 0;
	}
}

static const double *threads_sum(const struct layer *k, struct arena *arena)
{
	double *ns = ARENA_ARRAY(arena, double, k->m->thread_cnt + 1);

	for (uint32_t i = 0; i < k->m->wait_cnt; i++)
		ns[k->m->waits[i].thread] += k->w->wait_demand_ns[i];
	for (uint32_t t = 0; t < k->m->thread_cnt; t++)
		ns[t] += k->w->run_demand_ns[t];
	return ns;
}

const struct held *verdict_held(const struct model *m, const struct waits_result *w,
				struct arena *arena)
{
	struct held *h = ARENA_NEW(arena, struct held);
	struct layer k = {.m = m, .w = w};

	k.waits = ARENA_ARRAY(arena, struct held_stack, m->stack_cnt + 1);
	k.runs = ARENA_ARRAY(arena, struct held_stack, m->stack_cnt + 1);
	waits_take(&k);
	waits_spread(&k);
	runs_spread(&k);
	h->stacks = ARENA_ARRAY(arena, struct held_stack, 2 * m->stack_cnt + 1);
	stacks_keep(h, k.waits, m->stack_cnt, false);
	stacks_keep(h, k.runs, m->stack_cnt, true);
	sums_take(&k, h);
	h->thread_ns = threads_sum(&k, arena);
	vec_release(&k.pools);
	hmap_release(&k.by_key);
	return h;
}
