/* SPDX-License-Identifier: Apache-2.0 */
#include "report/answer/text_tables.h"

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "model/model.h"
#include "report/answer.h"
#include "report/facts.h"
#include "report/lines/pen.h"
#include "report/lines/table.h"
#include "waits/waits.h"

enum { ROWS_THREADS = 40, ROWS_OTHER = 20 };

#define COLUMNS(list) (list), sizeof(list) / sizeof((list)[0])

static size_t rows_of(size_t cnt, size_t max)
{
	return cnt < max ? cnt : max;
}

static const char *proc_comm(const struct model *m, uint32_t proc)
{
	return proc < m->proc_cnt ? m->procs[proc].comm : "";
}

static unsigned proc_pid(const struct model *m, uint32_t proc)
{
	return proc < m->proc_cnt ? m->procs[proc].tgid : 0;
}

static void cell_ns(struct table *t, uint64_t ns)
{
	char s[FMT_MAX];

	table_cell(t, "%s", ns ? fmt_ns(s, ns) : "-");
}

static void cell_cnt(struct table *t, uint64_t cnt)
{
	char s[FMT_MAX];

	table_cell(t, "%s", cnt ? fmt_count(s, cnt) : "-");
}

static void cell_bytes(struct table *t, uint64_t bytes)
{
	char s[FMT_MAX];

	table_cell(t, "%s", bytes ? fmt_bytes(s, bytes) : "-");
}

static void cell_thread(struct table *t, const struct model *m, uint32_t idx)
{
	if (idx < m->thread_cnt)
		table_cell(t, "%s %u/%u", m->threads[idx].comm, m->threads[idx].tgid,
			   m->threads[idx].tid);
	else
		table_cell(t, "-");
}

static const char *res_name(const struct model *m, uint32_t idx)
{
	return idx < m->res_cnt ? m->res[idx].name : "-";
}

static void put_requests(struct pen *p, const struct answer *a)
{
	static const struct column cols[] = {
		{ "process", 0, 24 }, { "turns", 1, 0 },  { "p50", 1, 0 },     { "p99", 1, 0 },
		{ "longest", 1, 0 },  { "unread", 1, 0 }, { "open, mean", 1, 0 },
		{ "open at end", 1, 0 }, { "oldest", 1, 0 }, { "conns", 1, 0 },
	};
	struct table t;

	table_init(&t, COLUMNS(cols));
	for (size_t i = 0; i < rows_of(a->waits->req_cnt, ROWS_OTHER); i++) {
		const struct wreq *r = &a->waits->reqs[i];

		table_cell(&t, "%s %u", proc_comm(a->model, r->proc), proc_pid(a->model, r->proc));
		cell_cnt(&t, r->turns);
		cell_ns(&t, r->p50_ns);
		cell_ns(&t, r->p99_ns);
		cell_ns(&t, r->answer_max_ns);
		cell_ns(&t, r->queue_ns);
		table_cell(&t, "%.2f", r->open_avg);
		cell_cnt(&t, r->open_now);
		cell_ns(&t, r->open_oldest_ns);
		cell_cnt(&t, r->conns);
	}
	table_print(&t, p, "REQUESTS", a->waits->req_cnt - rows_of(a->waits->req_cnt, ROWS_OTHER));
	table_release(&t);
}

static void cell_states(struct table *t, const uint64_t ns[ST_CNT])
{
	CLEANUP(buf_release) struct buf line = { 0 };
	struct state_part parts[ST_CNT];
	size_t cnt = facts_state_parts(ns, parts);

	for (size_t i = 0; i < cnt && parts[i].permille; i++)
		buf_printf(&line, "%s%s %u.%u", i ? ", " : "", state_name(parts[i].state),
			   parts[i].permille / 10, parts[i].permille % 10);
	table_cell(t, "%s", buf_str(&line));
}

static void put_threads(struct pen *p, const struct answer *a)
{
	static const struct column cols[] = {
		{ "pid", 1, 0 },  { "tid", 1, 0 },   { "thread", 0, 16 }, { "role", 0, 0 },
		{ "idle", 1, 0 }, { "waits", 1, 0 }, { "time in each state, %", 0, 0 },
	};
	struct arena arena = { 0 };
	struct table t;
	size_t cnt = 0, rows;
	const uint32_t *order = facts_busy_threads(a, &arena, &cnt);

	rows = rows_of(cnt, ROWS_THREADS);
	table_init(&t, COLUMNS(cols));
	for (size_t i = 0; i < rows; i++) {
		const struct thread *th = &a->model->threads[order[i]];
		const struct wthread *w = &a->waits->threads[order[i]];

		table_cell(&t, "%u", th->tgid);
		table_cell(&t, "%u", th->tid);
		table_cell(&t, "%s", th->comm);
		table_cell(&t, "%s", role_name(w->role));
		cell_ns(&t, w->idle_ns);
		cell_cnt(&t, th->wait_cnt);
		cell_states(&t, th->ns);
	}
	table_print(&t, p, "THREADS", cnt - rows);
	table_release(&t);
	arena_release(&arena);
}

static void put_resources(struct pen *p, const struct answer *a)
{
	static const struct column cols[] = {
		{ "waited", 1, 0 },   { "waits", 1, 0 },     { "wake-ups", 1, 0 },
		{ "waiters", 1, 0 },  { "wakers", 1, 0 },    { "kind", 0, 0 },
		{ "other end", 0, 20 }, { "resource", 0, 0 },
	};
	const struct model *m = a->model;
	struct arena arena = { 0 };
	struct table t;
	size_t cnt = 0, rows;
	const uint32_t *order = facts_waited_resources(a, &arena, &cnt);

	rows = rows_of(cnt, ROWS_OTHER);
	table_init(&t, COLUMNS(cols));
	for (size_t i = 0; i < rows; i++) {
		const struct res *r = &m->res[order[i]];

		cell_ns(&t, r->wait_ns);
		cell_cnt(&t, r->wait_cnt);
		cell_cnt(&t, r->wake_cnt);
		table_cell(&t, "%u", r->waiter_cnt);
		table_cell(&t, "%u", r->waker_cnt);
		table_cell(&t, "%s", res_kind_name(r->kind));
		if (r->peer_tgid)
			table_cell(&t, "%s %u", given(r->peer_comm), r->peer_tgid);
		else
			table_cell(&t, "-");
		table_cell(&t, "%s", r->name);
	}
	table_print(&t, p, "RESOURCES", cnt - rows);
	table_release(&t);
	arena_release(&arena);
}

static void put_locks(struct pen *p, const struct answer *a)
{
	static const struct column cols[] = {
		{ "waited", 1, 0 },   { "waits", 1, 0 },   { "longest", 1, 0 }, { "waiters", 1, 0 },
		{ "held each", 1, 0 }, { "holders", 1, 0 }, { "held longest by", 0, 28 },
		{ "lock", 0, 0 },
	};
	const struct waits_result *w = a->waits;
	size_t rows = rows_of(w->lock_cnt, ROWS_OTHER);
	struct table t;

	table_init(&t, COLUMNS(cols));
	for (size_t i = 0; i < rows; i++) {
		const struct lock *l = &w->locks[i];

		cell_ns(&t, l->wait_ns);
		cell_cnt(&t, l->wait_cnt);
		cell_ns(&t, l->max_ns);
		table_cell(&t, "%u", l->waiter_cnt);
		cell_ns(&t, l->hold_ns);
		table_cell(&t, "%u", l->holder_cnt);
		cell_thread(&t, a->model, l->holder);
		table_cell(&t, "%s", res_name(a->model, l->res));
	}
	table_print(&t, p, "LOCKS", w->lock_cnt - rows);
	table_release(&t);
}

static void put_ends(struct pen *p, const struct answer *a)
{
	static const struct column cols[] = {
		{ "process", 0, 20 },  { "side", 0, 0 },    { "turns", 1, 0 },
		{ "p50", 1, 0 },       { "p99", 1, 0 },	    { "longest", 1, 0 },
		{ "unread", 1, 0 },
		{ "conns", 1, 0 },     { "in", 1, 0 },	    { "out", 1, 0 },
		{ "with", 0, 0 },
	};
	const struct model *m = a->model;
	size_t rows = rows_of(m->end_cnt, ROWS_OTHER);
	struct table t;

	table_init(&t, COLUMNS(cols));
	for (size_t i = 0; i < rows; i++) {
		const struct end *e = &m->ends[i];

		table_cell(&t, "%s %u", proc_comm(m, e->proc), proc_pid(m, e->proc));
		table_cell(&t, "%s", sock_role_name(e->role));
		cell_cnt(&t, e->turns);
		cell_ns(&t, hist_quantile_ns(e->hist, 0.50, e->answer_max_ns));
		cell_ns(&t, hist_quantile_ns(e->hist, 0.99, e->answer_max_ns));
		cell_ns(&t, e->answer_max_ns);
		cell_ns(&t, e->queue_ns);
		cell_cnt(&t, e->conns);
		cell_bytes(&t, e->rx_bytes);
		cell_bytes(&t, e->tx_bytes);
		if (e->peer_tgid)
			table_cell(&t, "%s (%s %u)", given(e->name), given(e->peer_comm),
				   e->peer_tgid);
		else
			table_cell(&t, "%s", given(e->name));
	}
	table_print(&t, p, "CONVERSATIONS", m->end_cnt - rows);
	table_release(&t);
}

static const char *dev_name(const struct model *m, uint32_t dev)
{
	for (size_t i = 0; i < m->dev_cnt; i++) {
		if (m->devs[i].dev == dev)
			return m->devs[i].name;
	}
	return "?";
}

static void put_disks(struct pen *p, const struct answer *a)
{
	static const struct column busy_cols[] = {
		{ "disk", 0, 0 }, { "busy", 1, 0 }, { "in flight, mean", 1, 0 },
	};
	static const struct column use_cols[] = {
		{ "disk", 0, 0 },  { "operation", 0, 0 }, { "requests", 1, 0 },
		{ "bytes", 1, 0 }, { "time each", 1, 0 }, { "longest", 1, 0 }, { "by", 0, 0 },
	};
	static const char *const ops[] = { "read", "write", "flush", "other" };
	const struct model *m = a->model;
	double window = (double)facts_window_ns(a);
	size_t rows = rows_of(m->disk_use_cnt, ROWS_OTHER);
	struct table t;
	char s[FMT_MAX];

	table_init(&t, COLUMNS(busy_cols));
	for (size_t i = 0; i < m->dev_cnt && window > 0; i++) {
		table_cell(&t, "%s", m->devs[i].name);
		table_cell(&t, "%s", fmt_share(s, (double)m->devs[i].busy_ns / window));
		table_cell(&t, "%.2f", (double)m->devs[i].inflight_ns / window);
	}
	table_print(&t, p, "DISKS", 0);
	table_release(&t);
	table_init(&t, COLUMNS(use_cols));
	for (size_t i = 0; i < rows; i++) {
		const struct disk_use *d = &m->disk_uses[i];

		table_cell(&t, "%s", dev_name(m, d->dev));
		table_cell(&t, "%s", ops[d->op < 3 ? d->op : 3]);
		cell_cnt(&t, d->ios);
		cell_bytes(&t, d->sectors * 512);
		cell_ns(&t, d->ios ? d->lat_ns / d->ios : 0);
		cell_ns(&t, d->lat_max_ns);
		table_cell(&t, "%s %u", given(d->comm), d->tgid);
	}
	table_print(&t, p, "DISK USERS", m->disk_use_cnt - rows);
	table_release(&t);
}

static void put_takers(struct pen *p, const struct answer *a)
{
	static const struct column cols[] = {
		{ "held back", 1, 0 }, { "by", 0, 30 }, { "for", 1, 0 }, { "times", 1, 0 },
	};
	const struct model *m = a->model;
	size_t rows = rows_of(m->culprit_cnt, ROWS_OTHER);
	struct table t;

	table_init(&t, COLUMNS(cols));
	for (size_t i = 0; i < rows; i++) {
		const struct culprit *c = &m->culprits[i];

		table_cell(&t, "%u", c->victim);
		if (c->culprit)
			table_cell(&t, "%s %u", *given(c->comm) ? c->comm : "?", c->culprit);
		else
			table_cell(&t, "nobody: the CPU was free");
		cell_ns(&t, c->ns);
		cell_cnt(&t, c->cnt);
	}
	table_print(&t, p, "WHO RAN WHILE A THREAD WAITED FOR A CPU", m->culprit_cnt - rows);
	table_release(&t);
}

static void put_cgroups(struct pen *p, const struct answer *a)
{
	static const struct column cols[] = {
		{ "quota", 1, 0 },  { "throttled", 1, 0 },  { "for", 1, 0 },
		{ "memory", 1, 0 }, { "limit", 1, 0 },	    { "I/O limits", 0, 0 },
		{ "cgroup", 0, 0 },
	};
	const struct model *m = a->model;
	struct table t;

	table_init(&t, COLUMNS(cols));
	for (size_t i = 0; i < m->cgroup_cnt; i++) {
		const struct cgroup *c = &m->cgroups[i];
		bool io = c->io_rbps || c->io_wbps || c->io_riops || c->io_wiops;

		if (c->quota_us && c->period_us)
			table_cell(&t, "%.2f CPUs", (double)c->quota_us / (double)c->period_us);
		else
			table_cell(&t, "none");
		table_cell(&t, "%llu of %llu", (unsigned long long)c->nr_throttled,
			   (unsigned long long)c->nr_periods);
		cell_ns(&t, c->throttled_ns);
		cell_bytes(&t, c->mem_used_bytes);
		cell_bytes(&t, c->mem_limit_bytes);
		table_cell(&t, "%s", io ? "yes" : "none");
		table_cell(&t, "%s", given(c->path));
	}
	table_print(&t, p, "CGROUPS", 0);
	table_release(&t);
}

static void put_losses(struct pen *p, const struct answer *a)
{
	static const struct column cols[] = { { "lost", 1, 0 }, { "where", 0, 0 } };
	const struct model *m = a->model;
	struct table t;

	table_init(&t, COLUMNS(cols));
	for (unsigned i = 0; i < LOSS_CNT; i++) {
		if (!m->loss.cnt[i])
			continue;
		cell_cnt(&t, m->loss.cnt[i]);
		table_cell(&t, "%s", facts_loss_name(i));
	}
	if (m->waits_dropped_cnt) {
		cell_cnt(&t, m->waits_dropped_cnt);
		table_cell(&t, "waits kept as sums only (bound on memory)");
	}
	if (a->waits->cut_cnt) {
		cell_cnt(&t, a->waits->cut_cnt);
		table_cell(&t, "cascades cut by a bound");
	}
	table_print(&t, p, "LOSSES", 0);
	table_release(&t);
}

void text_tables(struct pen *p, const struct answer *a)
{
	put_requests(p, a);
	put_threads(p, a);
	put_locks(p, a);
	put_resources(p, a);
	put_ends(p, a);
	put_disks(p, a);
	put_takers(p, a);
	put_cgroups(p, a);
	put_losses(p, a);
}
