/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose fault a slow disk is: the process's own load, a neighbour's, or a
 * limit set on the cgroup.  Moves the demand of disk-own and fsync.
 *
 * That a thread waited for a file is no evidence of a disk: who waits for a
 * device has a request there meanwhile.  Where it has none the limit of a
 * cgroup kept it back, or whatever else serves the file.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"

#include "verdict/context/context.h"

/* A device is busy when it has work more than half of the time: queueing doubles the wait there. */
#define DEV_BUSY 0.5
/* Others must do more than the process itself. */
#define OTHERS_MIN 0.5
/* Use this close to a limit is use up to the limit; throttling lets short bursts through. */
#define LIMIT_NEAR 0.6
/* Requests of its own in flight while it waits, on average: it waits for them mostly. */
#define AT_DEVICE_MIN 0.5
/* One wait may stand for this many requests, one after the other: data, journal, flush, commit. */
#define REQUESTS_EACH 4.0

struct disk_sum { double own_ios, own_sectors;
	double top_sectors; uint32_t top; const char *top_comm; };

/* A kernel thread, which writes for others, or heldup. */
static bool is_no_neighbour(const struct model *m, uint32_t tgid)
{
	uint32_t p = model_proc_by_tgid(m, tgid);

	return p != NO_IDX && (m->procs[p].kthread || m->procs[p].watcher);
}

static bool is_ours(const struct model *m, uint32_t tgid)
{
	uint32_t p = model_proc_by_tgid(m, tgid);

	return p != NO_IDX && m->procs[p].target;
}

/* A request costs the device about as much as 64 KiB of transfer: small requests count too. */
#define IO_WEIGHT_SECTORS 128.0

static double weight_of(double ios, double sectors)
{
	return ios * IO_WEIGHT_SECTORS + sectors;
}

static void disk_add(struct disk_sum *s, const struct model *m, const struct disk_use *u)
{
	double w = weight_of(u->ios, u->sectors);

	if (is_ours(m, u->tgid)) {
		s->own_ios += u->ios;
		s->own_sectors += u->sectors;
	} else if (!is_no_neighbour(m, u->tgid) && w > s->top_sectors) {
		s->top_sectors = w;
		s->top = u->tgid;
		s->top_comm = u->comm;
	}
}

static uint32_t busiest_dev(const struct model *m)
{
	uint32_t best = NO_IDX;

	for (size_t i = 0; i < m->dev_cnt; i++) {
		if (best == NO_IDX || m->devs[i].busy_ns > m->devs[best].busy_ns)
			best = i;
	}
	return best;
}

static bool near(double used, double limit, double seconds)
{
	return limit > 0 && used / seconds >= LIMIT_NEAR * limit;
}

static bool waits_for_disk(const struct model *m, const struct wait *w)
{
	bool served = w->waker_ctx == WAKER_TASK && w->waker != NO_IDX &&
		      !(m->threads[w->waker].flags & TASKF_KTHREAD);

	return thread_is_target(m, w->thread) && !served &&
	       (w->cls == WAIT_FILE || w->cls == WAIT_FSYNC || w->cls == WAIT_AIO ||
		w->cls == WAIT_DIRTY);
}

static int by_begin(const void *pa, const void *pb)
{
	const struct wait *const *a = pa, *const *b = pb;

	CMP((*a)->off_ns, (*b)->off_ns);
	return 0;
}

struct disk_waits { double any_ns, mean_ns; }; /* time in which any thread waited; of one wait */

static struct disk_waits long_disk_waits(const struct court *k)
{
	const struct model *m = k->m;
	const struct wait **sorted = ARENA_ARRAY(k->arena, const struct wait *, m->long_cnt + 1);
	struct disk_waits ret = { 0 };
	uint64_t until = 0, ns = 0;
	size_t cnt = 0;

	for (size_t i = 0; i < m->long_cnt; i++) {
		if (waits_for_disk(m, &m->long_waits[i]))
			sorted[cnt++] = &m->long_waits[i];
	}
	qsort(sorted, cnt, sizeof(*sorted), by_begin);
	for (size_t i = 0; i < cnt; i++) {
		uint64_t begin = sorted[i]->off_ns;
		uint64_t end = sorted[i]->wake_ns ? sorted[i]->wake_ns : sorted[i]->end_ns;

		ns += end - begin;
		begin = begin < until ? until : begin;
		ret.any_ns += end > begin ? end - begin : 0;
		until = end > until ? end : until;
	}
	ret.mean_ns = cnt ? (double)ns / cnt : 0;
	return ret;
}

/*
 * While it waited, requests of its own were at a device; or that is busy with requests
 * that take as long as its waits, which may be for room there.
 */
static bool is_at_device(const struct court *k, double busy)
{
	const struct model *m = k->m;
	struct disk_waits waits = long_disk_waits(k);
	double flight = 0, others = 0, ios = 0;

	for (size_t i = 0; i < m->dev_cnt; i++)
		flight += m->devs[i].inflight_ns;
	for (size_t i = 0; i < m->disk_use_cnt; i++) {
		const struct disk_use *u = &m->disk_uses[i];

		ios += u->ios;
		if (!is_ours(m, u->tgid) && !is_no_neighbour(m, u->tgid))
			others += u->lat_ns;
	}
	if (!m->dev_cnt || flight - others >= AT_DEVICE_MIN * waits.any_ns)
		return true;
	return ios > 0 && busy >= DEV_BUSY && REQUESTS_EACH * flight / ios >= waits.mean_ns;
}

/* The group whose I/O limit the process runs into, or NULL. */
static const struct cgroup *limiting(const struct court *k, const struct disk_sum *s,
				     bool at_device)
{
	double sec = k->window_ns / 1e9;

	for (size_t i = 0; i < k->m->cgroup_cnt; i++) {
		const struct cgroup *g = &k->m->cgroups[i];

		if ((!g->io_rbps && !g->io_wbps && !g->io_riops && !g->io_wiops) ||
		    !is_ours(k->m, g->tgid))
			continue;
		/* flushes and journal writes are throttled for us and charged to the kernel */
		if (near(s->own_ios, g->io_riops, sec) || near(s->own_ios, g->io_wiops, sec) ||
		    near(s->own_sectors * 512, g->io_rbps, sec) ||
		    near(s->own_sectors * 512, g->io_wbps, sec) || !at_device)
			return g;
	}
	return NULL;
}

static void move(struct court *k, unsigned from, unsigned to)
{
	struct cand *a = &k->cand[from], *b = &k->cand[to];

	if (a->top && (!b->top || a->top_ns > b->top_ns)) {
		b->top = a->top;
		b->top_ns = a->top_ns;
	}
	if (b->lock == NO_IDX)
		b->lock = a->lock;
	if (b->dev == NO_IDX)
		b->dev = a->dev;
	b->ns += a->ns;
	a->ns = 0;
}

#define MAJOR_SHIFT 20 /* of a device's number as the kernel has it */

/*
 * A file system without a device of its own, and that no process serves here, has its
 * files from another host.  With a device, what lies between is not known.
 */
static void without_disk(struct court *k, unsigned from)
{
	const struct cause *top = k->cand[from].top;
	const struct res *r = top && top->res != NO_IDX ? &k->m->res[top->res] : NULL;

	move(k, from, r && r->kind == RES_FILE && r->dev && !(r->dev >> MAJOR_SHIFT) ?
			      FIND_EXTERNAL : FIND_UNKNOWN);
}

void weigh_disk(struct court *k)
{
	const struct model *m = k->m;
	uint32_t dev = busiest_dev(m);
	struct disk_sum s = { .top_comm = "" };
	double busy, others;
	bool at_device;

	if (k->cand[FIND_DISK_OWN].ns + k->cand[FIND_FSYNC].ns <= 0)
		return;
	for (size_t i = 0; i < m->disk_use_cnt; i++) {
		if (dev != NO_IDX && m->disk_uses[i].dev == m->devs[dev].dev)
			disk_add(&s, m, &m->disk_uses[i]);
	}
	busy = dev != NO_IDX ? m->devs[dev].busy_ns / k->window_ns : 0;
	others = s.top_sectors / (s.top_sectors + weight_of(s.own_ios, s.own_sectors) + 1);
	k->cand[FIND_DISK_OWN].dev = k->cand[FIND_FSYNC].dev = dev;
	k->cand[FIND_DISK_LIMIT].dev = k->cand[FIND_DISK_NEIGHBOUR].dev = dev;
	at_device = is_at_device(k, busy);
	if (limiting(k, &s, at_device)) {
		move(k, FIND_DISK_OWN, FIND_DISK_LIMIT);
		move(k, FIND_FSYNC, FIND_DISK_LIMIT);
	} else if (!at_device) {
		without_disk(k, FIND_DISK_OWN);
		without_disk(k, FIND_FSYNC);
	} else if (busy >= DEV_BUSY && others >= OTHERS_MIN) {
		move(k, FIND_DISK_OWN, FIND_DISK_NEIGHBOUR);
		move(k, FIND_FSYNC, FIND_DISK_NEIGHBOUR);
		k->cand[FIND_DISK_NEIGHBOUR].neighbour = s.top;
		k->cand[FIND_DISK_NEIGHBOUR].neighbour_comm = s.top_comm;
	}
}
