/* SPDX-License-Identifier: Apache-2.0 */
/* Events of one tick: sums of the BPF programs' maps, and facts from /proc and netlink. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "collect/proc/cgroups.h"
#include "collect/proc/host.h"
#include "collect/live/live_cost.h"
#include "collect/live/live_int.h"
#include "collect/live/live_stacks.h"
#include "collect/resources/resource_names.h"
#include "collect/resources/peers.h"
#include "collect/resources/sockdiag.h"
#include "heldup.skel.h"

#define BATCH_CNT 256
#define COMM_MS 10000 /* a name that is so old is read again: it may have changed by exec */
#define MAP_BYTES_NS (10 * NS_PER_SEC) /* all are made at the start: they grow by entries alone */

/* Calls fn for each entry; in batches where the kernel can. */
static void each_entry(struct live *l, const struct bpf_map *map,
		       void (*fn)(struct live *l, const void *key, const void *value, uint64_t now),
		       uint64_t now)
{
	size_t key_size = bpf_map__key_size(map), value_size = bpf_map__value_size(map);
	CLEANUP_FREE char *keys = xmalloc(key_size * BATCH_CNT);
	CLEANUP_FREE char *values = xmalloc(value_size * BATCH_CNT);
	uint32_t pos = 0, next = 0, cnt;
	bool first = true;
	int rc;

	do {
		cnt = BATCH_CNT;
		rc = bpf_map_lookup_batch(bpf_map__fd(map), first ? NULL : &pos, &next, keys,
					  values, &cnt, NULL);
		if (rc < 0 && errno != ENOENT)
			return;
		for (uint32_t i = 0; i < cnt; i++)
			fn(l, keys + i * key_size, values + i * value_size, now);
		pos = next;
		first = false;
	} while (rc == 0);
}

static void put_proc(struct live *l, const void *key, const void *value, uint64_t now)
{
	const struct proc_ent *e = value;
	uint32_t tgid = *(const uint32_t *)key;
	const struct live_proc *p = live_proc(l, tgid);
	struct ev_proc ev = {
		.tgid = tgid,
		.open = p->open.cnt,
		.out = p->out.cnt,
		.unread = p->unread.cnt,
		.open_ns = p->open.ns,
		.out_ns = p->out.ns,
		.unread_ns = p->unread.ns,
	};

	if (e->flags & TASKF_TARGET)
		l->alive_cnt++;
	host_proc_mem(tgid, &ev.rss_bytes, &ev.vm_swap_bytes);
	EMIT(&l->emit, &ev, EV_PROC, tgid, now);
}

/* A process that is gone at the tick left its name at its exit. */
const char *live_comm(struct live *l, uint32_t tgid)
{
	const char *comm = names_comm(l->names, tgid);
	char dead[WIRE_COMM_LEN + 1] = {0};

	if (!*comm && bpf_map__lookup_elem(l->bpf.skel->maps.hu_dead, &tgid, sizeof(tgid), dead,
					   WIRE_COMM_LEN, 0) == 0)
		comm = names_clean(l->names, dead);
	return comm;
}

/*
 * The name of who is blamed, for each sum of it that moved: one process has as many as
 * there are who waited for it.  A watch that ends reads it once a tick, one that does not
 * now and then: a busy host has hundreds of such sums a second, of few processes.
 */
static uint32_t culprit_comm(struct live *l, uint32_t tgid, uint64_t now)
{
	uint64_t *known = hmap_slot(&l->culprit_comms, tgid);
	uint32_t ms = (uint32_t)(now / NS_PER_MS), age = ms - (uint32_t)(*known >> 32);

	if (*known && age < (l->opts.goes_on ? COMM_MS : 1))
		return (uint32_t)*known;
	*known = (uint64_t)ms << 32 | emit_str(&l->emit, live_comm(l, tgid));
	return (uint32_t)*known;
}

enum moved { SUM_SAME, SUM_MOVED, SUM_GONE };

/*
 * Has a sum of a process moved since it was last reported?  Of one that is gone and does
 * not move any more nothing is kept: a host that forks for a year has no end of them.
 */
static enum moved sum_look(struct live *l, const struct bpf_map *map, const void *key,
			   uint32_t tgid, uint64_t cnt)
{
	size_t size = bpf_map__key_size(map);
	uint64_t id = hash_bytes(key, size) ^ (uint64_t)bpf_map__fd(map), *told;

	told = hmap_slot(&l->sums_told, id);
	if (*told != cnt) {
		*told = cnt;
		return SUM_MOVED;
	}
	if (!tgid || kill((pid_t)tgid, 0) == 0 || errno != ESRCH)
		return SUM_SAME;
	bpf_map__delete_elem(map, key, size, 0);
	hmap_del(&l->sums_told, id);
	return SUM_GONE;
}

static void put_culprit(struct live *l, const void *key, const void *value, uint64_t now)
{
	const struct wire_culprit_key *k = key;
	const struct wire_culprit *v = value;
	struct ev_culprit ev = {
		.victim_tgid = k->victim_tgid,
		.culprit_tgid = k->culprit_tgid,
		.ns = v->ns,
		.cnt = v->cnt,
	};
	enum moved moved;

	moved = sum_look(l, l->bpf.skel->maps.hu_culprits, key, k->culprit_tgid, v->cnt);
	if (moved == SUM_SAME)
		return;
	live_bystander(l, k->culprit_tgid, now);
	if (k->culprit_tgid)
		ev.comm = culprit_comm(l, k->culprit_tgid, now);
	if (moved == SUM_GONE)
		hmap_del(&l->culprit_comms, k->culprit_tgid);
	EMIT_FLAGS(&l->emit, &ev, EV_CULPRIT, v->tid, now, moved == SUM_GONE ? EVENTF_GONE : 0);
}

static void put_disk(struct live *l, const void *key, const void *value, uint64_t now)
{
	const struct wire_disk_key *k = key;
	const struct wire_disk *v = value;
	char comm[WIRE_COMM_LEN + 1] = {0};
	struct ev_disk ev = {
		.dev = k->dev,
		.tgid = k->tgid,
		.op = k->op,
		.ios = v->ios,
		.sectors = v->sectors,
		.lat_ns = v->lat_ns,
		.lat_max_ns = v->lat_max_ns,
	};
	enum moved moved;

	moved = sum_look(l, l->bpf.skel->maps.hu_disks, key, k->tgid, v->ios);
	if (moved == SUM_SAME)
		return;
	live_bystander(l, k->tgid, now);
	memcpy(comm, v->comm, WIRE_COMM_LEN);
	ev.comm = emit_str(&l->emit, comm);
	EMIT_FLAGS(&l->emit, &ev, EV_DISK, k->tid, now, moved == SUM_GONE ? EVENTF_GONE : 0);
}

static void put_dev(struct live *l, const void *key, const void *value, uint64_t now)
{
	const struct wire_dev *v = value;
	uint64_t at = clock_mono_ns(); /* no request in flight began later */
	int64_t inflight = v->inflight > 0 ? v->inflight : 0;
	struct ev_dev ev = {
		.dev = *(const uint32_t *)key,
		.name = emit_str(&l->emit, names_dev(l->names, *(const uint32_t *)key)),
		/* the sums hold ends minus begins */
		.busy_ns = v->busy_ns + (inflight ? at : 0),
		.inflight_ns = v->inflight_ns + inflight * at,
	};

	EMIT(&l->emit, &ev, EV_DEV, 0, now);
}

/* Watched processes, targets before peers.  The caller frees. */
static uint32_t *watched(struct live *l, size_t *ret_cnt)
{
	uint32_t *tgids = xcalloc(l->procs.cnt + 1, sizeof(*tgids));
	size_t cnt = 0;

	for (int pass = 0; pass < 2; pass++)
		VEC_FOREACH(&l->procs, p)
			if (p->flags && !p->gone && ((p->flags & TASKF_TARGET) ? 0 : 1) == pass)
				tgids[cnt++] = p->tgid;
	*ret_cnt = cnt;
	return tgids;
}

static void put_outside(struct live *l, unsigned what, uint64_t now)
{
	CLEANUP_FREE uint32_t *tgids = NULL;
	struct ev_host host = {0};
	size_t cnt;

	tgids = watched(l, &cnt);
	peers_watch(l->peers, tgids, cnt);
	cgroups_emit(l->cgroups, &l->emit, tgids, cnt, now);
	sockdiag_snapshot(l->sockdiag, &l->emit, tgids, cnt, what, now);
	host_read_for(cnt ? tgids[0] : 0, &host);
	EMIT(&l->emit, &host, EV_HOST, 0, now);
}

static void put_loss(struct live *l, uint64_t now)
{
	struct ev_loss ev = {0};
	struct bpf_cost cost;

	for (int i = 0; i < LOSS_CNT; i++)
		ev.cnt[i] = l->loss[i] + l->bpf.skel->bss->loss_cnt[i];
	/* a wait that the ring could not take is a gap as well: count it once */
	ev.cnt[LOSS_SEQ] -= ev.cnt[LOSS_SEQ] < ev.cnt[LOSS_RING] ? ev.cnt[LOSS_SEQ]
								 : ev.cnt[LOSS_RING];
	live_bpf_cost(&l->bpf, &cost);
	ev.cnt[LOSS_MISSED] = cost.missed_cnt;
	live_stacks_loss(l, ev.cnt);
	ev.cnt[LOSS_STRINGS] += l->emit.strs.refused_cnt;
	ev.cnt[LOSS_SEARCHES] = peers_skipped_cnt(l->peers);
	ev.cnt[LOSS_RES_INDEX] = l->resindex.refused_cnt;
	ev.cnt[LOSS_BAD_RECORD] = l->bpf.bad_cnt;
	EMIT(&l->emit, &ev, EV_LOSS, 0, now);
}

static void put_self(struct live *l, uint64_t now)
{
	struct ev_self ev = {0};
	struct run_cnts runs;

	host_self(&ev);
	ev.events = l->emit.event_cnt;
	ev.bytes = l->emit.event_bytes;
	if (!l->map_bytes_ns || now - l->map_bytes_ns > MAP_BYTES_NS) {
		l->map_bytes = live_bpf_map_bytes(&l->bpf);
		l->map_bytes_ns = now;
	}
	ev.map_bytes = l->map_bytes + live_stacks_bytes(l);
	live_bpf_runs(&l->bpf, &runs);
	for (int i = 0; i < RUN_ANSWER; i++)
		ev.bpf_runs += runs.cnt[i];
	ev.bpf_ns = live_cost_bpf_ns(l);
	ev.bound_ns = live_cost_bound_ns(l);
	EMIT(&l->emit, &ev, EV_SELF, 0, now);
}

void live_maps_begin(struct live *l)
{
	put_outside(l, SOCKDIAG_LISTEN | SOCKDIAG_CONN, l->start_ns);
	put_self(l, l->start_ns); /* what it took to get here */
}

void live_maps_tick(struct live *l, uint64_t now, bool last)
{
	live_ends_tick(l, now);
	l->alive_cnt = 0;
	each_entry(l, l->bpf.skel->maps.hu_procs, put_proc, now);
	each_entry(l, l->bpf.skel->maps.hu_culprits, put_culprit, now);
	each_entry(l, l->bpf.skel->maps.hu_disks, put_disk, now);
	each_entry(l, l->bpf.skel->maps.hu_devs, put_dev, now);
	put_outside(l, last ? SOCKDIAG_LISTEN | SOCKDIAG_CONN : SOCKDIAG_LISTEN, now);
	live_stacks_tick(l, now, last);
	put_loss(l, now);
	put_self(l, now);
}
