/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who ended whose waits in the tick.  Each wait is cut to the tick and added
 * to the pair (thread, resource, waker, class); threads and resources then
 * take their main waker from the pairs.  A wait that goes on counts up to
 * the tick's end and has no waker yet.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "ui/view_int.h"

static bool by_task(const struct wait *w)
{
	return w->waker_ctx == WAKER_TASK ||
	       (w->waker_ctx == WAKER_NET && w->flags & WAITF_PEER_CTX);
}

static struct view_waker waker_of(struct view_ctx *c, const struct wait *w)
{
	struct view_waker who = {.ctx = w->waker_ctx, .comm = ""};

	if (by_task(w)) {
		who.tid = w->waker_tid;
		who.comm = view_task_comm(c, w->waker_tid);
	}
	return who;
}

/* A wait that goes on has no waker; the owner of a lock may be known. */
static struct view_waker owner_of(struct view_ctx *c, const struct wait *w)
{
	struct view_waker who = {.ctx = WAKER_NONE, .comm = ""};

	if (w->owner_tid) {
		who.tid = w->owner_tid;
		who.comm = view_task_comm(c, w->owner_tid);
	}
	return who;
}

static struct view_pair *pair_row(struct view_ctx *c, struct hmap *idx, uint32_t thread,
				  uint32_t res, const struct wait *w, bool ended)
{
	struct view_thread *t = &c->v->threads.items[c->thread_row[thread]];
	struct { uint32_t tid, res, waker; uint8_t cls, ctx, pad[2]; } key = {
		.tid = t->tid, .res = res, .cls = w->cls };
	struct view_pair *p;
	uint64_t id, at;

	key.ctx = ended ? w->waker_ctx : WAKER_NONE;
	key.waker = !ended ? w->owner_tid : by_task(w) ? w->waker_tid : 0;
	id = hash_bytes(&key, sizeof(key));
	if (hmap_get(idx, id, &at))
		return &c->v->pairs.items[at];
	hmap_put(idx, id, c->v->pairs.cnt);
	p = vec_add(&c->v->pairs);
	p->thread = c->thread_row[thread];
	p->tid = t->tid;
	p->res = res;
	p->comm = t->comm;
	p->cls = w->cls;
	p->waker = ended ? waker_of(c, w) : owner_of(c, w);
	return p;
}

/* One wait that touches the tick. */
static void add_wait(struct view_ctx *c, struct hmap *idx, uint32_t thread, const struct wait *w)
{
	bool going = w->flags & WAITF_PENDING && w->wake_ns >= w->end_ns;
	uint64_t to = w->wake_ns;
	uint64_t from = w->off_ns > c->begin_ns ? w->off_ns : c->begin_ns;
	bool ended = !going && to <= c->end_ns;
	struct view_thread *t = &c->v->threads.items[c->thread_row[thread]];
	uint64_t full_ns = to - w->off_ns;
	struct view_pair *p;
	uint32_t res;

	if (to > c->end_ns)
		to = c->end_ns;
	if (w->flags & WAITF_PREEMPTED || to <= from)
		return;
	res = view_res_row(c, w->res, w->cls);
	p = pair_row(c, idx, thread, res, w, ended);
	p->ns += to - from;
	p->cnt += ended;
	p->waiting_cnt += !ended;
	t->waiting |= !ended;
	if (!ended)
		full_ns = to - w->off_ns;
	if (full_ns > p->max_ns)
		p->max_ns = full_ns;
}

/* Sorted by off_ns, and one thread's waits do not overlap: so their ends are sorted too. */
static void add_thread(struct view_ctx *c, struct hmap *idx, uint32_t thread)
{
	const struct thread *t = &c->m->threads[thread];

	for (uint32_t i = t->wait_len; i-- > 0;) {
		const struct wait *w = &c->m->waits[t->first_wait + i];

		if (w->end_ns <= c->begin_ns)
			break;
		if (w->off_ns < c->end_ns)
			add_wait(c, idx, thread, w);
	}
}

static int cmp_pair(const void *pa, const void *pb)
{
	const struct view_pair *a = pa, *b = pb;

	CMP(a->thread, b->thread);
	CMP(a->res, b->res);
	CMP(a->cls, b->cls);
	CMP(b->ns, a->ns);
	return 0;
}

/* A run of pairs of one thread, resource and class, the longest first. */
static void take_run(struct view_thread *t, const struct view_pair *run, size_t cnt)
{
	if (run->res != t->top_res || run->cls != t->top_cls)
		return;
	t->waker = run->waker;
	for (size_t i = 0; i < cnt && t->waker.ctx == WAKER_NONE; i++)
		t->waker = run[i].waker;
}

static void find_thread_tops(struct view *v)
{
	size_t from = 0;

	vec_sort(&v->pairs, cmp_pair);
	for (size_t i = 1; i <= v->pairs.cnt; i++) {
		const struct view_pair *a = &v->pairs.items[from], *b = a + (i - from);

		if (i < v->pairs.cnt && a->thread == b->thread && a->res == b->res &&
		    a->cls == b->cls)
			continue;
		take_run(&v->threads.items[a->thread], a, i - from);
		from = i;
	}
}

/* Distinct waiters and wakers of each resource, and the waker of most of its time. */
static void find_res_tops(struct view *v)
{
	struct hmap seen = {0}, by_waker = {0};
	uint64_t *best = xcalloc(v->res.cnt + 1, sizeof(*best));

	VEC_FOREACH(&v->pairs, p) {
		struct view_res *r = p->res == NO_IDX ? NULL : &v->res.items[p->res];
		uint64_t key = (uint64_t)p->res << 32;
		uint64_t *ns;

		if (!r)
			continue;
		if (p->max_ns > r->max_ns)
			r->max_ns = p->max_ns;
		r->waiting_cnt += p->waiting_cnt;
		r->waiter_cnt += !hmap_get(&seen, key | p->tid, NULL);
		hmap_put(&seen, key | p->tid, 1);
		if (p->waker.ctx == WAKER_NONE)
			continue;
		key |= p->waker.tid ? p->waker.tid : UINT32_MAX - p->waker.ctx;
		ns = hmap_slot(&by_waker, key);
		r->waker_cnt += *ns == 0;
		*ns += p->ns;
		if (*ns > best[p->res]) {
			best[p->res] = *ns;
			r->waker = p->waker;
		}
	}
	free(best);
	hmap_release(&seen);
	hmap_release(&by_waker);
}

void view_add_pairs(struct view_ctx *c)
{
	struct hmap idx = {0};
	uint64_t from = c->m->waits_begin_ns;

	c->v->pairs_from_ns = from > c->begin_ns ? from : c->begin_ns;
	for (uint32_t i = 0; i < c->m->thread_cnt; i++)
		if (c->thread_row[i] != NO_IDX)
			add_thread(c, &idx, i);
	find_thread_tops(c->v);
	find_res_tops(c->v);
	hmap_release(&idx);
}
