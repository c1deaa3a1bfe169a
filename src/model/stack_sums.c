/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules, stacks, names of frames and samples, and the sums of time by
 * stack.  A stack gets its row when the first wait names it, whether or not
 * it was described by then: the source may send the two in either order.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cmp.h"
#include "model/model_int.h"

/* ---- modules */

static bool add_module(struct model *m, const struct event_hdr *ev)
{
	struct code *c = &m->priv->code;
	struct ev_module e;
	struct module *mod;
	uint64_t *slot;

	EV_LOAD(ev, &e);
	if (e.id == 0 || e.id > EVENT_MODULE_MAX || e.build_id_len > EVENT_BUILD_ID_MAX)
		return false;
	if (c->modules.cnt >= MODULES_MAX && !hmap_get(&c->by_module, e.id, NULL)) {
		m->limit_cnt++;
		return true;
	}
	slot = hmap_slot(&c->by_module, e.id);
	if (*slot)
		return true; /* an id is given once */
	mod = vec_add(&c->modules);
	*slot = c->modules.cnt;
	*mod = (struct module){
		.id = e.id, .tgid = e.tgid, .kind = e.kind, .build_id_len = e.build_id_len,
		.base_vaddr = e.base_vaddr, .path = model_str(m, e.path),
	};
	memcpy(mod->build_id, e.build_id, sizeof(mod->build_id));
	return true;
}

const struct module *model_module(const struct model *m, uint64_t frame)
{
	const struct code *c = &m->priv->code;
	uint32_t id = FRAME_MODULE(frame);
	uint64_t at;

	if (id == 0 || id == FRAME_KERNEL || !hmap_get(&c->by_module, id, &at))
		return NULL;
	return &c->modules.items[at - 1];
}

/* ---- stacks */

uint32_t code_stack_get(struct model *m, uint32_t id)
{
	struct code *c = &m->priv->code;
	uint64_t *slot;

	if (id == 0)
		return NO_IDX;
	if (c->stacks.cnt >= STACKS_MAX && !hmap_get(&c->by_stack, id, NULL)) {
		m->limit_cnt++;
		return NO_IDX;
	}
	slot = hmap_slot(&c->by_stack, id);
	if (*slot == 0) {
		vec_add(&c->stacks)->id = id;
		*slot = c->stacks.cnt;
	}
	return (uint32_t)*slot - 1;
}

static bool add_stack(struct model *m, const struct event_hdr *ev)
{
	struct code *c = &m->priv->code;
	struct ev_stack e;
	struct stack *s;
	size_t cnt;
	uint32_t at;

	EV_LOAD(ev, &e);
	cnt = (size_t)e.user_cnt + e.kernel_cnt;
	if (ev->size < sizeof(e) || e.id == 0 || e.id > EVENT_STACK_MAX || cnt == 0 ||
	    cnt > EVENT_FRAMES_MAX || cnt * sizeof(uint64_t) > ev->size - sizeof(e))
		return false;
	at = code_stack_get(m, e.id);
	if (at == NO_IDX)
		return true;
	s = &c->stacks.items[at];
	if (s->frames)
		return true; /* an id is given once */
	if (c->frame_cnt + cnt > FRAMES_MAX) {
		m->limit_cnt++;
		return true;
	}
	c->frame_cnt += cnt;
	s->tgid = e.tgid;
	s->user_cnt = e.user_cnt;
	s->kernel_cnt = e.kernel_cnt;
	s->end = e.end < STACK_END_CNT ? e.end : STACK_UNKNOWN;
	s->frames = arena_dup(&c->frames, (const char *)ev + sizeof(e), cnt * sizeof(uint64_t));
	return true;
}

/* ---- names of frames */

static uint64_t fn_key(uint64_t frame, uint32_t tgid)
{
	return hash_pair(frame, FRAME_MODULE(frame) == 0 ? tgid : 0);
}

/* Into the chain that starts at *head (an index plus one), the deepest first. */
static void chain_put(struct code *c, uint64_t *head, const struct fn *fn)
{
	uint32_t before = NO_IDX, at = *head ? (uint32_t)*head - 1 : NO_IDX;

	while (at != NO_IDX && c->fns.items[at].depth > fn->depth) {
		before = at;
		at = c->fns.items[at].outer;
	}
	if (at != NO_IDX && c->fns.items[at].depth == fn->depth) {
		uint32_t outer = c->fns.items[at].outer;

		c->fns.items[at] = *fn; /* a better name */
		c->fns.items[at].outer = outer;
		return;
	}
	vec_push(&c->fns, *fn);
	vec_last(&c->fns)->outer = at;
	if (before == NO_IDX)
		*head = c->fns.cnt;
	else
		c->fns.items[before].outer = (uint32_t)c->fns.cnt - 1;
}

static bool add_frame(struct model *m, const struct event_hdr *ev)
{
	struct code *c = &m->priv->code;
	struct ev_frame e;
	struct fn fn;

	EV_LOAD(ev, &e);
	if (e.depth > EVENT_INLINE_MAX)
		return false;
	if (c->fns.cnt >= FNS_MAX) {
		m->limit_cnt++;
		return true;
	}
	fn = (struct fn){
		.frame = e.frame, .tgid = e.tgid, .depth = e.depth, .line = e.line, .off = e.off,
		.name = model_str(m, e.fn), .file = model_str(m, e.file),
	};
	if (!fn.name[0])
		return true; /* as good as none */
	chain_put(c, hmap_slot(&c->by_frame, fn_key(e.frame, e.tgid)), &fn);
	return true;
}

const struct fn *model_fn(const struct model *m, uint64_t frame, uint32_t tgid)
{
	const struct code *c = &m->priv->code;
	uint64_t at;

	return hmap_get(&c->by_frame, fn_key(frame, tgid), &at) && at ? &c->fns.items[at - 1]
								       : NULL;
}

const struct fn *model_fn_outer(const struct model *m, const struct fn *fn)
{
	return fn->outer == NO_IDX ? NULL : &m->priv->code.fns.items[fn->outer];
}

/* ---- samples */

/* Threads get their places only with the batch: until then a sample goes by its tid. */
static bool add_sample(struct model *m, const struct event_hdr *ev)
{
	struct code *c = &m->priv->code;
	struct ev_sample e;
	struct raw_sample raw;
	uint64_t *slot;

	EV_LOAD(ev, &e);
	if (e.h.tid == 0 || e.cnt == 0)
		return false;
	raw = (struct raw_sample){.ts_ns = ev->ts_ns, .tid = e.h.tid, .cnt = e.cnt,
				  .stack = code_stack_get(m, e.stack), .cpu = (uint16_t)e.cpu};
	model_thread_get(m, e.h.tid, e.tgid);
	if (c->samples.cnt >= SAMPLES_MAX) { /* the newest half is kept */
		c->samples.cnt = SAMPLES_MAX / 2;
		memmove(c->samples.items, c->samples.items + SAMPLES_MAX / 2,
			c->samples.cnt * sizeof(*c->samples.items));
	}
	vec_push(&c->samples, raw);
	if (c->sampled.cnt >= STACK_SUMS_MAX &&
	    !hmap_get(&c->by_sampled, hash_pair(raw.tid, raw.stack), NULL)) {
		m->limit_cnt++;
		return true;
	}
	slot = hmap_slot(&c->by_sampled, hash_pair(raw.tid, raw.stack));
	if (*slot == 0) {
		vec_push(&c->sampled, raw);
		*slot = c->sampled.cnt;
	} else {
		struct raw_sample *sum = &c->sampled.items[*slot - 1];

		sum->cnt = sum->cnt + e.cnt < e.cnt ? UINT32_MAX : sum->cnt + e.cnt;
	}
	return true;
}

bool code_add(struct model *m, const struct event_hdr *ev)
{
	switch (ev->kind) {
	case EV_MODULE:
		return add_module(m, ev);
	case EV_STACK:
		return add_stack(m, ev);
	case EV_FRAME:
		return add_frame(m, ev);
	default:
		return add_sample(m, ev);
	}
}

/* ---- sums of waits */

static bool same_sum(const struct stack_sum *a, const struct stack_sum *b)
{
	return a->thread == b->thread && a->res == b->res && a->stack == b->stack &&
	       a->waker == b->waker && a->waker_stack == b->waker_stack && a->st == b->st &&
	       a->op == b->op && a->ctx == b->ctx;
}

static uint64_t sum_key(const struct stack_sum *k)
{
	uint64_t a = hash_pair((uint64_t)k->thread << 32 | k->res,
			       (uint64_t)k->stack << 32 | k->waker_stack);

	return hash_pair(a, (uint64_t)k->waker << 32 | (uint64_t)k->st << 16 |
				    (uint64_t)k->op << 8 | k->ctx);
}

static void sum_put(struct model *m, const struct stack_sum *add)
{
	struct code *c = &m->priv->code;
	uint64_t key = sum_key(add), *slot;
	struct stack_sum *sum;

	if (c->sums.cnt >= STACK_SUMS_MAX && !hmap_get(&c->by_sum, key, NULL)) {
		m->limit_cnt++;
		return;
	}
	slot = hmap_slot(&c->by_sum, key);
	if (*slot == 0 || !same_sum(&c->sums.items[*slot - 1], add)) {
		vec_push(&c->sums, *add);
		*slot = c->sums.cnt;
		return;
	}
	sum = &c->sums.items[*slot - 1];
	sum->ns += add->ns;
	sum->cnt += add->cnt;
	sum->max_ns = add->max_ns > sum->max_ns ? add->max_ns : sum->max_ns;
}

static struct stack_sum sum_of(const struct wait *w, bool slept)
{
	struct stack_sum sum = {
		.thread = w->thread, .res = NO_IDX, .waker = NO_IDX, .stack = w->ustack,
		.waker_stack = NO_IDX, .st = ST_RUNQ, .cnt = 1, .ns = w->end_ns - w->wake_ns,
	};

	if (slept) {
		sum.st = (uint8_t)(ST_WAIT + w->cls);
		sum.res = w->res;
		sum.waker = w->waker;
		sum.waker_stack = w->waker_stack;
		sum.op = w->op;
		sum.ctx = w->waker_ctx;
		sum.ns = w->wake_ns - w->off_ns;
	}
	sum.max_ns = sum.ns;
	return sum;
}

void code_stacks_of(struct model *m, const struct ev_wait *e, struct wait *w)
{
	w->ustack = code_stack_get(m, e->ustack);
	w->waker_stack = code_stack_get(m, e->waker_stack);
}

void code_wait(struct model *m, const struct wait *w)
{
	struct stack_sum sum;

	if (w->ustack == NO_IDX && w->waker_stack == NO_IDX)
		return;
	if (!(w->flags & WAITF_PREEMPTED)) {
		sum = sum_of(w, true);
		sum_put(m, &sum);
	}
	if (w->ustack != NO_IDX && w->end_ns > w->wake_ns) {
		sum = sum_of(w, false);
		sum_put(m, &sum);
	}
}

/* ---- what the engines read */

static int cmp_sum(const void *pa, const void *pb)
{
	const struct stack_sum *a = pa, *b = pb;

	CMP(a->thread, b->thread);
	CMP(a->st, b->st);
	CMP(a->res, b->res);
	CMP(a->stack, b->stack);
	CMP(a->waker, b->waker);
	CMP(a->waker_stack, b->waker_stack);
	CMP(a->op, b->op);
	CMP(a->ctx, b->ctx);
	CMP(a->pending, b->pending);
	return 0;
}

/* Adds the waits that still go on. */
static size_t pending_sums(const struct model *m, struct stack_sum *to, size_t max)
{
	size_t cnt = 0;

	for (size_t i = 0; i < m->priv->waits.cnt && cnt < max; i++) {
		const struct wait *w = &m->priv->waits.items[i];

		if (!(w->flags & WAITF_PENDING) || w->ustack == NO_IDX)
			continue;
		to[cnt] = sum_of(w, !(w->flags & WAITF_PREEMPTED));
		to[cnt++].pending = 1;
	}
	return cnt;
}

static void publish_sums(struct model *m)
{
	struct code *c = &m->priv->code;
	size_t max = m->priv->tracks.cnt, cnt = c->sums.cnt;
	struct stack_sum *sums =
		ARENA_ARRAY(&m->priv->pub, struct stack_sum, cnt + max + c->sampled.cnt + 1);

	if (cnt)
		memcpy(sums, c->sums.items, cnt * sizeof(*sums));
	cnt += pending_sums(m, sums + cnt, max);
	VEC_FOREACH(&c->sampled, s) {
		uint32_t thread = model_thread_by_tid(m, s->tid);

		if (thread == NO_IDX || s->stack == NO_IDX)
			continue;
		sums[cnt] = (struct stack_sum){
			.thread = thread, .res = NO_IDX, .stack = s->stack, .waker = NO_IDX,
			.waker_stack = NO_IDX, .st = ST_RUN, .cnt = s->cnt,
			.ns = s->cnt * (m->meta.sample_ns < NS_PER_SEC ? m->meta.sample_ns : 0),
		};
		cnt++;
	}
	qsort(sums, cnt, sizeof(*sums), cmp_sum);
	m->stack_sums = sums;
	m->stack_sum_cnt = cnt;
}

static void publish_samples(struct model *m)
{
	struct code *c = &m->priv->code;

	m->samples = ARENA_ARRAY(&m->priv->pub, struct sample, c->samples.cnt + 1);
	m->sample_cnt = 0;
	VEC_FOREACH(&c->samples, s) {
		uint32_t thread = model_thread_by_tid(m, s->tid);

		if (thread != NO_IDX)
			m->samples[m->sample_cnt++] = (struct sample){
				.ts_ns = s->ts_ns, .thread = thread, .stack = s->stack,
				.cnt = s->cnt, .cpu = s->cpu,
			};
	}
}

void code_publish(struct model *m)
{
	struct code *c = &m->priv->code;

	m->modules = c->modules.items;
	m->module_cnt = c->modules.cnt;
	m->stacks = c->stacks.items;
	m->stack_cnt = c->stacks.cnt;
	m->fns = c->fns.items;
	m->fn_cnt = c->fns.cnt;
	publish_sums(m);
	publish_samples(m);
}

#define HMAP_BYTES(m) ((m)->cap * (sizeof(struct hmap_entry) + 1))

size_t code_bytes(const struct model_priv *p)
{
	const struct code *c = &p->code;

	return c->modules.cap * sizeof(*c->modules.items) +
	       c->stacks.cap * sizeof(*c->stacks.items) + c->frames.held_bytes +
	       c->fns.cap * sizeof(*c->fns.items) +
	       (c->samples.cap + c->sampled.cap) * sizeof(struct raw_sample) +
	       c->sums.cap * sizeof(*c->sums.items) + HMAP_BYTES(&c->by_module) +
	       HMAP_BYTES(&c->by_stack) + HMAP_BYTES(&c->by_frame) + HMAP_BYTES(&c->by_sum) +
	       HMAP_BYTES(&c->by_sampled);
}

void code_release(struct model_priv *p)
{
	struct code *c = &p->code;

	vec_release(&c->modules);
	vec_release(&c->stacks);
	vec_release(&c->fns);
	vec_release(&c->samples);
	vec_release(&c->sampled);
	vec_release(&c->sums);
	arena_release(&c->frames);
	hmap_release(&c->by_module);
	hmap_release(&c->by_stack);
	hmap_release(&c->by_frame);
	hmap_release(&c->by_sum);
	hmap_release(&c->by_sampled);
}
