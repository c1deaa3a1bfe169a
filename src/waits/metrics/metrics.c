/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three kinds of values: parts of a tick that the model lays out itself (the
 * states of a thread, its waits by resource), differences of the model's
 * sums between two ticks (faults, sectors, throttling), and levels (swap).
 */
#include "waits/metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/vec.h"
#include "model/model.h"

/* In the order in which they are shown; each class of wait has a time, then a count. */
enum metric_id {
	M_RUNTIME, M_RQ_TIME, M_BLOCK_TIME, M_IOWAIT_TIME, M_SLEEP_TIME, M_FUTEX_WAIT_TIME,
	M_FUTEX_WAIT_COUNT, M_FUTEX_WAKE_COUNT, M_PIPE_WAIT_TIME, M_PIPE_WAIT_COUNT,
	M_SOCKET_WAIT_TIME, M_SOCKET_WAIT_COUNT, M_EPOLL_WAIT_TIME, M_EPOLL_WAIT_COUNT,
	M_EPOLL_FILE_WAIT, M_SECTOR_COUNT, M_EPOLL_FILE_WAKE_COUNT, M_POLL_WAIT_TIME,
	M_POLL_WAIT_COUNT, M_KLOCK_WAIT_TIME, M_KLOCK_WAIT_COUNT, M_KLOCK_TIME, M_KLOCK_COUNT,
	M_IOURING_WAIT_TIME, M_IOURING_WAIT_COUNT, M_FSYNC_WAIT_TIME, M_FSYNC_WAIT_COUNT,
	M_FILE_WAIT_TIME, M_FILE_WAIT_COUNT, M_DIRTY_WAIT_TIME, M_DIRTY_WAIT_COUNT,
	M_FAULT_WAIT_TIME, M_FAULT_WAIT_COUNT, M_MAJFLT, M_MINFLT, M_SWAP_BYTES, M_SWAP_IN,
	M_SWAP_OUT, M_IN_RECLAIM_TIME, M_IN_RECLAIM_COUNT, M_RECLAIM_WAIT_TIME,
	M_RECLAIM_WAIT_COUNT, M_THROTTLE_WAIT_TIME, M_THROTTLE_WAIT_COUNT,
	M_THROTTLED_TIME, M_THROTTLED_COUNT, M_AIO_WAIT_TIME, M_AIO_WAIT_COUNT,
	M_FLOCK_WAIT_TIME, M_FLOCK_WAIT_COUNT, M_SYSV_WAIT_TIME, M_SYSV_WAIT_COUNT,
	M_EVENT_WAIT_TIME, M_EVENT_WAIT_COUNT, M_CHILD_WAIT_TIME, M_CHILD_WAIT_COUNT,
	M_TIMER_WAIT_TIME, M_TIMER_WAIT_COUNT, M_SIGNAL_WAIT_TIME, M_SIGNAL_WAIT_COUNT,
	M_STOPPED_WAIT_TIME, M_STOPPED_WAIT_COUNT, M_KIDLE_WAIT_TIME, M_KIDLE_WAIT_COUNT,
	M_OTHER_WAIT_TIME, M_OTHER_WAIT_COUNT, M_CNT,
};

#define WAIT_DEFS(id, value, name, resource, cause, group, metric, object, ...)   \
	[M_##id##_WAIT_TIME] = {metric "_wait_time", "s/s", "thread x " object}, \
	[M_##id##_WAIT_COUNT] = {metric "_wait_count", "1/s", "thread x " object},

static const struct metric_def defs[] = {
	WAIT_CLASSES(WAIT_DEFS)
	[M_RUNTIME] = {"runtime", "s/s", "thread"},
	[M_RQ_TIME] = {"rq_time", "s/s", "thread"},
	[M_BLOCK_TIME] = {"block_time", "s/s", "thread"},
	[M_IOWAIT_TIME] = {"iowait_time", "s/s", "thread"},
	[M_SLEEP_TIME] = {"sleep_time", "s/s", "thread"},
	[M_FUTEX_WAKE_COUNT] = {"futex_wake_count", "1/s", "thread x futex"},
	[M_EPOLL_FILE_WAIT] = {"epoll_file_wait", "s/s", "epoll x file, thread x file"},
	[M_SECTOR_COUNT] = {"sector_count", "sectors/s", "thread x device"},
	[M_EPOLL_FILE_WAKE_COUNT] = {"epoll_file_wake_count", "1/s", "thread x file"},
	[M_KLOCK_TIME] = {"klock_time", "s/s", "thread"},
	[M_KLOCK_COUNT] = {"klock_count", "1/s", "thread"},
	[M_MAJFLT] = {"majflt", "1/s", "thread"},
	[M_MINFLT] = {"minflt", "1/s", "thread"},
	[M_SWAP_BYTES] = {"swap_bytes", "bytes", "process"},
	[M_SWAP_IN] = {"swap_in", "pages/s", "host"},
	[M_SWAP_OUT] = {"swap_out", "pages/s", "host"},
	[M_IN_RECLAIM_TIME] = {"reclaim_wait_time", "s/s", "thread"},
	[M_IN_RECLAIM_COUNT] = {"reclaim_wait_count", "1/s", "thread"},
	[M_THROTTLED_TIME] = {"throttled_time", "s/s", "cgroup"},
	[M_THROTTLED_COUNT] = {"throttled_count", "1/s", "cgroup"},
};
#undef WAIT_DEFS

_Static_assert(sizeof(defs) / sizeof(*defs) == M_CNT, "a metric without its row");

#define METRIC(id, ...) [WAIT_##id] = M_##id##_WAIT_TIME,

static const uint8_t metric_of_class[WAIT_CLASS_CNT] = {WAIT_CLASSES(METRIC)};

#undef METRIC

/* A thread's sums at the tick before. */
struct thread_prev {
	uint64_t klock_ns, klock_cnt, reclaim_ns, reclaim_cnt, maj_flt, min_flt;
};

struct metrics {
	VEC(struct thread_prev) threads; /* by the model's idx, which stays */
	struct hmap sums;		 /* hash of key to sum at the tick before */
};

/* One call of metrics_tick. */
struct calc {
	struct metrics *s;
	const struct model *m;
	double seconds;
	uint64_t tick_ns;
	struct arena *arena;
	VEC(struct metric_row) rows;
};

const struct metric_def *metrics_table(size_t *ret_cnt)
{
	*ret_cnt = sizeof(defs) / sizeof(*defs);
	return defs;
}

struct metrics *metrics_new(void)
{
	return xcalloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *s)
{
	if (!s)
		return;
	vec_release(&s->threads);
	hmap_release(&s->sums);
	free(s);
}

static struct metric_row *row_add(struct calc *c, unsigned id, double value)
{
	struct metric_row *row = vec_add(&c->rows);

	row->def = &defs[id];
	row->order = id;
	row->value = value;
	row->comm = row->resource = row->through = "";
	return row;
}

/* A row of the thread; none when value is zero. */
static struct metric_row *thread_row(struct calc *c, unsigned id, const struct thread *t,
				     double value)
{
	struct metric_row *row;

	if (!(value > 0))
		return NULL;
	row = row_add(c, id, value);
	row->pid = t->tgid;
	row->tid = t->tid;
	row->comm = t->comm;
	return row;
}

static void set_name(const struct calc *c, struct metric_row *row, uint32_t res)
{
	row->resource = c->m->res[res].name;
	row->resource_id = c->m->res[res].id;
}

/* A throttled thread has no resource of its own: it is its cgroup's quota. */
static void set_res(const struct calc *c, struct metric_row *row, const struct res_tick *r)
{
	uint32_t proc = c->m->threads[r->thread].proc;

	if (!row)
		return;
	if (r->res != NO_IDX)
		set_name(c, row, r->res);
	else if (r->cls == WAIT_THROTTLE && proc != NO_IDX)
		row->resource = arena_printf(c->arena, "cpu quota of %s",
					     c->m->procs[proc].cgroup);
}

static double per_second(const struct calc *c, uint64_t cnt)
{
	return (double)cnt / c->seconds;
}

static double share(const struct calc *c, uint64_t ns)
{
	return (double)ns / (double)c->tick_ns;
}

/* Growth of a sum since the tick before. */
static uint64_t added(struct calc *c, uint64_t key, uint64_t sum)
{
	uint64_t *prev = hmap_slot(&c->s->sums, key);
	uint64_t diff = sum > *prev ? sum - *prev : 0;

	*prev = sum;
	return diff;
}

static const struct slice *slice_of(const struct calc *c, const struct thread *t)
{
	for (uint32_t i = t->slice_len; i > 0; i--)
		if (c->m->slices[t->first_slice + i - 1].begin_ns == c->m->tick_begin_ns)
			return &c->m->slices[t->first_slice + i - 1];
	return NULL;
}

/* block_time holds all of iowait_time; sleep_time is what is left beside the other three. */
static void sched_rows(struct calc *c, const struct thread *t)
{
	const struct slice *sl = slice_of(c, t);
	uint64_t asleep = 0, block;

	if (!sl)
		return;
	for (int i = ST_WAIT; i < ST_CNT; i++)
		asleep += sl->ns[i];
	block = sl->unint_ns;
	if (t->flags & TASKF_KTHREAD) /* an idle kernel thread sleeps so, too */
		block -= block < sl->ns[ST_WAIT + WAIT_KIDLE] ? block
							      : sl->ns[ST_WAIT + WAIT_KIDLE];
	if (block > asleep)
		block = asleep;
	thread_row(c, M_RUNTIME, t, share(c, sl->ns[ST_RUN]));
	thread_row(c, M_RQ_TIME, t, share(c, sl->ns[ST_RUNQ]));
	thread_row(c, M_BLOCK_TIME, t, share(c, block));
	thread_row(c, M_IOWAIT_TIME, t, share(c, sl->iowait_ns < block ? sl->iowait_ns : block));
	thread_row(c, M_SLEEP_TIME, t, share(c, asleep - block));
}

static void counter_rows(struct calc *c, const struct thread *t, struct thread_prev *prev)
{
	struct thread_prev now = {t->klock_ns, t->klock_cnt, t->reclaim_ns,
				  t->reclaim_cnt, t->maj_flt, t->min_flt};

#define ADDED(field) (now.field > prev->field ? now.field - prev->field : 0)
	thread_row(c, M_KLOCK_TIME, t, share(c, ADDED(klock_ns)));
	thread_row(c, M_KLOCK_COUNT, t, per_second(c, ADDED(klock_cnt)));
	thread_row(c, M_IN_RECLAIM_TIME, t, share(c, ADDED(reclaim_ns)));
	thread_row(c, M_IN_RECLAIM_COUNT, t, per_second(c, ADDED(reclaim_cnt)));
	thread_row(c, M_MAJFLT, t, per_second(c, ADDED(maj_flt)));
	thread_row(c, M_MINFLT, t, per_second(c, ADDED(min_flt)));
#undef ADDED
	*prev = now;
}

static void thread_rows(struct calc *c)
{
	while (c->s->threads.cnt < c->m->thread_cnt)
		(void)vec_add(&c->s->threads);
	for (size_t i = 0; i < c->m->thread_cnt; i++) {
		const struct thread *t = &c->m->threads[i];

		if (!t->tracked)
			continue;
		sched_rows(c, t);
		counter_rows(c, t, &c->s->threads.items[i]);
	}
}

static bool same_wait(const struct res_tick *a, const struct res_tick *b)
{
	return a->begin_ns == b->begin_ns && a->thread == b->thread && a->res == b->res &&
	       a->cls == b->cls;
}

static void wait_rows(struct calc *c)
{
	const struct model *m = c->m;

	for (size_t i = 0, j; i < m->res_tick_cnt; i = j) {
		const struct res_tick *r = &m->res_ticks[i];
		const struct thread *t = &m->threads[r->thread];
		unsigned id = metric_of_class[r->cls];
		uint64_t ns = 0, waits = 0, wakes = 0;

		for (j = i; j < m->res_tick_cnt && same_wait(r, &m->res_ticks[j]); j++) {
			ns += m->res_ticks[j].wait_ns;
			waits += m->res_ticks[j].wait_cnt;
			wakes += m->res_ticks[j].wake_cnt;
		}
		if (r->begin_ns != m->tick_begin_ns)
			continue;
		set_res(c, thread_row(c, id, t, share(c, ns)), r);
		set_res(c, thread_row(c, id + 1, t, per_second(c, waits)), r);
		if (r->cls == WAIT_FUTEX)
			set_res(c, thread_row(c, M_FUTEX_WAKE_COUNT, t, per_second(c, wakes)),
				r);
	}
}

static int cmp_sock_key(const void *key, const void *item)
{
	uint64_t a = *(const uint64_t *)key, b = ((const struct sock *)item)->e.res;

	return a < b ? -1 : a > b;
}

/*
 * How long in this tick the file had nothing to give.  Of a socket that is
 * known; of any other file only that it did not end the wait: all the tick.
 */
static uint64_t not_ready_ns(struct calc *c, uint32_t file)
{
	const struct model *m = c->m;
	const struct sock *s = NULL;
	uint64_t ns;

	if (file != NO_IDX)
		s = bsearch(&m->res[file].id, m->socks, m->sock_cnt, sizeof(*s), cmp_sock_key);
	if (!s)
		return c->tick_ns;
	if (s->e.h.ts_ns < m->tick_begin_ns) /* not heard of in this tick: as it was */
		return s->e.unread_since_ns ? 0 : c->tick_ns;
	ns = added(c, hash_u64(s->e.res ^ 0x50c4), s->e.notready_ns);
	return ns < c->tick_ns ? ns : c->tick_ns;
}

/* First member of the set; they lie together. */
static size_t first_member(const struct model *m, uint32_t set)
{
	return SORTED_PREFIX(m->members, m->member_cnt, it, it->set < set);
}

/* tid 0: several threads wait in the set. */
static void file_rows(struct calc *c, uint32_t set, const struct thread *t, uint64_t waited)
{
	const struct model *m = c->m;

	if (waited > c->tick_ns)
		waited = c->tick_ns; /* several threads in one set count once */
	for (size_t i = first_member(m, set); i < m->member_cnt && m->members[i].set == set; i++) {
		const struct member *file = &m->members[i];
		uint64_t ns = not_ready_ns(c, file->file);
		struct metric_row *row;

		if (ns > waited)
			ns = waited;
		if (ns == 0)
			continue;
		row = row_add(c, M_EPOLL_FILE_WAIT, share(c, ns));
		row->pid = t ? t->tgid : file->tgid;
		row->tid = t ? t->tid : 0;
		row->comm = t ? t->comm : "";
		row->through = m->res[set].name;
		if (file->file != NO_IDX)
			set_name(c, row, file->file);
		if (!row->resource[0])
			row->resource = file->name;
		if (!row->resource_id)
			row->resource_id = file->ino;
	}
}

static struct metric_row *file_tick_row(struct calc *c, unsigned id, const struct file_tick *f,
					double value)
{
	struct metric_row *row = thread_row(c, id, &c->m->threads[f->thread], value);

	if (row) {
		set_name(c, row, f->file);
		row->through = c->m->res[f->set].name;
	}
	return row;
}

/* Listed as member of the set, so that file_rows had it: by resource, else by inode. */
static bool is_member(const struct model *m, uint32_t set, uint32_t file)
{
	for (size_t i = first_member(m, set); i < m->member_cnt && m->members[i].set == set; i++)
		if (m->members[i].file == file ||
		    (m->members[i].ino && m->members[i].ino == m->res[file].ino))
			return true;
	return false;
}

/*
 * Which files ended the waits.  Of a file that was not listed as member,
 * such as a connection that came later, that is all there is to say how long
 * it was waited for.
 */
static void ended_rows(struct calc *c)
{
	const struct model *m = c->m;

	for (size_t i = 0; i < m->file_tick_cnt; i++) {
		const struct file_tick *f = &m->file_ticks[i];
		uint64_t ns = f->wait_ns < c->tick_ns ? f->wait_ns : c->tick_ns;

		if (f->begin_ns != m->tick_begin_ns)
			continue;
		file_tick_row(c, M_EPOLL_FILE_WAKE_COUNT, f, per_second(c, f->wait_cnt));
		if (!is_member(m, f->set, f->file))
			file_tick_row(c, M_EPOLL_FILE_WAIT, f, share(c, ns));
	}
}

struct set_wait {
	uint32_t set, thread;
	uint64_t ns;
	bool poll;
};

static int cmp_set_wait(const void *pa, const void *pb)
{
	const struct set_wait *a = pa, *b = pb;

	CMP(a->set, b->set);
	CMP(a->thread, b->thread);
	return 0;
}

/* epoll: per set; poll and select: per thread, since the set is the call's own. */
static void multiplex_rows(struct calc *c)
{
	const struct model *m = c->m;
	VEC(struct set_wait) waits = {0};

	for (size_t i = 0; i < m->res_tick_cnt; i++) {
		const struct res_tick *r = &m->res_ticks[i];

		if (r->begin_ns != m->tick_begin_ns || r->res == NO_IDX || r->wait_ns == 0 ||
		    (r->cls != WAIT_EPOLL && r->cls != WAIT_POLL))
			continue;
		vec_push(&waits, ((struct set_wait){r->res, r->thread, r->wait_ns,
						    r->cls == WAIT_POLL}));
	}
	vec_sort(&waits, cmp_set_wait);
	for (size_t i = 0, j; i < waits.cnt; i = j) {
		const struct set_wait *w = &waits.items[i];
		uint64_t ns = 0;
		bool one = true;

		for (j = i; j < waits.cnt && waits.items[j].set == w->set &&
			    (!w->poll || waits.items[j].thread == w->thread); j++) {
			ns += waits.items[j].ns;
			one = one && waits.items[j].thread == w->thread;
		}
		file_rows(c, w->set, one ? &m->threads[w->thread] : NULL, ns);
	}
	vec_release(&waits);
}

static const char *dev_name(const struct model *m, uint32_t dev, struct arena *arena)
{
	for (size_t i = 0; i < m->dev_cnt; i++)
		if (m->devs[i].dev == dev && m->devs[i].name[0])
			return m->devs[i].name;
	return arena_printf(arena, "%u:%u", dev >> 20, dev & 0xfffff);
}

static int cmp_user(const void *pa, const void *pb)
{
	const struct disk_use *a = pa, *b = pb;

	CMP(a->dev, b->dev);
	CMP(a->tgid, b->tgid);
	CMP(a->tid, b->tid);
	return 0;
}

static bool same_user(const struct disk_use *a, const struct disk_use *b)
{
	return a->dev == b->dev && a->tgid == b->tgid && a->tid == b->tid;
}

static void disk_rows(struct calc *c)
{
	const struct model *m = c->m;

	struct disk_use *uses = arena_dup(c->arena, m->disk_uses,
					  m->disk_use_cnt * sizeof(*uses));

	/* reads, writes and flushes of one user side by side: the model has the busiest first */
	if (m->disk_use_cnt > 1)
		qsort(uses, m->disk_use_cnt, sizeof(*uses), cmp_user);
	for (size_t i = 0, j; i < m->disk_use_cnt; i = j) {
		const struct disk_use *d = &uses[i];
		uint64_t sectors = 0;
		struct metric_row *row;
		uint32_t thread;

		for (j = i; j < m->disk_use_cnt && same_user(d, &uses[j]); j++)
			sectors += uses[j].sectors;
		sectors = added(c, hash_u64((uint64_t)d->dev << 32 | d->tgid) ^
					   hash_u64(d->tid + UINT64_C(0xd15c00000000)), sectors);
		if (sectors == 0)
			continue;
		row = row_add(c, M_SECTOR_COUNT, per_second(c, sectors));
		row->pid = d->tgid;
		row->tid = d->tid;
		thread = d->tid ? model_thread_by_tid(m, d->tid) : NO_IDX;
		row->comm = thread != NO_IDX ? m->threads[thread].comm : d->comm;
		row->resource = dev_name(m, d->dev, c->arena);
		row->resource_id = d->dev;
	}
}

static void level_rows(struct calc *c)
{
	const struct model *m = c->m;
	uint64_t cnt;

	for (size_t i = 0; i < m->proc_cnt; i++) {
		struct metric_row *row;

		if (m->procs[i].swap_bytes == 0)
			continue;
		row = row_add(c, M_SWAP_BYTES, (double)m->procs[i].swap_bytes);
		row->pid = m->procs[i].tgid;
		row->comm = m->procs[i].comm;
	}
	cnt = added(c, hash_u64(0x5a01), m->host.swap_in);
	if (cnt)
		row_add(c, M_SWAP_IN, per_second(c, cnt));
	cnt = added(c, hash_u64(0x5a02), m->host.swap_out);
	if (cnt)
		row_add(c, M_SWAP_OUT, per_second(c, cnt));
}

static void cgroup_rows(struct calc *c)
{
	for (size_t i = 0; i < c->m->cgroup_cnt; i++) {
		const struct cgroup *g = &c->m->cgroups[i];
		uint64_t ns = added(c, hash_u64(g->id ^ 0xc601), g->throttled_ns);
		uint64_t cnt = added(c, hash_u64(g->id ^ 0xc602), g->nr_throttled);
		struct metric_row *row;

		if (ns) {
			row = row_add(c, M_THROTTLED_TIME, share(c, ns));
			row->resource = g->path;
			row->resource_id = g->id;
		}
		if (cnt) {
			row = row_add(c, M_THROTTLED_COUNT, per_second(c, cnt));
			row->resource = g->path;
			row->resource_id = g->id;
		}
	}
}

static int cmp_row(const void *pa, const void *pb)
{
	const struct metric_row *a = pa, *b = pb;

	CMP(a->order, b->order);
	CMP(b->value, a->value);
	CMP(a->tid, b->tid);
	CMP(a->resource_id, b->resource_id);
	return 0;
}

struct metrics_result metrics_tick(struct metrics *s, const struct model *m, struct arena *arena)
{
	struct metrics_result r = {.begin_ns = m->tick_begin_ns, .end_ns = m->tick_end_ns};
	struct calc c = {.s = s, .m = m, .tick_ns = r.end_ns - r.begin_ns, .arena = arena};

	for (unsigned i = 0; i < LOSS_CNT; i++)
		r.lost_cnt += loss_spares_sums(i) ? 0 : m->loss.cnt[i];
	if (c.tick_ns == 0)
		return r;
	c.seconds = (double)c.tick_ns / 1e9;
	thread_rows(&c);
	wait_rows(&c);
	multiplex_rows(&c);
	ended_rows(&c);
	disk_rows(&c);
	level_rows(&c);
	cgroup_rows(&c);
	vec_sort(&c.rows, cmp_row);
	r.row_cnt = c.rows.cnt;
	r.rows = arena_dup(arena, c.rows.items, c.rows.cnt * sizeof(*c.rows.items));
	vec_release(&c.rows);
	return r;
}
