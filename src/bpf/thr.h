/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef THR_H
#define THR_H
/*
 * What is kept of a tracked thread, and where.
 *
 *	thr_make	at fork and by the iterator
 *	thr_of		the thread of a task, NULL: it is not tracked
 *	thr_renamed	exec gave the task another tid
 *	thr_end		at its last switch
 *
 * Threads live in the elements of one array, found by the low bits of their
 * tid: a look-up touches one word and the thread itself, both cold under load.
 * Task storage costs three more cold lines and a call, at each switch and each
 * waking.  It is used only where two tracked threads share the low bits.
 */
#include "bpf/ktypes.h"
#include "wire/wire.h"

#include <bpf/bpf_helpers.h>

#define OPEN_MASK 0xffff

enum thr_state {
	THR_NEW = 0, /* not seen to switch yet */
	THR_RUN = 1,
	THR_RUNQ = 2,
	THR_WAIT = 3,
};

/* Is a wait of the same call, from the same place, as the one before? */
enum call_again {
	CALL_OTHER = 0,
	CALL_SAME = 1,
	CALL_REUSED = 2, /* ... and what it waits for was not looked at anew */
};

#define THR_STACKS 16 /* places in user space that a thread is known by, a power of two */
#define STACK_WAYS 4  /* of them a place may have by its key: one cache line of keys is looked at */

/* The kernel's own counts of a thread, from its birth on. */
struct kcounts {
	u64 exec_ns, run_delay_ns;
	u64 maj_flt, min_flt;
	u64 read_bytes, write_bytes;
	u32 nvcsw, nivcsw;
};

/* The places of a thread, by what its stack shows without being walked. */
struct thr_stacks {
	u64 due_ns[2]; /* by STACK_WAIT and STACK_WAKER: the next stack of the same resource */
	u64 due_res[2];
	u64 keys[THR_STACKS];
	u64 next_ns[2]; /* no other walk before this: for its waits, for those it wakes */
	u32 turn;	/* which is replaced next */
	u32 pad;
	struct thr_stack {
		u64 check_ns; /* walk again after this: does its key still mean id? */
		u64 pc[2];    /* two of its return addresses, at sp + slot[] */
		u32 slot[2];
		u32 user;     /* hash of the user frames */
		u32 id;
		u32 doubt;    /* times that the key meant another stack */
		u32 pad;
	} known[THR_STACKS];
};

/*
 * Laid out by cache line: under load these lines are cold, and each costs as
 * much as the work on it.
 */
struct thr {
	/* first line: the off-CPU period in progress */
	u64 state_ns; /* begin of the present state */
	u64 off_ns;
	u64 wake_ns;
	u64 delay_ns; /* sched_info.run_delay at switch-out */
	u32 state;    /* enum thr_state */
	u32 ver;      /* odd while being changed */
	u32 tid;      /* 0: ended */
	u32 tgid;
	u16 flags;    /* enum wait_flags */
	s16 sysnr;
	u8 cls;
	u8 op;
	u8 waker_ctx;
	u8 light;     /* TASKF_LIGHT */
	u32 proc_open;
	u32 off_open;
	/* second */
	u64 res;
	u64 run_ns;
	u64 runq_ns;
	u64 wait_cnt;
	u32 waker_tid;
	u32 waker_tgid;
	u32 owner_tid;
	s32 kstack;
	u32 seq;
	u32 stack;	 /* of the wait in progress, 0 none */
	u32 waker_stack;
	u8 call_cls;	 /* of call, for after a preemption */
	u8 reuses;	 /* of call, since it was looked at */
	u8 again;	 /* enum call_again, of the wait in progress */
	u8 place_known;	 /* its place has a stack */
	/* third: asked at each switch, mostly 0 */
	u64 trigger;  /* file that ended the poll or epoll wait in progress */
	u64 io_res;   /* file that block I/O was begun for since the last wait */
	u64 seen_res; /* last resource described */
	u64 klock_addr;
	u64 reclaim_begin_ns;
	u64 dirty_ns; /* balance_dirty_pages announced a pause */
	u64 early_ns; /* a waking that came before the switch-out was traced, see sched.c */
	u64 call;     /* that call_cls, op and res are known for, see same_call */
	/* sums, and what is rare */
	u64 wait_ns[32]; /* by wait_class; a power of two lets the index be masked */
	u64 iowait_ns;
	u64 unint_ns;
	u64 since_ns;
	u64 klock_begin_ns;
	u64 klock_ns;
	u64 klock_cnt;
	u64 reclaim_ns;
	u64 reclaim_cnt;
	u32 klock_flags;
	u32 early_tid;
	u32 early_tgid;
	u32 early_ctx;
	u32 early_flags;
	u32 unannounced; /* enum task_flags until its WIRE_TASK is out */
	u32 next_free;	 /* of an ended one: the index of the next */
	u32 idx;	 /* its own, in hu_thrs */
	u64 refused_ns;	 /* a file lock or connection was, see filelock.c, connect.c */
	u64 refused_res;
	u32 refused_tgid; /* who has it, 0 unknown */
	u32 refused_cls; /* what a wait for that is, enum wait_class */
	struct thr_stacks stacks;
	u64 pad2[2];	 /* to a cache line */
};
_Static_assert(sizeof(struct thr) % 64 == 0, "thr");

struct hu_thrs_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* its elements begin at a page */
	__uint(max_entries, 1);		   /* set by user space */
	__type(key, u32);
	__type(value, struct thr);
} hu_thrs SEC(".maps");

/* The index of a thread whose place by tid was taken. */
struct hu_crowded_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} hu_crowded SEC(".maps");

#define THR_CROWDED 0x80000000u /* other tracked threads have, or had, these low bits too */
#define THR_IDX 0x7fffffffu

/* By the low bits of tid: the index of the thread, 0 none.  Most threads are others'. */
u32 thr_idx[OPEN_MASK + 1] = {0};

const volatile u32 max_threads = 16384;
u32 thr_top = 0;   /* indexes given out so far, the first is 1 */
u64 thr_free = 0;  /* head of the list of ended ones: a count above their index, against ABA */

/* The thread at an index that was given out. */
static __always_inline struct thr *thr_at(u32 idx)
{
	return bpf_map_lookup_elem(&hu_thrs, &idx);
}

static __noinline struct thr *thr_crowded(struct task_struct *task)
{
	u32 *idx = bpf_task_storage_get(&hu_crowded, task, 0, 0);
	struct thr *t = idx ? thr_at(*idx) : NULL;

	return t && t->tid == (u32)task->pid ? t : NULL;
}

static __always_inline struct thr *thr_of(struct task_struct *task)
{
	u32 idx = thr_idx[task->pid & OPEN_MASK];
	struct thr *t;

	if (!idx)
		return NULL;
	t = thr_at(idx & THR_IDX);
	if (t && t->tid == (u32)task->pid)
		return t;
	return idx & THR_CROWDED ? thr_crowded(task) : NULL;
}

/* An index that no thread has, 0: all are taken. */
__noinline u32 thr_take(void)
{
	u32 i, idx;

	for (i = 0; i < 4; i++) {
		u64 head = *(volatile u64 *)&thr_free;
		struct thr *t = (u32)head ? thr_at((u32)head) : NULL;

		if (!t)
			break;
		if (__sync_val_compare_and_swap(&thr_free, head,
						((head >> 32) + 1) << 32 | t->next_free) == head)
			return (u32)head;
	}
	idx = __sync_fetch_and_add(&thr_top, 1) + 1;
	if (idx <= max_threads)
		return idx;
	__sync_fetch_and_add(&thr_top, -1);
	return 0;
}

__noinline int thr_give(struct thr *t)
{
	u32 i;

	if (!t)
		return 0;
	t->tid = 0;
	for (i = 0; i < 8; i++) {
		u64 head = *(volatile u64 *)&thr_free;

		t->next_free = (u32)head;
		if (__sync_val_compare_and_swap(&thr_free, head,
						((head >> 32) + 1) << 32 | t->idx) == head)
			return 0;
	}
	return 0;
}

/* Makes t the one that is found for task. */
static __always_inline bool thr_place(struct task_struct *task, struct thr *t)
{
	u32 *at = &thr_idx[task->pid & OPEN_MASK], old = *at, *idx;

	t->tid = task->pid;
	if (!(old & THR_IDX) && __sync_val_compare_and_swap(at, old, old | t->idx) == old)
		return true;
	idx = bpf_task_storage_get(&hu_crowded, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!idx)
		return false;
	*idx = t->idx;
	__sync_fetch_and_or(at, THR_CROWDED);
	return true;
}

/* Takes t out of the place of its tid. */
static __always_inline void thr_displace(struct thr *t)
{
	u32 *at = &thr_idx[t->tid & OPEN_MASK];

	if ((*at & THR_IDX) == t->idx)
		__sync_fetch_and_and(at, THR_CROWDED);
}

/* Not in sched_switch: task storage cannot be allocated there on all kernels. */
static __noinline struct thr *thr_make(struct task_struct *task)
{
	struct thr *t = thr_of(task);
	u32 idx;

	if (t)
		return t;
	idx = thr_take();
	t = idx ? thr_at(idx) : NULL;
	if (!t)
		return NULL;
	/* what is known counts from its key on */
	__builtin_memset(t, 0, offsetof(struct thr, stacks.known));
	t->idx = idx;
	/* fork and the iterator may both make it: who comes first stays */
	if (thr_place(task, t) && thr_of(task) == t)
		return t;
	thr_give(t);
	return thr_of(task);
}

static __noinline int thr_end(struct thr *t)
{
	if (!t)
		return 0;
	thr_displace(t);
	thr_give(t);
	return 0;
}

/* exec from another thread than the first gives it the tid of the first. */
static __noinline struct thr *thr_renamed(struct task_struct *task, u32 old_tid)
{
	u32 idx = thr_idx[old_tid & OPEN_MASK];
	struct thr *t = thr_at(idx & THR_IDX);

	if (!idx || !t || t->tid != old_tid)
		return NULL;
	thr_displace(t);
	return thr_place(task, t) ? t : NULL;
}

/* A new thread has this tid: an older one ended unseen. */
static __always_inline bool thr_evict(u32 tid)
{
	u32 idx = thr_idx[tid & OPEN_MASK];
	struct thr *t = idx ? thr_at(idx & THR_IDX) : NULL;

	if (!t || t->tid != tid)
		return false;
	thr_end(t);
	return true;
}

#endif /* THR_H */
