/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays a thread's time into exclusive states.  Each thread has one mark,
 * sure_ns: all before it lies in exactly one state, so the sum of states is
 * always sure_ns - begin_ns.  A wait moves the mark: what lies between the
 * mark and its beginning was running.
 *
 * A snapshot (EV_THREAD) carries the kernel side's own sums, which lost
 * records cannot touch.  Where they differ from ours, time is moved between
 * states in the tick in which the difference was found; the sum stays.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "model/model_int.h"

enum { SETTLE_MIN_NS = 20000 }; /* a smaller difference is the time between two clock readings */

struct span {
	uint64_t from, to;
	unsigned st;
	uint16_t flags;
};

static void span_add(struct model *m, struct track *t, const struct span *sp, int sign)
{
	struct slices *s = &m->priv->slices;
	uint64_t from = sp->from, end;
	int64_t len = (int64_t)(sp->to - sp->from) * sign;

	t->ns[sp->st] += len;
	if (sp->flags & WAITF_IOWAIT)
		t->iowait_ns += len;
	if (sp->flags & WAITF_UNINT)
		t->unint_ns += len;
	for (; t->row != NO_IDX && from < sp->to; from = end) {
		struct slice *slice = slices_at(s, t->row, from);

		slices_tick_begin(s, from, &end);
		if (end > sp->to)
			end = sp->to;
		if (!slice)
			continue;
		len = (int64_t)(end - from) * sign;
		slice->ns[sp->st] += (uint64_t)len;
		if (sp->flags & WAITF_IOWAIT)
			slice->iowait_ns += (uint64_t)len;
		if (sp->flags & WAITF_UNINT)
			slice->unint_ns += (uint64_t)len;
	}
}

/* Moves the mark to to_ns (if that is ahead); false when there was nothing to lay. */
static bool lay(struct model *m, struct track *t, struct span *sp)
{
	sp->from = t->sure_ns;
	if (sp->to <= sp->from)
		return false;
	span_add(m, t, sp, 1);
	t->sure_ns = sp->to;
	return true;
}

/* The life of a thread begins where tracking did, at the earliest at the window's begin. */
void account_begin(struct model *m, struct track *t, uint64_t first_off_ns)
{
	const struct mthread *mt = &m->priv->mthreads.items[t->thread];
	const struct thread *th = &m->priv->threads.items[t->thread];
	uint64_t begin = first_off_ns;

	if (mt->has_first && th->first.since_ns)
		begin = th->first.since_ns;
	else if (mt->task_ns && mt->task_ns < begin)
		begin = mt->task_ns;
	if (begin < m->begin_ns)
		begin = m->begin_ns;
	t->begin_ns = t->sure_ns = begin;
	t->begun = true;
	t->row = slices_row(&m->priv->slices);
	if (t->row == NO_IDX)
		m->limit_cnt++;
}

void account_run(struct model *m, struct track *t, uint64_t to_ns)
{
	struct span sp = {.to = to_ns, .st = ST_RUN};

	lay(m, t, &sp);
}

static uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Lays out what of the wait and the running before it lies before to_ns. */
void account_wait(struct model *m, struct track *t, const struct ev_wait *w, uint32_t res,
		  uint64_t to_ns)
{
	struct span sp;
	uint64_t asleep_to = w->wake_ns;

	if (w->flags & WAITF_PREEMPTED)
		asleep_to = w->off_ns;
	else if (asleep_to == 0)
		asleep_to = to_ns; /* still asleep */
	account_run(m, t, min_ns(w->off_ns, to_ns));
	sp = (struct span){.to = min_ns(asleep_to, to_ns), .st = ST_WAIT + w->cls,
			   .flags = w->flags};
	if (lay(m, t, &sp))
		sums_time(m, t->thread, res, w->cls, w->op, sp.from, sp.to, 1);
	sp = (struct span){.to = to_ns, .st = ST_RUNQ};
	lay(m, t, &sp);
}

/* The kernel side's sums, with the state in progress added where it was left out. */
struct snap {
	int64_t ns[ST_CNT];
	int64_t iowait_ns, unint_ns;
};

static void snap_sums(const struct ev_thread *s, unsigned st_now, uint16_t flags,
		      struct snap *sums)
{
	int64_t left = (int64_t)(s->h.ts_ns - s->since_ns);

	sums->ns[ST_RUN] = (int64_t)s->run_ns;
	sums->ns[ST_RUNQ] = (int64_t)s->runq_ns;
	for (unsigned i = 0; i < WAIT_CLASS_CNT; i++)
		sums->ns[ST_WAIT + i] = (int64_t)s->wait_ns[i];
	sums->iowait_ns = (int64_t)s->iowait_ns;
	sums->unint_ns = (int64_t)s->unint_ns;
	for (unsigned i = 0; i < ST_CNT; i++)
		left -= sums->ns[i];
	if (left <= 0)
		return;
	sums->ns[st_now] += left;
	if (st_now >= ST_WAIT && flags & WAITF_IOWAIT)
		sums->iowait_ns += left;
	if (st_now >= ST_WAIT && flags & WAITF_UNINT)
		sums->unint_ns += left;
}

/* Moves what can be moved of the differences, in the slice and in the sums alike. */
static void move_between(struct track *t, struct slice *slice, const int64_t *diff)
{
	for (unsigned to = 0; to < ST_CNT; to++) {
		int64_t want = diff[to];

		if (want < SETTLE_MIN_NS)
			continue;
		for (unsigned from = 0; from < ST_CNT && want > 0; from++) {
			int64_t have = slice ? (int64_t)slice->ns[from] : t->ns[from];
			int64_t over = -diff[from] < have ? -diff[from] : have;
			int64_t by = over < want ? over : want;

			if (by < SETTLE_MIN_NS)
				continue;
			t->ns[from] -= by;
			t->ns[to] += by;
			if (slice) {
				slice->ns[from] -= (uint64_t)by;
				slice->ns[to] += (uint64_t)by;
			}
			want -= by;
		}
	}
}

/* Takes a sum that is no state of its own to what it should be, as far as the slice allows. */
static void move_part(int64_t want, int64_t *sum, uint64_t *in_slice)
{
	int64_t by = want - *sum;

	if (in_slice && by < -(int64_t)*in_slice)
		by = -(int64_t)*in_slice;
	if (by > -SETTLE_MIN_NS && by < SETTLE_MIN_NS)
		return;
	*sum += by;
	if (in_slice)
		*in_slice += (uint64_t)by;
}

static void take_base(struct track *t, const struct ev_thread *s, const struct snap *sums)
{
	t->based = true;
	if (s->since_ns + NS_PER_MS >= t->begin_ns)
		return;
	t->base = xcalloc(ST_CNT + 2, sizeof(*t->base));
	for (unsigned i = 0; i < ST_CNT; i++)
		t->base[i] = sums->ns[i] - t->ns[i];
	t->base[ST_CNT] = sums->iowait_ns - t->iowait_ns;
	t->base[ST_CNT + 1] = sums->unint_ns - t->unint_ns;
}

/* Brings the sums in line with the thread's newest snapshot.  The mark is at its time. */
void account_snap(struct model *m, struct track *t, unsigned st_now, uint16_t flags)
{
	static const int64_t zero[ST_CNT + 2];
	const struct ev_thread *s = &m->priv->threads.items[t->thread].last;
	const int64_t *base;
	struct slice *slice = NULL;
	struct snap sums;
	int64_t diff[ST_CNT];

	m->priv->mthreads.items[t->thread].snap_new = false;
	if (s->since_ns == 0 || s->h.ts_ns < s->since_ns || s->h.ts_ns != t->sure_ns)
		return;
	snap_sums(s, st_now, flags, &sums);
	if (!t->based)
		take_base(t, s, &sums);
	base = t->base ? t->base : zero;
	for (unsigned i = 0; i < ST_CNT; i++)
		diff[i] = sums.ns[i] - base[i] - t->ns[i];
	if (t->row != NO_IDX)
		slice = slices_at(&m->priv->slices, t->row, t->sure_ns - 1);
	move_between(t, slice, diff);
	move_part(sums.iowait_ns - base[ST_CNT], &t->iowait_ns, slice ? &slice->iowait_ns : NULL);
	move_part(sums.unint_ns - base[ST_CNT + 1], &t->unint_ns, slice ? &slice->unint_ns : NULL);
}

/* Lays the state in progress up to end_ns in a way that account_untail can take back. */
void account_tail(struct model *m, struct track *t, uint64_t end_ns)
{
	struct span sp = {.from = t->sure_ns, .to = end_ns, .st = ST_RUN};
	const struct ev_wait *w = &t->pend;

	if (end_ns <= t->sure_ns)
		return;
	if (t->pend_set && (w->flags & WAITF_PREEMPTED || w->wake_ns))
		sp.st = ST_RUNQ;
	else if (t->pend_set) {
		sp.st = ST_WAIT + w->cls;
		sp.flags = w->flags;
		sums_time(m, t->thread, t->pend_res, w->cls, w->op, sp.from, sp.to, 1);
	}
	span_add(m, t, &sp, 1);
	t->tail = (struct tail){.from = sp.from, .to = sp.to, .flags = sp.flags,
				.st = (uint8_t)sp.st, .res = t->pend_res, .op = w->op};
}

void account_untail(struct model *m, struct track *t)
{
	struct span sp = {.from = t->tail.from, .to = t->tail.to, .st = t->tail.st,
			  .flags = t->tail.flags};

	if (sp.to == 0)
		return;
	span_add(m, t, &sp, -1);
	if (sp.st >= ST_WAIT)
		sums_time(m, t->thread, t->tail.res, sp.st - ST_WAIT, t->tail.op, sp.from, sp.to,
			  -1);
	t->tail = (struct tail){0};
}
