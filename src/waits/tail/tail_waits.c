/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail: a second, short pass of the engine over the long waits alone.
 *
 * Waits of a millisecond and more are known whole and for all of the window;
 * a request that took fifty is made of few others.  So the cascade runs on a
 * view of the model that has just these, with the roles that the first pass
 * gave the threads, and each slow request is explained by itself.
 */
#include "waits/tail.h"

#include <string.h>

#include "waits/waits_int.h"

/* Slow: this many times what half of the requests take, and twice what nine in ten take. */
#define SLOW_P50 8
#define SLOW_P90 2

uint64_t hist_from(const uint64_t *hist, uint64_t ns)
{
	uint64_t cnt = 0;

	for (unsigned i = 0; i < EVENT_HIST_CNT; i++) {
		uint64_t next = 1000ULL << ((i + 1) / 2);

		next = (i + 1) & 1 ? next + next / 2 : next;
		if (next > ns)
			cnt += hist[i];
	}
	return cnt;
}

static void answers_sum(const struct model *m, struct waits_tail *t)
{
	uint64_t longest_ns = 0;

	for (size_t i = 0; i < m->end_cnt; i++) {
		const struct end *n = &m->ends[i];

		if (n->role != ROLE_SERVER || n->proc == NO_IDX || !m->procs[n->proc].target)
			continue;
		t->requests += n->turns;
		if (n->answer_max_ns > longest_ns)
			longest_ns = n->answer_max_ns;
		for (unsigned b = 0; b < EVENT_HIST_CNT; b++)
			t->hist[b] += n->hist[b];
	}
	t->p50_ns = hist_quantile_ns(t->hist, 0.5, longest_ns);
	t->p90_ns = hist_quantile_ns(t->hist, 0.9, longest_ns);
	t->p99_ns = hist_quantile_ns(t->hist, 0.99, longest_ns);
	t->p999_ns = hist_quantile_ns(t->hist, 0.999, longest_ns);
	t->slow_ns = WAITS_STALL_NS;
	if (SLOW_P50 * t->p50_ns > t->slow_ns)
		t->slow_ns = SLOW_P50 * t->p50_ns;
	t->late_cnt = hist_from(t->hist, t->slow_ns);
	if (SLOW_P90 * t->p90_ns > t->slow_ns)
		t->slow_ns = SLOW_P90 * t->p90_ns;
}

/* The long waits for waits, and for the clock of waits the real one. */
static void view_clock(const struct model *m, struct model *view, struct arena *arena)
{
	struct kept *all = ARENA_NEW(arena, struct kept);

	*all = (struct kept){ m->begin_ns, m->end_ns, m->begin_ns };
	view->kept = all;
	view->kept_cnt = 1;
	view->kept_ns = m->end_ns - m->begin_ns;
	view->waits_begin_ns = view->view_begin_ns = m->begin_ns;
	view->view_end_ns = m->end_ns;
	view->waits = m->long_waits;
	view->wait_cnt = m->long_cnt;
	view->threads = ARENA_ARRAY(arena, struct thread, m->thread_cnt + 1);
	for (size_t i = 0; i < m->thread_cnt; i++) {
		struct thread *t = &view->threads[i];

		*t = m->threads[i];
		t->first_wait = t->first_long;
		t->wait_len = t->long_len;
		t->view_begin_ns = t->begin_ns;
		t->view_end_ns = t->end_ns;
	}
}

/* Short waits too show the locks that threads without a request queue for. */
static void gates_copy(const struct engine *e, struct engine *v)
{
	struct hmap gates = { 0 };

	for (size_t i = 0; i < e->r->lock_cnt; i++) {
		if (e->r->locks[i].gate && e->r->locks[i].res != NO_IDX)
			hmap_put(&gates, e->place[e->r->locks[i].res], 1);
	}
	for (size_t i = 0; i < v->r->lock_cnt; i++) {
		uint32_t res = v->r->locks[i].res;

		v->r->locks[i].gate = res != NO_IDX && hmap_get(&gates, e->place[res], NULL);
	}
	hmap_release(&gates);
}

/* ret_v shares with e what does not depend on waits. */
static void view_make(const struct engine *e, struct engine *ret_v, struct arena *tmp)
{
	struct model *view = ARENA_NEW(e->arena, struct model);
	size_t cnt;

	*view = *e->m;
	view_clock(e->m, view, e->arena);
	cnt = view->wait_cnt + 1;
	*ret_v = *e;
	ret_v->m = view;
	ret_v->by_wait = false;
	/* few long waits may not show the queue for a lock */
	ret_v->max_depth = WAITS_MAX_LINE;
	ret_v->from_ns = view->begin_ns;
	ret_v->r = ARENA_NEW(e->arena, struct waits_result);
	*ret_v->r = (struct waits_result){ .threads = e->r->threads, .groups = e->r->groups,
					   .group_cnt = e->r->group_cnt, .part = 1,
					   .reqs = e->r->reqs, .req_cnt = e->r->req_cnt,
					   .demand_kind = e->r->demand_kind };
	ret_v->wait_lock = ARENA_ARRAY(tmp, uint32_t, cnt);
	ret_v->look_begin = ARENA_ARRAY(tmp, uint32_t, cnt);
	ret_v->look_end = ARENA_ARRAY(tmp, uint32_t, cnt);
	memset(ret_v->wait_lock, 0xff, cnt * sizeof(*ret_v->wait_lock));
	ret_v->parked = ARENA_ARRAY(tmp, bool, cnt);
	looks_find(ret_v);
	locks_find(ret_v);
	/* where receives were not seen, no wait tells that its thread had no request */
	if (!e->m->coarse_ns[__builtin_ctz(SHED_TIMING)])
		parks_find(ret_v);
	gates_copy(e, ret_v);
	virtual_locks_find(ret_v);
	crowds_find(ret_v);
	locks_finish(ret_v);
	edges_sum(ret_v);
}

void tail_find(struct engine *e)
{
	struct waits_tail *t = ARENA_NEW(e->arena, struct waits_tail);
	struct arena tmp = { 0 };
	struct engine view;
	struct tail_work k = { .e = &view, .tail = t };

	if (e->r->demand_kind != 1)
		return;
	answers_sum(e->m, t);
	if (!t->requests)
		return;
	e->r->tail = t;
	view_make(e, &view, &tmp);
	k.m = t->view = view.m;
	t->w = view.r;
	samples_index(&k, &tmp);
	k.spans = ARENA_ARRAY(&tmp, struct span, TAIL_SPANS_MAX);
	k.asks = ARENA_ARRAY(&tmp, uint32_t, k.m->turn_cnt + 1);
	spans_collect(&k);
	spans_explain(&k);
	stalls_make(&k, e->arena);
	for (size_t i = 0; i < k.span_cnt; i++)
		causes_free(k.spans[i].causes);
	hmap_release(&k.runs);
	hmap_release(&k.news);
	hmap_release(&k.place_idx);
	VEC_FOREACH(&k.places, p)
		hmap_release(p);
	vec_release(&k.places);
	arena_release(&tmp);
}
