/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishes pairs and rows, waits still going on included, and sums the
 * pairs by resource.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "model/model_int.h"

static int cmp_pair(const void *pa, const void *pb)
{
	const struct pair *a = pa, *b = pb;

	CMP(a->thread, b->thread);
	CMP(a->res, b->res);
	CMP(a->cls, b->cls);
	CMP(a->op, b->op);
	CMP(a->waker, b->waker);
	CMP(a->ctx, b->ctx);
	return 0;
}

static int cmp_row(const void *pa, const void *pb)
{
	const struct res_tick *a = pa, *b = pb;

	CMP(a->begin_ns, b->begin_ns);
	CMP(a->thread, b->thread);
	CMP(a->res, b->res);
	CMP(a->cls, b->cls);
	CMP(a->op, b->op);
	return 0;
}

static struct pair pair_of_wait(const struct wait *w)
{
	uint64_t ns = w->wake_ns - w->off_ns;

	return (struct pair){
		.thread = w->thread, .res = w->res, .waker = w->waker, .cls = w->cls,
		.ctx = w->waker_ctx, .op = w->op, .cnt = 1, .ns = ns, .max_ns = ns,
		.iowait_ns = w->flags & WAITF_IOWAIT ? ns : 0,
	};
}

static void publish_pairs(struct model *m)
{
	struct model_priv *p = m->priv;
	size_t cnt = p->pairs.cnt, to = 0;
	struct pair *pairs = arena_alloc_array(&p->pub, cnt + p->tracks.cnt + 1, sizeof(*pairs));

	if (cnt)
		memcpy(pairs, p->pairs.items, cnt * sizeof(*pairs));
	for (size_t i = 0; i < p->waits.cnt; i++) { /* real time, unlike m->waits */
		const struct wait *w = &p->waits.items[i];

		if (w->flags & WAITF_PENDING && !(w->flags & WAITF_PREEMPTED))
			pairs[cnt++] = pair_of_wait(w);
	}
	qsort(pairs, cnt, sizeof(*pairs), cmp_pair);
	for (size_t i = 1; i < cnt; i++) {
		if (cmp_pair(&pairs[to], &pairs[i]) != 0) {
			pairs[++to] = pairs[i];
			continue;
		}
		pairs[to].ns += pairs[i].ns;
		pairs[to].cnt += pairs[i].cnt;
		pairs[to].iowait_ns += pairs[i].iowait_ns;
		if (pairs[i].max_ns > pairs[to].max_ns)
			pairs[to].max_ns = pairs[i].max_ns;
	}
	m->pairs = pairs;
	m->pair_cnt = cnt ? to + 1 : 0;
}

static void publish_rows(struct model *m)
{
	struct model_priv *p = m->priv;
	struct res_tick *rows =
		arena_alloc_array(&p->pub, p->res_ticks.cnt + 1, sizeof(*rows));

	m->res_ticks = rows;
	m->res_tick_cnt = 0;
	VEC_FOREACH(&p->res_ticks, r)
		if (r->wait_ns || r->wait_cnt || r->wake_cnt)
			rows[m->res_tick_cnt++] = *r;
	qsort(rows, m->res_tick_cnt, sizeof(*rows), cmp_row);
}

static int cmp_file(const void *pa, const void *pb)
{
	const struct file_tick *a = pa, *b = pb;

	CMP(a->begin_ns, b->begin_ns);
	CMP(a->set, b->set);
	CMP(a->thread, b->thread);
	CMP(a->file, b->file);
	return 0;
}

static void publish_files(struct model *m)
{
	struct model_priv *p = m->priv;

	m->file_tick_cnt = p->file_ticks.cnt;
	m->file_ticks = arena_alloc_array(&p->pub, m->file_tick_cnt + 1, sizeof(*m->file_ticks));
	if (m->file_tick_cnt)
		memcpy(m->file_ticks, p->file_ticks.items,
		       m->file_tick_cnt * sizeof(*m->file_ticks));
	qsort(m->file_ticks, m->file_tick_cnt, sizeof(*m->file_ticks), cmp_file);
}

/* Rows by resource of who waited and who woke: one for each pair and side. */
struct touch {
	uint32_t res, thread;
	uint32_t waited, woke;
};

static int cmp_touch(const void *pa, const void *pb)
{
	const struct touch *a = pa, *b = pb;

	CMP(a->res, b->res);
	CMP(a->thread, b->thread);
	return 0;
}

static void count_touches(struct model *m, struct touch *touches, size_t cnt)
{
	qsort(touches, cnt, sizeof(*touches), cmp_touch);
	for (size_t i = 0, j; i < cnt; i = j) {
		struct res *r = &m->priv->res.items[touches[i].res];
		uint32_t waited = 0, woke = 0;

		for (j = i; j < cnt && cmp_touch(&touches[i], &touches[j]) == 0; j++) {
			waited |= touches[j].waited;
			woke |= touches[j].woke;
		}
		r->waiter_cnt += waited;
		r->waker_cnt += woke;
		r->both_cnt += waited & woke;
	}
}

static void sum_by_res(struct model *m)
{
	struct model_priv *p = m->priv;
	CLEANUP_FREE struct touch *touches = xmalloc((2 * m->pair_cnt + 1) * sizeof(*touches));
	size_t cnt = 0;

	VEC_FOREACH(&p->res, r) {
		r->wait_ns = r->wait_cnt = r->wake_cnt = 0;
		r->waiter_cnt = r->waker_cnt = r->both_cnt = 0;
	}
	for (size_t i = 0; i < m->pair_cnt; i++) {
		const struct pair *pair = &m->pairs[i];
		struct res *r;

		if (pair->res == NO_IDX)
			continue;
		r = &p->res.items[pair->res];
		r->wait_ns += pair->ns;
		r->wait_cnt += pair->cnt;
		touches[cnt++] = (struct touch){pair->res, pair->thread, 1, 0};
		if (pair->waker == NO_IDX)
			continue;
		r->wake_cnt += pair->cnt;
		touches[cnt++] = (struct touch){pair->res, pair->waker, 0, 1};
	}
	count_touches(m, touches, cnt);
}

void sums_publish(struct model *m)
{
	publish_pairs(m);
	publish_rows(m);
	publish_files(m);
	sum_by_res(m);
}
