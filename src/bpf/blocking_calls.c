/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flight recorder: each system call of a watched thread becomes a record
 * of 16 bytes in a ring of its CPU, which nobody reads until someone asks.
 *
 * These two hooks run at every system call of the whole system, so they know
 * no helper that looks anything up: a thread is watched while a slot has its
 * id, and the slot (half a cache line) holds all that the return needs.
 * The thread's own counters of switches show if
 * a call gave up the CPU, not another hook.  The kind of a descriptor's file is looked
 * up at its first call and remembered until it is closed.
 *
 * Slots are written by their own thread only, but for the seeding: the
 * iterator may give a slot to a thread that runs.  Rings are written with
 * preemption off, by the CPU they belong to.
 */
#include "wire/calls.h"

struct hu_call_ring_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct call_rec);
} hu_call_ring SEC(".maps");

struct hu_call_heads_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct call_head);
} hu_call_heads SEC(".maps");

struct hu_call_slots_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CALL_SLOTS);
	__type(key, u32);
	__type(value, struct call_slot);
} hu_call_slots SEC(".maps");

struct hu_call_tasks_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CALL_TASKS);
	__type(key, u32);
	__type(value, struct wire_task);
} hu_call_tasks SEC(".maps");

struct hu_call_fds_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALL_FDS);
	__type(key, u32);
	__type(value, u64);
} hu_call_fds SEC(".maps");

/* Settings. */
const volatile u8 with_calls = 0;
const volatile u32 call_ring_mask = 0; /* records of one CPU, a power of two, less one */
const volatile u8 call_info[SYS_NR_MAX] = {0};
const volatile u8 call_others = 0; /* they are counted */
const volatile u8 call_stacks = CALL_STACKS_NONE;
const volatile u64 call_slow_ns = 1000000;
const volatile u8 call_errs[CALL_ERRNO_MAX] = {0}; /* enum call_result by errno */

/* Counted up each time the hooks come back: a begin of before says nothing of this call. */
u32 call_phase = 0;
u64 call_phase_ns = 0; /* when they came */
u64 call_task_head = 0;
u64 call_no_slot = 0; /* threads that found no place */

static __always_inline struct call_slot *slot_at(u32 tid)
{
	u32 at = tid & (CALL_SLOTS - 1);

	return bpf_map_lookup_elem(&hu_call_slots, &at);
}

static __noinline struct call_slot *slot_further(u32 tid)
{
	struct call_slot *s;
	u32 i;

	for (i = 1; i < CALL_PROBE; i++) {
		s = slot_at(tid + i);
		if (s && s->tid == tid)
			return s;
	}
	return NULL;
}

/* NULL: not watched.  Of nearly all other threads the first place tells it. */
static __always_inline struct call_slot *slot_of(u32 tid)
{
	struct call_slot *s = slot_at(tid);

	if (!s || s->tid == tid)
		return s;
	return s->more ? slot_further(tid) : NULL;
}

#define SLOT_SWITCHED 1u /* in its state */

static __always_inline u64 slot_switched(const struct call_slot *s)
{
	return s->state & SLOT_SWITCHED ? CALL_SWITCHED : 0;
}

static __always_inline u32 csw_of(const struct task_struct *p)
{
	return p->nvcsw + p->nivcsw;
}

/* Identity of p's descriptors: another process with its id later has other files. */
static __always_inline u32 files_of(struct task_struct *p, u64 salt)
{
	return mix64(p->group_leader->start_boottime ^ (u64)p->tgid << 40 ^ salt);
}

static __noinline int slot_take(struct task_struct *p, u64 begin_ns)
{
	struct call_slot *s = slot_at(p->pid), *home = s;
	u32 tid = p->pid, i;

	if (slot_of(tid))
		return 0;
	for (i = 0; i < CALL_PROBE; i++) {
		s = slot_at(tid + i);
		if (!s || __sync_val_compare_and_swap(&s->tid, 0, CALL_SLOT_CLAIMED))
			continue;
		s->files = files_of(p, 0);
		s->begin_ns = begin_ns;
		s->nvcsw = p->nvcsw;
		s->csw = csw_of(p);
		s->nr = CALL_NR_NONE;
		s->state = 0;
		s->stack_ms = 0;
		if (home && i)
			home->more = 1;
		*(volatile u32 *)&s->tid = tid;
		return 0;
	}
	__sync_fetch_and_add(&call_no_slot, 1);
	return 0;
}

static __always_inline void call_task(struct task_struct *p, u32 op, u64 now)
{
	u32 at = __sync_fetch_and_add(&call_task_head, 1) & (CALL_TASKS - 1);
	struct wire_task *w = bpf_map_lookup_elem(&hu_call_tasks, &at);

	if (w)
		task_fill(w, p, op, 0, now);
}

/* Like file_of_fd, but only what is needed here. */
static __noinline u32 fd_kind(struct task_struct *p, u32 fd)
{
	struct file_ref f;

	if (!file_of_fd((u64)p, fd, &f))
		return RES_NONE;
	return f.kind;
}

static __always_inline u64 *fd_entry(u32 files, u32 fd)
{
	u32 at = (files + fd) & (CALL_FDS - 1);

	return bpf_map_lookup_elem(&hu_call_fds, &at);
}

static __always_inline u32 call_kind(struct task_struct *p, const struct call_slot *s, u64 arg,
				     u32 info)
{
	u32 fd = arg, kind;
	u64 key = (u64)s->files << 32 | (u64)fd << 4;
	u64 *e = fd_entry(s->files, fd);

	if (fd >= 1u << 28 || !e)
		return RES_NONE;
	if ((*e ^ key) < 16)
		return *e & 15;
	if (info & CALLI_CLOSE) /* it is gone by now */
		return RES_NONE;
	kind = fd_kind(p, fd) & 15;
	if (kind)
		*e = key | kind;
	return kind;
}

static __always_inline void fd_forget(const struct call_slot *s, u64 arg)
{
	u64 key = (u64)s->files << 32 | (u64)(u32)arg << 4;
	u64 *e = fd_entry(s->files, arg);

	if (e && (*e ^ key) < 16)
		*e = 0;
}

static __always_inline u64 call_result(s64 ret, u32 info)
{
	u32 err = -ret;

	if (ret > 0)
		return CALLR_OK;
	if (ret == 0)
		return info & CALLI_ZERO ? CALLR_NONE : CALLR_OK;
	if (ret < -4095) /* an address */
		return CALLR_OK;
	return err < CALL_ERRNO_MAX ? call_errs[err] : CALLR_FAILED;
}

static __always_inline u64 call_dur(u64 ns)
{
	if (ns <= CALL_DUR_MAX)
		return ns;
	if (ns >> 10 <= CALL_DUR_MAX)
		return 1ull << CALL_DUR_BITS | ns >> 10;
	ns >>= 20;
	return 2ull << CALL_DUR_BITS | (ns < CALL_DUR_MAX ? ns : CALL_DUR_MAX);
}

/* An id that does not fit a record would be taken for another. */
static __always_inline u32 call_stack(struct call_slot *s, struct task_struct *cur, u64 low,
				      u64 now)
{
	u64 dur_ns = since(s->begin_ns, now);
	u32 ms = now >> 20, id;

	if (call_stacks != CALL_STACKS_ALL && dur_ns < call_slow_ns &&
	    (!(low & CALL_BLOCKED) || s->stack_ms == ms))
		return 0;
	s->stack_ms = ms;
	id = stack_at_call(cur, now);
	return id <= CALL_STACK_MASK ? id : 0;
}

/* low: number, result, kind and flags as they lie in a record. */
static __always_inline void call_put(const struct call_slot *s, u64 dur_ns, u64 low, u32 stack)
{
	u32 cpu = bpf_get_smp_processor_id(), at;
	struct call_head *h = bpf_map_lookup_elem(&hu_call_heads, &cpu);
	struct call_rec *r;

	if (!h)
		return;
	at = cpu * (call_ring_mask + 1) + (h->head & call_ring_mask);
	r = bpf_map_lookup_elem(&hu_call_ring, &at);
	if (!r)
		return;
	r->when = s->begin_ns << CALL_STACK_BITS | (stack & CALL_STACK_MASK);
	r->what = call_dur(dur_ns) << CALL_DUR_AT | (u64)s->tid << CALL_TID_AT | low;
	h->head++;
}

SEC("tp_btf/sys_enter")
int hu_sys_enter(u64 *ctx)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct call_slot *s = slot_of(cur->pid);

	if (!s)
		return 0;
	s->nvcsw = cur->nvcsw;
	s->state = (s->csw != csw_of(cur) ? SLOT_SWITCHED : 0) | call_phase << 1;
	s->nr = ctx[1] < CALL_NR_FOREIGN ? ctx[1] : CALL_NR_FOREIGN;
	s->begin_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int call_of_other(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct call_head *h = call_others ? bpf_map_lookup_elem(&hu_call_heads, &cpu) : NULL;

	if (h)
		h->other_cnt++;
	return 0;
}

/* Notes the descriptors of a call that ended; returns the kind of argument 0. */
static __always_inline u32 call_files(struct task_struct *cur, struct call_slot *s,
				      const struct sysregs *regs, u32 info, s64 ret)
{
	u32 kind = RES_NONE;

	if (info & CALLI_FD)
		kind = call_kind(cur, s, regs->arg[0], info);
	if (info & CALLI_CLOSE)
		fd_forget(s, regs->arg[0]);
	if (info & CALLI_DUP)
		fd_forget(s, regs->arg[1]);
	if (info & CALLI_ALL && ret == 0)
		s->files = files_of(cur, s->begin_ns);
	return kind;
}

SEC("tp_btf/sys_exit")
int hu_sys_exit(u64 *ctx)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct call_slot *s = slot_of(cur->pid);
	u32 info = 0, stack = 0, nr;
	struct sysregs regs;
	s64 ret = ctx[1];
	u64 now, low;

	if (!s)
		return call_of_other();
	if (!s->begin_ns)
		return 0;
	now = bpf_ktime_get_ns();
	sysregs_read((const struct pt_regs *)ctx[0], &regs);
	if ((u8)(s->state ^ call_phase << 1) & ~SLOT_SWITCHED) { /* the hooks were away */
		s->nr = CALL_NR_NONE;
		s->begin_ns = call_phase_ns;
	}
	nr = s->nr;
	if (nr == CALL_NR_NONE)
		nr = regs.nr;
	if (regs.nr == -2 || nr >= CALL_NR_FOREIGN)
		nr = CALL_NR_FOREIGN;
	else
		info = call_info[nr & (SYS_NR_MAX - 1)];
	low = nr << CALL_NR_AT | call_result(ret, info) << CALL_RESULT_AT | slot_switched(s);
	if (info)
		low |= call_files(cur, s, &regs, info, ret) << CALL_KIND_AT;
	if (s->nvcsw != (u32)cur->nvcsw || s->nr == CALL_NR_NONE)
		low |= CALL_BLOCKED;
	if (call_stacks)
		stack = call_stack(s, cur, low, now);
	call_put(s, since(s->begin_ns, now), low, stack);
	s->csw = csw_of(cur);
	s->begin_ns = 0;
	return 0;
}

/* A child of a watched thread.  Its first return is from no call of its own. */
static __always_inline void calls_fork(struct task_struct *parent, struct task_struct *child,
				       u64 now)
{
	struct proc_ent e = {.flags = TASKF_TARGET};
	u32 tgid = child->tgid;

	if (!with_calls || !slot_of(parent->pid))
		return;
	if (tgid != parent->tgid) {
		bpf_map_update_elem(&hu_procs, &tgid, &e, BPF_NOEXIST);
		if (call_stacks)
			maps_share(parent->tgid, tgid);
	}
	slot_take(child, 0);
	call_task(child, TASK_FORK, now);
}

/* By another thread than the first, it takes over the id of that. */
static __always_inline void calls_exec(struct task_struct *p, u32 old_tid, u64 now)
{
	struct call_slot *s, *old;

	if (!with_calls)
		return;
	s = slot_of(p->pid);
	old = old_tid != p->pid ? slot_of(old_tid) : NULL;
	if (old) {
		if (!s) {
			slot_take(p, 0);
			s = slot_of(p->pid);
		}
		if (s) {
			s->begin_ns = old->begin_ns;
			s->nr = old->nr;
		}
		old->begin_ns = 0;
		*(volatile u32 *)&old->tid = 0;
	}
	if (!s)
		return;
	s->files = files_of(p, now);
	if (call_stacks)
		maps_forget(p->tgid);
	call_task(p, TASK_EXEC, now);
}

/* It may have been ended inside a call: that did not return, but it is over. */
static __always_inline void calls_exit(struct task_struct *p, u64 now)
{
	struct call_slot *s;
	u32 nr;

	if (!with_calls)
		return;
	s = slot_of(p->pid);
	if (!s)
		return;
	nr = s->nr;
	if (s->begin_ns && nr < CALL_NR_FOREIGN && !(call_info[nr & (SYS_NR_MAX - 1)] & CALLI_END))
		call_put(s, since(s->begin_ns, now),
			 (u64)nr << CALL_NR_AT | CALLR_UNKNOWN << CALL_RESULT_AT | slot_switched(s),
			 0);
	call_task(p, TASK_EXIT, now);
	s->begin_ns = 0;
	*(volatile u32 *)&s->tid = 0;
}
