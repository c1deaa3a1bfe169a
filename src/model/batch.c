/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waits of one tick.  They come ordered by their end per CPU only, and
 * new threads and resources come in any order; so that the same events give
 * the same model in whatever order a batch holds them, new rows are put in
 * the order of their ids and the waits in the order of thread and time
 * before they are worked in.
 *
 * Nothing is allocated per wait: the batch and the order keep their memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "model/model_int.h"

struct keyed {
	uint64_t key;
	uint32_t idx;
};

void batch_put(struct model *m, const struct ev_wait *ev)
{
	struct model_priv *p = m->priv;

	if (p->batch.cnt >= BATCH_MAX)
		batch_work(m);
	vec_reserve(&p->batch, p->batch.cnt + 1);
	p->batch.items[p->batch.cnt++].e = *ev;
}

/* Rows for all that the batch names. */
static void find_rows(struct model *m)
{
	VEC_FOREACH(&m->priv->batch, raw) {
		raw->thread = model_thread_get(m, raw->e.h.tid, raw->e.tgid);
		raw->res = model_res_get(m, raw->e.res, raw->e.cls);
		raw->io = model_res_get(m, raw->e.first_io, WAIT_SOCKET);
		raw->waker = sums_waker(m, &raw->e);
	}
}

static int cmp_keyed(const void *pa, const void *pb)
{
	const struct keyed *a = pa, *b = pb;

	CMP(a->key, b->key);
	return a->idx < b->idx ? -1 : 1;
}

/* Puts items[from..] in the order of keys; pos[old - from] becomes the new place. */
static void put_in_order(void *items, size_t size, uint32_t from, struct keyed *keys,
			 uint32_t cnt, uint32_t *pos)
{
	char *tail = (char *)items + (size_t)from * size;
	CLEANUP_FREE char *old = xmalloc((size_t)cnt * size + 1);

	memcpy(old, tail, (size_t)cnt * size);
	for (uint32_t i = 0; i < cnt; i++) {
		memcpy(tail + (size_t)i * size, old + (size_t)(keys[i].idx - from) * size, size);
		pos[keys[i].idx - from] = from + i;
	}
}

static void remap(uint32_t *idx, uint32_t from, const uint32_t *pos)
{
	if (*idx != NO_IDX && *idx >= from)
		*idx = pos[*idx - from];
}

static void settle_threads(struct model *m)
{
	struct model_priv *p = m->priv;
	uint32_t from = p->settled_threads, cnt = (uint32_t)p->threads.cnt - from;
	CLEANUP_FREE struct keyed *keys = xmalloc(cnt * sizeof(*keys) + 1);
	CLEANUP_FREE uint32_t *pos = xmalloc(cnt * sizeof(*pos) + 1);

	for (uint32_t i = 0; i < cnt; i++)
		keys[i] = (struct keyed){p->threads.items[from + i].tid, from + i};
	qsort(keys, cnt, sizeof(*keys), cmp_keyed);
	put_in_order(p->threads.items, sizeof(*p->threads.items), from, keys, cnt, pos);
	put_in_order(p->mthreads.items, sizeof(*p->mthreads.items), from, keys, cnt, pos);
	for (uint32_t i = from; i < p->threads.cnt; i++)
		hmap_put(&p->by_tid, p->threads.items[i].tid, i);
	VEC_FOREACH(&p->batch, raw) {
		remap(&raw->thread, from, pos);
		remap(&raw->waker, from, pos);
	}
	memset(&p->tid_memo, 0, sizeof(p->tid_memo));
	p->settled_threads = (uint32_t)p->threads.cnt;
}

static void settle_res(struct model *m)
{
	struct model_priv *p = m->priv;
	uint32_t from = p->settled_res, cnt = (uint32_t)p->res.cnt - from;
	CLEANUP_FREE struct keyed *keys = xmalloc(cnt * sizeof(*keys) + 1);
	CLEANUP_FREE uint32_t *pos = xmalloc(cnt * sizeof(*pos) + 1);

	for (uint32_t i = 0; i < cnt; i++)
		keys[i] = (struct keyed){p->res.items[from + i].id, from + i};
	qsort(keys, cnt, sizeof(*keys), cmp_keyed);
	put_in_order(p->res.items, sizeof(*p->res.items), from, keys, cnt, pos);
	for (uint32_t i = from; i < p->res.cnt; i++)
		hmap_put(&p->by_res, p->res.items[i].id, i);
	VEC_FOREACH(&p->batch, raw) {
		remap(&raw->res, from, pos);
		remap(&raw->io, from, pos);
	}
	memset(&p->res_memo, 0, sizeof(p->res_memo));
	p->settled_res = (uint32_t)p->res.cnt;
}

static void settle_procs(struct model *m)
{
	struct model_priv *p = m->priv;
	uint32_t from = p->settled_procs, cnt = (uint32_t)p->procs.cnt - from;
	CLEANUP_FREE struct keyed *keys = xmalloc(cnt * sizeof(*keys) + 1);
	CLEANUP_FREE uint32_t *pos = xmalloc(cnt * sizeof(*pos) + 1);

	for (uint32_t i = 0; i < cnt; i++)
		keys[i] = (struct keyed){p->procs.items[from + i].tgid, from + i};
	qsort(keys, cnt, sizeof(*keys), cmp_keyed);
	put_in_order(p->procs.items, sizeof(*p->procs.items), from, keys, cnt, pos);
	put_in_order(p->mprocs.items, sizeof(*p->mprocs.items), from, keys, cnt, pos);
	for (uint32_t i = from; i < p->procs.cnt; i++)
		hmap_put(&p->by_tgid, p->procs.items[i].tgid, i);
	p->settled_procs = (uint32_t)p->procs.cnt;
}

static bool is_before(const struct raw_wait *a, const struct raw_wait *b)
{
	if (a->e.off_ns != b->e.off_ns)
		return a->e.off_ns < b->e.off_ns;
	return a->e.h.ts_ns < b->e.h.ts_ns;
}

static int cmp_raw(const void *pa, const void *pb, void *ctx)
{
	const struct raw_wait *raws = ctx;
	const struct raw_wait *a = &raws[*(const uint32_t *)pa], *b = &raws[*(const uint32_t *)pb];

	return is_before(a, b) ? -1 : is_before(b, a);
}

/* Nearly sorted as a rule: by insertion, and by qsort when that would move too much. */
static void sort_run(struct raw_wait *raws, uint32_t *run, uint32_t cnt)
{
	uint64_t budget = 8 * (uint64_t)cnt;

	for (uint32_t i = 1; i < cnt; i++) {
		uint32_t at = run[i], j = i;

		for (; j > 0 && is_before(&raws[at], &raws[run[j - 1]]); j--) {
			run[j] = run[j - 1];
			if (budget-- == 0) {
				run[j - 1] = at;
				qsort_r(run, cnt, sizeof(*run), cmp_raw, raws);
				return;
			}
		}
		run[j] = at;
	}
}

/* order: the batch by thread and time; starts[i]: where thread i's run begins. */
static void sort_batch(struct model_priv *p)
{
	uint32_t cnt = (uint32_t)p->threads.cnt, at = 0;
	uint32_t *starts;

	vec_reserve(&p->order, p->batch.cnt + 1);
	vec_reserve(&p->starts, cnt + 2);
	starts = p->starts.items;
	memset(starts, 0, (cnt + 2) * sizeof(*starts));
	VEC_FOREACH(&p->batch, raw)
		if (raw->thread != NO_IDX)
			starts[raw->thread + 2]++;
	for (uint32_t i = 2; i < cnt + 2; i++)
		starts[i] += starts[i - 1];
	VEC_FOREACH(&p->batch, raw) {
		if (raw->thread != NO_IDX)
			p->order.items[starts[raw->thread + 1]++] = at;
		at++;
	}
	for (uint32_t i = 0; i < cnt; i++)
		sort_run(p->batch.items, p->order.items + starts[i], starts[i + 1] - starts[i]);
}

/* The snapshot comes due before the wait ends: lay out to its time, then compare. */
static void snap_inside(struct model *m, struct track *t, const struct raw_wait *raw)
{
	uint64_t ns = m->priv->threads.items[t->thread].last.h.ts_ns;
	unsigned st = ST_WAIT + raw->e.cls;

	if (!m->priv->mthreads.items[t->thread].snap_new || ns > raw->e.h.ts_ns)
		return;
	account_wait(m, t, &raw->e, raw->res, ns);
	if (ns <= raw->e.off_ns)
		st = ST_RUN;
	else if (raw->e.flags & WAITF_PREEMPTED || (raw->e.wake_ns && ns > raw->e.wake_ns))
		st = ST_RUNQ;
	account_snap(m, t, st, raw->e.flags);
}

/* 0 is the first record, or all of a source that does not number them. */
static void check_seq(struct model *m, struct track *t, struct raw_wait *raw)
{
	uint32_t gap = raw->e.seq - t->next_seq;

	if (raw->e.seq == 0)
		return;
	if (t->seq_known && gap && gap < 1u << 31) {
		m->seq_gap_cnt += gap;
		raw->io = NO_IDX; /* of a wait that was lost */
	}
	t->seq_known = true;
	t->next_seq = raw->e.seq + 1;
}

static void work_wait(struct model *m, struct track *t, struct raw_wait *raw)
{
	struct mthread *mt = &m->priv->mthreads.items[t->thread];

	if (raw->e.flags & WAITF_PENDING) {
		t->pend = raw->e;
		t->pend_res = raw->res;
		t->pend_set = true;
		return;
	}
	if (mt->snap_new)
		snap_inside(m, t, raw);
	check_seq(m, t, raw);
	sums_file(m, t, raw);
	account_wait(m, t, &raw->e, raw->res, raw->e.h.ts_ns);
	t->seen_ns = raw->e.h.ts_ns;
	if (raw->e.flags & WAITF_EXITED && mt->exit_ns == 0)
		mt->exit_ns = raw->e.h.ts_ns;
	sums_wait(m, t, raw);
}

/* After the waits: what is still going on, and a snapshot newer than all of them. */
static void work_rest(struct model *m, struct track *t)
{
	const struct mthread *mt = &m->priv->mthreads.items[t->thread];
	uint64_t snap_ns = m->priv->threads.items[t->thread].last.h.ts_ns;
	unsigned st = ST_RUN;
	uint64_t to;

	if (t->pend_set && (t->pend.off_ns < t->seen_ns || mt->exit_ns))
		t->pend_set = false;
	if (t->pend_set) {
		to = t->pend.h.ts_ns;
		if (mt->snap_new && snap_ns > to)
			to = snap_ns;
		account_wait(m, t, &t->pend, t->pend_res, to);
		st = t->pend.flags & WAITF_PREEMPTED || t->pend.wake_ns ? ST_RUNQ
									: ST_WAIT + t->pend.cls;
	}
	if (mt->snap_new) {
		account_run(m, t, snap_ns);
		account_snap(m, t, st, t->pend_set ? t->pend.flags : 0);
	}
}

static void work_thread(struct model *m, uint32_t thread)
{
	struct model_priv *p = m->priv;
	const uint32_t *run = p->order.items + p->starts.items[thread];
	uint32_t cnt = p->starts.items[thread + 1] - p->starts.items[thread];
	struct track *t;

	if (cnt == 0 && !p->mthreads.items[thread].snap_new)
		return;
	t = model_track_get(m, thread);
	if (!t->begun)
		account_begin(m, t, cnt ? p->batch.items[run[0]].e.off_ns : m->begin_ns);
	for (uint32_t i = 0; i < cnt; i++)
		work_wait(m, t, &p->batch.items[run[i]]);
	work_rest(m, t);
}

/* A stream without its beginning: the window begins with the first wait. */
static void begin_with_first(struct model *m)
{
	uint64_t first = UINT64_MAX;

	VEC_FOREACH(&m->priv->batch, raw)
		first = raw->e.off_ns < first ? raw->e.off_ns : first;
	m->begin_ns = first && first != UINT64_MAX ? first : 1;
	slices_tick(&m->priv->slices, m->begin_ns);
}

/* Works in all that was gathered, in an order of its own. */
void batch_work(struct model *m)
{
	struct model_priv *p = m->priv;

	if (p->slices.begins.cnt == 0)
		begin_with_first(m);
	VEC_FOREACH(&p->tracks, t)
		account_untail(m, t);
	find_rows(m);
	if (p->settled_threads < p->threads.cnt)
		settle_threads(m);
	if (p->settled_res < p->res.cnt)
		settle_res(m);
	if (p->settled_procs < p->procs.cnt)
		settle_procs(m);
	sort_batch(p);
	for (uint32_t i = 0; i < p->threads.cnt; i++)
		work_thread(m, i);
	vec_clear(&p->batch);
}
