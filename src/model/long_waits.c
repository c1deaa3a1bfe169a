/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long waits: those of WAIT_LONG_NS and more, of the whole window, for what
 * is rare and lasts.  At the bound the shorter ones go, about a quarter in
 * one pass, so that a wait costs the same however many there are.
 *
 * The next wait of a thread says what it read after one, so the last long
 * wait of a thread stays with its track until then.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "model/model_int.h"

enum { SAMPLE_CNT = 1024 };

static uint64_t length(const struct wait *w)
{
	return w->end_ns - w->off_ns;
}

static int cmp_u64(const void *pa, const void *pb)
{
	CMP(*(const uint64_t *)pa, *(const uint64_t *)pb);
	return 0;
}

/* The older half goes where all are as long as each other: the newer say as much. */
static size_t drop_older(struct model_priv *p)
{
	size_t half = p->longs.cnt / 2;

	memmove(p->longs.items, p->longs.items + half,
		(p->longs.cnt - half) * sizeof(*p->longs.items));
	p->longs.cnt -= half;
	return half;
}

static size_t drop_shorter(struct model_priv *p, uint64_t min_ns)
{
	size_t to = 0, had = p->longs.cnt;

	for (size_t i = 0; i < p->longs.cnt; i++)
		if (length(&p->longs.items[i]) >= min_ns)
			p->longs.items[to++] = p->longs.items[i];
	p->longs.cnt = to;
	return had - to;
}

static void make_room(struct model *m)
{
	struct model_priv *p = m->priv;
	uint64_t sample[SAMPLE_CNT];
	size_t cnt = p->longs.cnt < SAMPLE_CNT ? p->longs.cnt : SAMPLE_CNT;

	for (size_t i = 0; i < cnt; i++)
		sample[i] = length(&p->longs.items[i * p->longs.cnt / cnt]);
	qsort(sample, cnt, sizeof(*sample), cmp_u64);
	m->long_min_ns = sample[cnt / 4] + 1;
	if (m->long_min_ns > sample[cnt - 1]) {
		p->long_take_ns = m->long_min_ns - 1;
		m->long_dropped_cnt += drop_older(p);
		return;
	}
	p->long_take_ns = m->long_min_ns;
	m->long_dropped_cnt += drop_shorter(p, m->long_min_ns);
}

static void keep(struct model *m, const struct wait *w)
{
	struct model_priv *p = m->priv;

	if (length(w) < p->long_take_ns) {
		m->long_dropped_cnt++;
		return;
	}
	if (p->longs.cnt >= p->max_longs)
		make_room(m);
	if (length(w) >= p->long_take_ns)
		vec_push(&p->longs, *w);
	else
		m->long_dropped_cnt++;
}

void longs_add(struct model *m, struct track *t, const struct wait *w)
{
	bool preempted = w->flags & WAITF_PREEMPTED;

	if (t->long_set && !preempted) {
		t->last_long.first_io = w->prev_io;
		keep(m, &t->last_long);
		t->long_set = false;
	}
	if (length(w) < WAIT_LONG_NS)
		return;
	if (preempted) {
		keep(m, w);
		return;
	}
	t->last_long = *w;
	t->long_set = true;
}

static int by_thread_off(const void *pa, const void *pb)
{
	const struct wait *a = pa, *b = pb;

	CMP(a->thread, b->thread);
	CMP(a->off_ns, b->off_ns);
	CMP(a->end_ns, b->end_ns);
	return 0;
}

static size_t add_last(struct model *m, struct wait *waits, size_t cnt)
{
	VEC_FOREACH(&m->priv->tracks, t)
		if (t->long_set && length(&t->last_long) >= m->priv->long_take_ns)
			waits[cnt++] = t->last_long;
	for (size_t i = 0; i < m->wait_cnt; i++)
		if (m->waits[i].flags & WAITF_PENDING && length(&m->waits[i]) >= WAIT_LONG_NS)
			waits[cnt++] = m->waits[i];
	return cnt;
}

/* After the waits, whose pending ones are among the long ones too. */
void longs_publish(struct model *m)
{
	struct model_priv *p = m->priv;
	size_t most = p->longs.cnt + 2 * p->tracks.cnt;

	m->long_waits = arena_alloc_array(&p->pub, most + 1, sizeof(*m->long_waits));
	if (p->longs.cnt)
		memcpy(m->long_waits, p->longs.items, p->longs.cnt * sizeof(*m->long_waits));
	m->long_cnt = add_last(m, m->long_waits, p->longs.cnt);
	qsort(m->long_waits, m->long_cnt, sizeof(*m->long_waits), by_thread_off);
	for (size_t t = 0; t < p->threads.cnt; t++)
		p->threads.items[t].first_long = p->threads.items[t].long_len = 0;
	for (size_t i = m->long_cnt; i-- > 0;) {
		struct thread *t = &p->threads.items[m->long_waits[i].thread];

		t->first_long = (uint32_t)i;
		t->long_len++;
	}
}
