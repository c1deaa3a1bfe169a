/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that were seen: the watched ones and those that show up beside
 * them.  Entries of the dead are dropped after a while, so that a server that
 * forks for each request costs no more memory in an hour than in a minute.
 */
#include <bpf/libbpf.h>
#include <string.h>

#include "collect/proc/cgroups.h"
#include "collect/live/live_int.h"
#include "collect/live/live_stacks.h"
#include "collect/resources/resource_names.h"
#include "collect/proc/procfs.h"
#include "heldup.skel.h"

#define GONE_TICKS 3	    /* late records may still name it */
#define BYSTANDERS_MAX 4096 /* not watched: then all of them are forgotten */

struct live_proc *live_proc(struct live *l, uint32_t tgid)
{
	uint64_t *slot = hmap_slot(&l->proc_idx, tgid);
	struct live_proc *p;

	if (*slot)
		return &l->procs.items[*slot - 1];
	if (l->procs_free.cnt) {
		*slot = vec_pop(&l->procs_free);
		p = &l->procs.items[*slot - 1];
	} else {
		p = vec_add(&l->procs);
		*slot = l->procs.cnt;
	}
	p->tgid = tgid;
	l->bystander_cnt++;
	return p;
}

static void proc_drop(struct live *l, struct live_proc *p)
{
	hmap_del(&l->proc_idx, p->tgid);
	*p = (struct live_proc){0};
	vec_push(&l->procs_free, (uint32_t)(p - l->procs.items) + 1);
}

void live_procs_purge(struct live *l)
{
	const struct bpf_map *watched = l->bpf.skel->maps.hu_procs;
	bool crowd = l->bystander_cnt > BYSTANDERS_MAX;
	struct proc_ent e;

	l->bystander_cnt = 0;
	VEC_FOREACH(&l->procs, p) {
		if (!p->tgid)
			continue;
		if (p->gone && ++p->gone_ticks > GONE_TICKS &&
		    bpf_map__lookup_elem(watched, &p->tgid, sizeof(p->tgid), &e, sizeof(e), 0) < 0)
			proc_drop(l, p);
		else if (!p->flags && crowd)
			proc_drop(l, p);
		else
			l->bystander_cnt += !p->flags;
	}
}

/* Read when new and after exec: a forked child has its parent's. */
static void proc_names(struct live *l, struct live_proc *p)
{
	p->exe = emit_str(&l->emit, names_exe(l->names, p->tgid));
	p->cgroup = emit_str(&l->emit, cgroups_path_of(l->cgroups, p->tgid));
	p->in_pidns = procfs_ns_tid(p->tgid) != 0;
	p->named = true;
}

static void proc_names_of_parent(struct live *l, struct live_proc *p, uint32_t ppid)
{
	uint32_t tgid = p->tgid;
	const struct live_proc *parent = live_proc(l, ppid);
	struct live_proc from = *parent;

	p = live_proc(l, tgid); /* may have moved */
	p->exe = from.exe;
	p->cgroup = from.cgroup;
	p->in_pidns = from.in_pidns;
	p->named = from.named;
}

static void task_lives(struct live *l, struct live_proc *p, const struct wire_task *w,
		       struct ev_task *ev)
{
	if (!p->named && w->op == TASK_FORK && w->ppid) {
		proc_names_of_parent(l, p, w->ppid);
		p = live_proc(l, w->tgid);
	}
	if (w->op == TASK_EXEC)
		live_stacks_exec(l, w->tgid);
	if (!p->named || w->op == TASK_EXEC)
		proc_names(l, p);
	p->gone = false;
	p->gone_ticks = 0;
	if (w->flags)
		p->flags = w->flags;
	hmap_slot(&l->tids, w->hdr.tid);
	ev->flags = p->flags;
	ev->exe = p->exe;
	ev->cgroup = p->cgroup;
	if (p->in_pidns)
		ev->ns_tid = procfs_ns_tid(w->hdr.tid);
}

void live_task(struct live *l, const struct wire_task *w)
{
	struct live_proc *p = live_proc(l, w->tgid);
	char comm[WIRE_COMM_LEN + 1] = {0};
	struct ev_task ev = {
		.start_boot_ns = w->start_ns,
		.cgroup_id = w->cgroup_id,
		.tgid = w->tgid,
		.ppid = w->ppid,
		.op = w->op,
		.flags = w->flags,
		.exit_code = w->exit_code,
	};

	memcpy(comm, w->comm, WIRE_COMM_LEN);
	ev.comm = emit_str(&l->emit, comm);
	if (w->op == TASK_EXIT) {
		hmap_del(&l->tids, w->hdr.tid);
		p->gone |= w->hdr.tid == w->tgid;
		if (w->hdr.tid == w->tgid)
			live_stacks_exit(l, w->tgid);
	} else {
		task_lives(l, p, w, &ev);
		live_stacks_sleeper(l, w);
	}
	EMIT(&l->emit, &ev, EV_TASK, w->hdr.tid, w->hdr.ts_ns);
}
