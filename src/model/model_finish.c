/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_finish: lays in the state that each thread is in at the end of the
 * window, puts the waits in order, and fills what the engines read.  May be
 * called again after more events: what it laid in is taken out first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "model/model_int.h"

/* A tick that has only just begun is not worth a slice of its own. */
enum { OPEN_TICK_MIN_PERCENT = 2 };

static uint64_t window_end(struct model_priv *p)
{
	uint64_t end = p->slices.begins.cnt ? *vec_last(&p->slices.begins) : 0;

	VEC_FOREACH(&p->tracks, t)
		end = t->sure_ns > end ? t->sure_ns : end;
	VEC_FOREACH(&p->mthreads, mt)
		end = mt->exit_ns > end ? mt->exit_ns : end;
	return end;
}

/* Waits that model_finish added for what is still going on come out again. */
static void drop_pending(struct model_priv *p)
{
	size_t to = 0;

	for (size_t i = 0; i < p->waits.cnt; i++)
		if (!(p->waits.items[i].flags & WAITF_PENDING))
			p->waits.items[to++] = p->waits.items[i];
	p->waits.cnt = to;
}

static void add_pending(struct model *m)
{
	struct model_priv *p = m->priv;

	size_t cnt = 0;

	VEC_FOREACH(&p->tracks, t)
		cnt += t->pend_set;
	if (p->waits.cnt + cnt > p->waits.cap) {
		p->waits.cap = p->waits.cnt + cnt;
		p->waits.items = xreallocarray(p->waits.items, p->waits.cap,
					       sizeof(*p->waits.items));
	}
	VEC_FOREACH(&p->tracks, t) {
		struct raw_wait raw = {.e = t->pend, .res = t->pend_res};

		if (!t->pend_set)
			continue;
		raw.e.h.ts_ns = m->end_ns;
		raw.io = model_res_by_id(m, raw.e.first_io);
		raw.waker = raw.e.waker_tid ? sums_waker(m, &raw.e) : NO_IDX; /* has its row */
		p->waits.items[p->waits.cnt++] = sums_kept(m, t, &raw);
	}
}

static bool wait_before(const struct wait *a, const struct wait *b)
{
	if (a->off_ns != b->off_ns)
		return a->off_ns < b->off_ns;
	return a->end_ns < b->end_ns;
}

static int cmp_wait(const void *pa, const void *pb, void *ctx)
{
	const struct wait *waits = ctx;
	const struct wait *a = &waits[*(const uint32_t *)pa], *b = &waits[*(const uint32_t *)pb];

	if (wait_before(a, b))
		return -1;
	return wait_before(b, a);
}

/* order: the waits by thread and time, as places; starts as in batch.c. */
static void order_waits(const struct model_priv *p, uint32_t *order, uint32_t *starts)
{
	struct wait *waits = p->waits.items;

	for (size_t i = 0; i < p->waits.cnt; i++)
		starts[waits[i].thread + 2]++;
	for (size_t i = 2; i < p->threads.cnt + 2; i++)
		starts[i] += starts[i - 1];
	for (size_t i = 0; i < p->waits.cnt; i++)
		order[starts[waits[i].thread + 1]++] = (uint32_t)i;
	for (size_t t = 0; t < p->threads.cnt; t++)
		for (uint32_t i = starts[t] + 1; i < starts[t + 1]; i++)
			if (wait_before(&waits[order[i]], &waits[order[i - 1]])) {
				qsort_r(order + starts[t], starts[t + 1] - starts[t],
					sizeof(*order), cmp_wait, waits);
				break;
			}
}

/* waits[i] = old waits[order[i]], in place, along the cycles. */
static void permute_waits(struct wait *waits, uint32_t *order, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		struct wait first = waits[i];
		uint32_t at = i;

		while (order[at] != i) {
			uint32_t from = order[at];

			waits[at] = waits[from];
			order[at] = at;
			at = from;
		}
		waits[at] = first;
		order[at] = at;
	}
}

static void publish_waits(struct model *m)
{
	struct model_priv *p = m->priv;
	CLEANUP_FREE uint32_t *order = xmalloc((p->waits.cnt + 1) * sizeof(*order));
	CLEANUP_FREE uint32_t *starts = xcalloc(p->threads.cnt + 2, sizeof(*starts));

	order_waits(p, order, starts);
	permute_waits(p->waits.items, order, (uint32_t)p->waits.cnt);
	m->waits = p->waits.items;
	m->wait_cnt = p->waits.cnt;
	for (size_t t = 0; t < p->threads.cnt; t++) {
		p->threads.items[t].first_wait = starts[t];
		p->threads.items[t].wait_len = starts[t + 1] - starts[t];
		/* the next real wait tells it; a preemption between does not */
		for (uint32_t i = starts[t + 1], io = NO_IDX; i-- > starts[t];) {
			m->waits[i].first_io = io;
			if (!(m->waits[i].flags & WAITF_PREEMPTED))
				io = m->waits[i].prev_io;
		}
	}
}

static void thread_counters(const struct model *m, struct thread *t, uint64_t begin_ns)
{
	const struct ev_thread *l = &t->last, *f = &t->first;
	static const struct ev_thread none;
	const struct ev_thread *own = &none;

	/* born inside the window: the kernel's own counters began with it too */
	if (t->start_ns && t->start_ns >= m->begin_ns)
		f = &none;
	/* the kernel side's sums began with tracking */
	if (l->since_ns < begin_ns && t->first.h.ts_ns != l->h.ts_ns)
		own = &t->first;
	t->exec_ns = since(l->exec_ns, f->exec_ns);
	t->run_delay_ns = since(l->run_delay_ns, f->run_delay_ns);
	t->maj_flt = since(l->maj_flt, f->maj_flt);
	t->min_flt = since(l->min_flt, f->min_flt);
	t->nvcsw = since(l->nvcsw, f->nvcsw);
	t->nivcsw = since(l->nivcsw, f->nivcsw);
	t->read_bytes = since(l->read_bytes, f->read_bytes);
	t->write_bytes = since(l->write_bytes, f->write_bytes);
	t->klock_ns = since(l->klock_ns, own->klock_ns);
	t->klock_cnt = since(l->klock_cnt, own->klock_cnt);
	t->reclaim_ns = since(l->reclaim_ns, own->reclaim_ns);
	t->reclaim_cnt = since(l->reclaim_cnt, own->reclaim_cnt);
	t->stall_ns = since(l->stall_ns, own->stall_ns);
	t->stall_cnt = since(l->stall_cnt, own->stall_cnt);
	t->stall_max_ns = l->stall_max_ns;
}

static uint64_t at_least_0(int64_t ns)
{
	return ns > 0 ? (uint64_t)ns : 0;
}

static void thread_slices(struct model *m, struct thread *t, uint32_t row)
{
	struct slices *s = &m->priv->slices;
	uint64_t tick_min = m->priv->tick_ns * OPEN_TICK_MIN_PERCENT / 100;
	uint32_t from = 0, to = (uint32_t)s->begins.cnt;

	if (row == NO_IDX)
		return;
	if (to > 1 && m->end_ns < s->begins.items[to - 1] + tick_min)
		to--;
	while (from + 1 < to && s->begins.items[from + 1] <= t->begin_ns)
		from++;
	while (to > from + 1 && s->begins.items[to - 1] >= t->end_ns)
		to--;
	t->first_slice = row * s->width + from;
	t->slice_len = to - from;
	for (uint32_t i = from; i < to; i++)
		s->items[(size_t)row * s->width + i].begin_ns = s->begins.items[i];
}

/* On the monotonic clock; the two were read one after the other, so boot_off may be under 0. */
static uint64_t start_of(uint64_t start_boot_ns, uint64_t boot_off_ns)
{
	int64_t start = (int64_t)(start_boot_ns - boot_off_ns);

	return start_boot_ns && start > 0 ? (uint64_t)start : 0;
}

static void thread_times(struct model *m, struct thread *t, const struct mthread *mt)
{
	struct track *tr;

	t->tracked = mt->track != NO_IDX;
	t->exited = mt->exit_ns != 0;
	t->begin_ns = mt->task_ns > m->begin_ns ? mt->task_ns : m->begin_ns;
	t->end_ns = t->exited ? mt->exit_ns : m->end_ns;
	if (!t->tracked)
		return;
	tr = &m->priv->tracks.items[mt->track];
	account_tail(m, tr, t->end_ns);
	t->begin_ns = tr->begin_ns;
	t->end_ns = tr->tail.to ? tr->tail.to : tr->sure_ns;
	for (int i = 0; i < ST_CNT; i++)
		t->ns[i] = at_least_0(tr->ns[i]);
	t->iowait_ns = at_least_0(tr->iowait_ns);
	t->unint_ns = at_least_0(tr->unint_ns);
	t->wait_cnt = tr->wait_cnt;
	thread_slices(m, t, tr->row);
	if (mt->has_first)
		thread_counters(m, t, tr->begin_ns);
}

/* A server that forks for each request has as many processes as threads: no loop over both. */
static void publish_proc_threads(struct model *m)
{
	struct model_priv *p = m->priv;
	uint32_t *all = ARENA_ARRAY(&p->pub, uint32_t, p->threads.cnt + 1), next = 0;

	VEC_FOREACH(&p->procs, d) {
		d->first_thread = next;
		next += d->thread_cnt;
		d->thread_cnt = 0;
	}
	for (uint32_t t = 0; t < p->threads.cnt; t++) {
		uint32_t proc = p->threads.items[t].proc;
		struct proc *d = proc != NO_IDX ? &p->procs.items[proc] : NULL;

		if (d)
			all[d->first_thread + d->thread_cnt++] = t;
	}
	m->proc_threads = all;
}

static void publish_threads(struct model *m)
{
	struct model_priv *p = m->priv;

	for (size_t i = 0; i < p->procs.cnt; i++)
		p->procs.items[i].thread_cnt = 0;
	for (size_t i = 0; i < p->threads.cnt; i++) {
		struct thread *t = &p->threads.items[i];
		const struct mthread *mt = &p->mthreads.items[i];

		t->comm = model_str(m, mt->comm);
		t->proc = model_proc_by_tgid(m, t->tgid);
		t->start_ns = start_of(mt->start_boot_ns, m->meta.boot_off_ns);
		thread_times(m, t, mt);
		if (t->proc != NO_IDX)
			p->procs.items[t->proc].thread_cnt++;
	}
	publish_proc_threads(m);
	m->threads = p->threads.items;
	m->thread_cnt = p->threads.cnt;
	m->slices = p->slices.items;
	m->slice_cnt = (size_t)p->slices.rows * p->slices.width;
}

/*
 * Connections with data that came before the watch and that nobody has read
 * since: no event tells of them, only the snapshots at its begin and end.
 */
static uint32_t stale_conns(const struct model_priv *p, uint32_t tgid)
{
	uint32_t cnt = 0;

	for (size_t i = 0; p->conns_first.cnt && i < p->conns_last.cnt; i++) {
		const struct ev_conn *c = &p->conns_last.items[i];

		if (c->tgid == tgid && c->role == ROLE_SERVER)
			cnt += c->stale_conns;
	}
	return cnt;
}

static void publish_procs(struct model *m)
{
	struct model_priv *p = m->priv;
	static const struct ev_proc none;

	for (size_t i = 0; i < p->procs.cnt; i++) {
		struct proc *d = &p->procs.items[i];
		const struct mproc *mp = &p->mprocs.items[i];
		bool base = d->first.h.ts_ns != d->last.h.ts_ns &&
			    model_is_base(m, d->first.h.ts_ns);
		const struct ev_proc *f = base ? &d->first : &none;

		d->comm = model_str(m, mp->comm);
		d->exe = model_str(m, mp->exe);
		d->cgroup = model_str(m, mp->cgroup);
		d->open_ns = since(d->last.open_ns, f->open_ns);
		d->out_ns = since(d->last.out_ns, f->out_ns);
		d->stale_conns = stale_conns(p, d->tgid);
		d->unread_ns = since(d->last.unread_ns, f->unread_ns) +
			       d->stale_conns * (m->end_ns - m->begin_ns);
		d->open_last = d->last.open;
		d->out_last = d->last.out;
		d->unread_last = d->last.unread + d->stale_conns;
		d->rss_bytes = d->last.rss_bytes;
		d->swap_bytes = d->last.vm_swap_bytes;
	}
	m->procs = p->procs.items;
	m->proc_cnt = p->procs.cnt;
}

/* A name that all of a kind share tells nothing. */
static bool is_general(const struct res *r)
{
	return r->kind == RES_EPOLL || (r->kind == RES_PIPE && strcmp(r->name, "pipe") == 0);
}

/* After the processes have their names: a label may need one. */
static void publish_res(struct model *m)
{
	struct model_priv *p = m->priv;

	m->res = p->res.items;
	m->res_cnt = p->res.cnt;
	VEC_FOREACH(&p->res, r) {
		r->peer = r->peer_res ? model_res_by_id(m, r->peer_res) : NO_IDX;
		if (!r->name || !r->name[0] || (is_general(r) && !r->labelled))
			r->name = label_res(m, r, &p->labels);
		r->labelled = true;
	}
}

static void publish_bytes(struct model *m)
{
	const struct model_priv *p = m->priv;

	m->mem_bytes = sizeof(*m) + sizeof(*p) + p->str_arena.held_bytes + p->labels.held_bytes +
		       p->pub.held_bytes + p->strs.cap * sizeof(*p->strs.items) +
		       p->threads.cap * sizeof(*p->threads.items) +
		       p->mthreads.cap * sizeof(*p->mthreads.items) +
		       p->tracks.cap * sizeof(*p->tracks.items) +
		       p->procs.cap * sizeof(*p->procs.items) +
		       p->mprocs.cap * sizeof(*p->mprocs.items) +
		       p->res.cap * sizeof(*p->res.items) +
		       p->batch.cap * sizeof(*p->batch.items) +
		       (p->order.cap + p->starts.cap) * sizeof(uint32_t) +
		       (p->waits.cap + p->longs.cap + p->view.cap) *
			       sizeof(*p->waits.items) +
		       p->kept.cap * sizeof(*p->kept.items) +
		       p->pieces.coarse.cap * sizeof(*p->pieces.coarse.items) +
		       p->pairs.cap * sizeof(*p->pairs.items) +
		       p->res_ticks.cap * sizeof(*p->res_ticks.items) +
		       (p->by_tid.cap + p->by_tgid.cap + p->by_res.cap + p->by_pair.cap +
			p->by_res_tick.cap + p->by_kstack.cap + p->kstack_idx.cap) *
			       (sizeof(struct hmap_entry) + 1) +
		       slices_bytes(&p->slices) + tables_bytes(p) + code_bytes(p) +
		       calls_bytes(p->calls);
}

void model_finish(struct model *m)
{
	struct model_priv *p = m->priv;

	if (p->slices.begins.cnt == 0 && p->batch.cnt == 0)
		slices_tick(&p->slices, 1); /* nothing was ever seen */
	drop_pending(p);
	calls_threads(m);
	batch_work(m);
	arena_clear(&p->pub);
	m->end_ns = window_end(p);
	m->tick_end_ns = m->tick_begin_ns = *vec_last(&p->slices.begins);
	if (p->slices.begins.cnt > 1)
		m->tick_begin_ns = p->slices.begins.items[p->slices.begins.cnt - 2];
	if (m->waits_begin_ns < m->begin_ns)
		m->waits_begin_ns = m->begin_ns;
	m->cmdline = model_str(m, m->meta.cmdline);
	m->kernel = model_str(m, m->meta.kernel);
	m->hostname = model_str(m, m->meta.hostname);
	m->selection = model_str(m, m->meta.selection);
	publish_procs(m);
	publish_threads(m);
	add_pending(m);
	publish_waits(m);
	longs_publish(m);
	kept_publish(m);
	sums_publish(m);
	publish_res(m);
	tables_publish(m);
	rests_publish(m);
	last_reads_publish(m);
	calls_publish(m); /* before code: it may know of a stack first */
	code_publish(m);
	publish_bytes(m);
}
