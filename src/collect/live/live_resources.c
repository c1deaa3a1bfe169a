/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What user space adds to the kernel side's records while the process still
 * lives: names, the other end of a pipe or socket, the members of epoll and
 * poll sets, the owner of a lock.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "collect/proc/cgroups.h"
#include "collect/resources/file_locks.h"
#include "collect/live/live_int.h"
#include "collect/resources/epoll_members.h"
#include "collect/resources/resource_names.h"
#include "collect/proc/futex_owner.h"
#include "collect/resources/peers.h"
#include "collect/proc/procfs.h"

#define OWNERS_PER_TICK 512
#define FILE_LOCKS_WEIGHT 32 /* all locks of the machine are read for one */

/* heldup, this one or another: what it does is no load of the host's. */
bool live_is_watcher(struct live *l, uint32_t tgid)
{
	char own[PATH_MAX], exe[PATH_MAX], comm[PROCFS_COMM_LEN];

	if (*procfs_exe(tgid, exe, sizeof(exe)))
		return strcmp(exe, procfs_exe(getpid(), own, sizeof(own))) == 0;
	procfs_comm(getpid(), comm);
	return strcmp(live_comm(l, tgid), comm) == 0;
}

/*
 * A process that is not watched but shows up in the books of disks and CPUs.
 * Kernel threads are made known as such, a journal is no neighbour, and so is
 * heldup.
 */
void live_bystander(struct live *l, uint32_t tgid, uint64_t ts_ns)
{
	struct live_proc *p = live_proc(l, tgid);
	struct procfs_stat st = {0};
	struct ev_task ev = {.tgid = tgid, .op = TASK_SEEN};

	if (!tgid || p->flags || p->looked_at)
		return;
	p->looked_at = true;
	if (procfs_stat(tgid, &st) == 0 && procfs_is_kthread(&st))
		ev.flags = TASKF_KTHREAD;
	else if (live_is_watcher(l, tgid))
		ev.flags = TASKF_WATCHER;
	else
		return;
	ev.ppid = st.ppid;
	ev.comm = emit_str(&l->emit, live_comm(l, tgid));
	EMIT(&l->emit, &ev, EV_TASK, tgid, ts_ns);
}

static void add_peer_end(struct live *l, const struct wire_res *w, struct ev_res *ev)
{
	struct peer peer;

	if (w->kind != RES_SOCKET && w->kind != RES_PIPE)
		return;
	if (peers_find(l->peers, w, &peer) < 0)
		return;
	ev->peer_tgid = peer.tgid;
	ev->peer_comm = emit_str(&l->emit, peer.comm);
	ev->peer_res = peer.res;
	/* whom we ask, not who asks us: a client shows when it wakes someone */
	if (w->kind == RES_PIPE || w->role == ROLE_CLIENT)
		live_draw_in(l, peer.tgid, false);
}

void live_res(struct live *l, const struct wire_res *w)
{
	struct members_stat stat = {0};
	struct wire_res named = *w;
	struct ev_res ev = {
		.res = w->res,
		.ino = w->ino,
		.aux = w->aux,
		.tgid = w->tgid,
		.dev = w->dev,
		.fd = w->fd,
		.magic = w->magic,
		.kind = w->kind,
		.role = live_role(l, w),
		.family = w->family,
		.sotype = w->sotype,
		.lport = w->lport,
		.rport = w->rport,
		.netns = w->netns,
	};

	memcpy(ev.laddr, w->laddr, sizeof(ev.laddr));
	memcpy(ev.raddr, w->raddr, sizeof(ev.raddr));
	resindex_add(&l->resindex, w);
	named.role = ev.role;
	ev.name = emit_str(&l->emit, names_res(l->names, &named));
	add_peer_end(l, w, &ev);
	EMIT(&l->emit, &ev, EV_RES, w->hdr.tid, w->hdr.ts_ns);
	if (w->kind == RES_EPOLL)
		members_epoll(&l->emit, l->names, &l->resindex, w, w->hdr.ts_ns, &stat);
	else if (w->kind == RES_POLLSET)
		members_poll(&l->emit, l->names, &l->resindex, w, w->hdr.tid, w->hdr.ts_ns, &stat);
	l->loss[LOSS_MEMBERS] += stat.over_cnt;
	l->loss[LOSS_MEMBER_SETS] += stat.failed_cnt;
}

/* Lock words of a process in a pid namespace hold that namespace's ids. */
static uint32_t owner_from_ns(struct live *l, uint32_t tgid, uint32_t ns_tid)
{
	uint64_t key = (uint64_t)tgid << 32 | ns_tid;
	uint64_t tid;

	if (hmap_get(&l->ns_tids, key, &tid))
		return tid;
	tid = procfs_tid_from_ns(tgid, ns_tid);
	hmap_put(&l->ns_tids, key, tid);
	return tid;
}

/*
 * Owner of the lock that w waits for.  What the kernel side read beside a
 * futex is a guess at what kind of lock it is: only a thread that is known
 * is taken.  A thread that was asleep before the start was never seen by
 * sched_switch: its memory is asked now.
 */
uint32_t live_owner(struct live *l, const struct wire_wait *w)
{
	uint32_t owner = w->owner_tid;

	if (w->cls == WAIT_FLOCK) {
		if (!owner && w->flags & WAITF_PENDING && l->owner_asked < OWNERS_PER_TICK) {
			l->owner_asked += FILE_LOCKS_WEIGHT;
			owner = file_locks_ask(w->tgid);
		}
		live_draw_in(l, owner, false);
		return owner;
	}
	if (w->cls != WAIT_FUTEX)
		return owner;
	if (owner && live_proc(l, w->tgid)->in_pidns)
		owner = owner_from_ns(l, w->tgid, owner);
	if (owner)
		return hmap_get(&l->tids, owner, NULL) && owner != w->hdr.tid ? owner : 0;
	if (!(w->flags & WAITF_BEFORE_START) || !(w->flags & WAITF_PENDING) ||
	    l->owner_asked >= OWNERS_PER_TICK)
		return 0;
	l->owner_asked++;
	return owner_of_futex(w->tgid, w->hdr.tid);
}
