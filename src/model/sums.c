/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where completed waits go: the stores of whole waits (whole_waits.c, long_waits.c), the
 * sums per thread, resource and waker, and the rows per tick, which give up
 * their oldest ticks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/model_int.h"

/* The task that woke it, where the waker's context says that it was that task. */
uint32_t sums_waker(struct model *m, const struct ev_wait *e)
{
	if (e->waker_tid == 0)
		return NO_IDX;
	if (e->waker_ctx != WAKER_TASK && !(e->flags & WAITF_PEER_CTX))
		return NO_IDX;
	return model_thread_get(m, e->waker_tid, e->waker_tgid);
}

static uint32_t kstack_get(struct model_priv *p, uint32_t id)
{
	uint64_t *slot, str = 0;
	struct kstack *k;

	if (id == 0 || (p->kstacks.cnt >= TABLE_MAX && !hmap_get(&p->kstack_idx, id, NULL)))
		return NO_IDX;
	slot = hmap_slot(&p->kstack_idx, id);
	if (*slot == 0) {
		k = vec_add(&p->kstacks);
		k->id = id;
		*slot = p->kstacks.cnt;
	}
	k = &p->kstacks.items[*slot - 1];
	if (!k->frames && hmap_get(&p->by_kstack, id, &str))
		k->frames = str < p->strs.cnt ? p->strs.items[str] : NULL;
	return (uint32_t)*slot - 1;
}

struct wait sums_kept(struct model *m, const struct track *t, const struct raw_wait *raw)
{
	const struct ev_wait *e = &raw->e;
	struct wait w = {
		.off_ns = e->off_ns > t->begin_ns ? e->off_ns : t->begin_ns,
		.wake_ns = e->wake_ns,
		.end_ns = e->h.ts_ns,
		.thread = t->thread,
		.res = raw->res,
		.first_io = NO_IDX,
		.waker = raw->waker,
		.waker_tid = e->waker_tid,
		.owner_tid = e->owner_tid,
		.kstack = kstack_get(m->priv, e->kstack),
		.proc_open = e->proc_open,
		.prev_io = raw->io,
		.flags = e->flags,
		.own_open = e->own_open,
		.cpu = e->cpu,
		.sysnr = e->sysnr,
		.cls = e->cls,
		.op = e->op,
		.waker_ctx = e->waker_ctx,
	};

	code_stacks_of(m, e, &w);
	if (w.end_ns < w.off_ns)
		w.end_ns = w.off_ns;
	if (w.flags & WAITF_PREEMPTED)
		w.wake_ns = w.off_ns;
	else if (w.wake_ns == 0)
		w.wake_ns = w.end_ns;
	else if (w.wake_ns < w.off_ns)
		w.wake_ns = w.off_ns;
	w.real_off_ns = w.off_ns;
	w.real_end_ns = w.end_ns;
	return w;
}

static uint64_t pair_hash(const struct pair *k)
{
	return hash_pair((uint64_t)k->thread << 32 | k->res,
			 (uint64_t)k->waker << 32 | k->cls << 16 | k->ctx << 8 | k->op);
}

static bool same_pair(const struct pair *a, const struct pair *b)
{
	return a->thread == b->thread && a->res == b->res && a->waker == b->waker &&
	       a->cls == b->cls && a->ctx == b->ctx && a->op == b->op;
}

static struct pair *pair_get(struct model *m, const struct pair *key)
{
	struct model_priv *p = m->priv;
	uint32_t slot = (key->thread * 31 + key->res * 7 + key->waker + key->cls) % MEMO_CNT;
	uint32_t *memo = &p->pair_memo.at[slot];
	uint64_t hash, at;

	if (*memo && same_pair(&p->pairs.items[*memo - 1], key))
		return &p->pairs.items[*memo - 1];
	hash = pair_hash(key);
	if (!hmap_get(&p->by_pair, hash, &at)) {
		if (p->pairs.cnt >= PAIRS_MAX) {
			m->limit_cnt++;
			return NULL;
		}
		at = p->pairs.cnt;
		hmap_put(&p->by_pair, hash, at);
		vec_push(&p->pairs, *key);
	}
	*memo = (uint32_t)at + 1;
	return &p->pairs.items[at];
}

static uint64_t row_hash(const struct res_tick *k)
{
	return hash_pair((uint64_t)k->thread << 32 | k->res,
			 k->begin_ns << 16 ^ (uint64_t)(k->cls << 8 | k->op));
}

static bool same_row(const struct res_tick *a, const struct res_tick *b)
{
	return a->thread == b->thread && a->res == b->res && a->begin_ns == b->begin_ns &&
	       a->cls == b->cls && a->op == b->op;
}

static size_t drop_rows_to(struct model_priv *p, uint64_t cut)
{
	size_t to = 0, had = p->res_ticks.cnt;

	for (size_t i = 0; i < p->res_ticks.cnt; i++)
		if (p->res_ticks.items[i].begin_ns > cut)
			p->res_ticks.items[to++] = p->res_ticks.items[i];
	p->res_ticks.cnt = to;
	hmap_clear(&p->by_res_tick);
	memset(&p->row_memo, 0, sizeof(p->row_memo));
	for (size_t i = 0; i < to; i++)
		hmap_put(&p->by_res_tick, row_hash(&p->res_ticks.items[i]), i);
	p->rows_kept = to;
	return had - to;
}

static struct file_tick *file_get(struct model *m, const struct file_tick *key)
{
	struct model_priv *p = m->priv;
	uint64_t hash = hash_pair((uint64_t)key->thread << 32 | key->set,
				  key->begin_ns << 20 ^ key->file), at;

	if (!hmap_get(&p->by_file_tick, hash, &at)) {
		if (p->file_ticks.cnt >= FILE_TICKS_MAX) {
			m->limit_cnt++;
			return NULL;
		}
		at = p->file_ticks.cnt;
		hmap_put(&p->by_file_tick, hash, at);
		vec_push(&p->file_ticks, *key);
	}
	return &p->file_ticks.items[at];
}

/* raw tells which file ended the wait before it; then raw is itself what the next tells of. */
void sums_file(struct model *m, struct track *t, const struct raw_wait *raw)
{
	struct file_tick *row, key = {.thread = t->thread, .set = t->set, .file = raw->io};
	uint64_t end;

	if (m->priv->no_rows)
		return;
	key.begin_ns = slices_tick_begin(&m->priv->slices, raw->e.h.ts_ns - 1, &end);
	if (raw->io != NO_IDX && t->set != NO_IDX && key.begin_ns) {
		row = file_get(m, &key);
		if (row) {
			row->wait_cnt++;
			row->wait_ns += t->set_ns;
		}
	}
	t->set = NO_IDX;
	if (raw->e.flags & WAITF_PREEMPTED ||
	    (raw->e.cls != WAIT_EPOLL && raw->e.cls != WAIT_POLL))
		return;
	t->set = raw->res;
	end = raw->e.wake_ns ? raw->e.wake_ns : raw->e.h.ts_ns;
	t->set_ns = end - (raw->e.off_ns > t->begin_ns ? raw->e.off_ns : t->begin_ns);
	if (t->set_ns > end)
		t->set_ns = 0; /* it ended before it was tracked */
}

static void drop_files_to(struct model_priv *p, uint64_t cut)
{
	size_t to = 0;

	hmap_clear(&p->by_file_tick);
	for (size_t i = 0; i < p->file_ticks.cnt; i++) {
		const struct file_tick *r = &p->file_ticks.items[i];

		if (r->begin_ns <= cut)
			continue;
		hmap_put(&p->by_file_tick, hash_pair((uint64_t)r->thread << 32 | r->set,
						     r->begin_ns << 20 ^ r->file), to);
		p->file_ticks.items[to++] = *r;
	}
	p->file_ticks.cnt = to;
}

/* Rows of ticks that have no slices any more go, now and then. */
void sums_trim(struct model *m)
{
	struct model_priv *p = m->priv;

	if (p->res_ticks.cnt > 2 * p->rows_kept + 1024)
		drop_rows_to(p, p->slices.begins.items[0] - 1);
	if (p->file_ticks.cnt > FILE_TICKS_MAX / 2)
		drop_files_to(p, p->slices.begins.items[0] - 1);
}

static struct res_tick *row_get(struct model *m, const struct res_tick *key)
{
	struct model_priv *p = m->priv;
	uint32_t slot = (key->thread * 31 + key->res * 7 + key->cls + key->op) % MEMO_CNT;
	uint32_t *memo = &p->row_memo.at[slot];
	uint64_t hash, at;

	if (*memo && same_row(&p->res_ticks.items[*memo - 1], key))
		return &p->res_ticks.items[*memo - 1];
	hash = row_hash(key);
	if (!hmap_get(&p->by_res_tick, hash, &at)) {
		if (p->res_ticks.cnt >= RES_TICKS_MAX)
			m->limit_cnt += drop_rows_to(
				p, p->res_ticks.items[p->res_ticks.cnt / 4].begin_ns);
		at = p->res_ticks.cnt;
		hmap_put(&p->by_res_tick, hash, at);
		vec_push(&p->res_ticks, *key);
	}
	*memo = (uint32_t)at + 1;
	return &p->res_ticks.items[at];
}

/* Time waited, laid into the ticks it falls into. */
void sums_time(struct model *m, uint32_t thread, uint32_t res, unsigned cls, unsigned op,
	       uint64_t from, uint64_t to, int sign)
{
	struct res_tick key = {.thread = thread, .res = res, .cls = (uint8_t)cls,
			       .op = (uint8_t)op};
	uint64_t end;

	for (; from < to && !m->priv->no_rows; from = end) {
		key.begin_ns = slices_tick_begin(&m->priv->slices, from, &end);
		if (end > to)
			end = to;
		if (key.begin_ns)
			row_get(m, &key)->wait_ns += (end - from) * (uint64_t)sign;
	}
}

static void count_rows(struct model *m, const struct track *t, const struct wait *w)
{
	struct res_tick key = {.thread = t->thread, .res = w->res, .cls = w->cls, .op = w->op};
	uint64_t end;

	key.begin_ns = slices_tick_begin(&m->priv->slices, w->wake_ns, &end);
	if (key.begin_ns == 0)
		return;
	row_get(m, &key)->wait_cnt++;
	if (w->waker == NO_IDX || w->res == NO_IDX)
		return;
	key.thread = w->waker;
	key.op = WAIT_OP_NONE;
	row_get(m, &key)->wake_cnt++;
}

/* A completed wait: kept, counted and summed.  Its time was laid out before. */
void sums_wait(struct model *m, struct track *t, const struct raw_wait *raw)
{
	struct wait w = sums_kept(m, t, raw);
	struct pair *pair, key = {.thread = t->thread, .res = w.res, .waker = w.waker,
				  .cls = w.cls, .ctx = w.waker_ctx, .op = w.op};
	uint64_t ns = w.wake_ns - w.off_ns;

	t->wait_cnt++;
	whole_add(m, t, &w);
	longs_add(m, t, &w);
	code_wait(m, &w);
	if (w.flags & WAITF_PREEMPTED)
		return;
	if (!m->priv->no_rows)
		count_rows(m, t, &w);
	pair = pair_get(m, &key);
	if (!pair)
		return;
	pair->cnt++;
	pair->ns += ns;
	pair->max_ns = ns > pair->max_ns ? ns : pair->max_ns;
	pair->iowait_ns += w.flags & WAITF_IOWAIT ? ns : 0;
}
