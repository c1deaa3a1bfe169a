/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose fault a slow disk is: the process's own load, a neighbour's, or a
 * limit set on the cgroup.  Moves the demand of disk-own and fsync.
 */
#include <string.h>

#include "verdict/weigh.h"

/* A device is busy when it has work more than half of the time: queueing doubles the wait there. */
#define DEV_BUSY 0.5
/* Others must do more than the process itself. */
#define OTHERS_MIN 0.5
/* Use this close to a limit is use up to the limit; throttling lets short bursts through. */
#define LIMIT_NEAR 0.6

struct disk_sum { double own_ios, own_sectors, all_ios, all_sectors, lat_own, ios_lat;
	double top_sectors; uint32_t top; const char *top_comm; };

static bool is_kernel_writer(const struct model *m, uint32_t tgid)
{
	uint32_t p = model_proc_by_tgid(m, tgid);

	return p != NO_IDX && m->procs[p].kthread;
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

	s->all_ios += u->ios;
	s->all_sectors += u->sectors;
	if (is_ours(m, u->tgid)) {
		s->own_ios += u->ios;
		s->own_sectors += u->sectors;
	} else if (!is_kernel_writer(m, u->tgid) && w > s->top_sectors) {
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

/* The group whose I/O limit the process runs into, or NULL. */
static const struct cgroup *limiting(const struct court *k, const struct disk_sum *s, double busy)
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
		    near(s->own_sectors * 512, g->io_wbps, sec) || busy < DEV_BUSY)
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

void weigh_disk(struct court *k)
{
	const struct model *m = k->m;
	uint32_t dev = busiest_dev(m);
	struct disk_sum s = { .top_comm = "" };
	double busy, others;

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
	if (limiting(k, &s, busy)) {
		move(k, FIND_DISK_OWN, FIND_DISK_LIMIT);
		move(k, FIND_FSYNC, FIND_DISK_LIMIT);
	} else if (busy >= DEV_BUSY && others >= OTHERS_MIN) {
		move(k, FIND_DISK_OWN, FIND_DISK_NEIGHBOUR);
		move(k, FIND_FSYNC, FIND_DISK_NEIGHBOUR);
		k->cand[FIND_DISK_NEIGHBOUR].neighbour = s.top;
		k->cand[FIND_DISK_NEIGHBOUR].neighbour_comm = s.top_comm;
	}
}
