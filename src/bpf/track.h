/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef TRACK_H
#define TRACK_H
/*
 * What is kept of a tracked thread, the maps that the subjects share and the
 * settings that user space makes before loading.
 *
 * A thread is tracked while it has a struct thr (thr.h): the iterator makes it
 * for the processes in hu_procs, fork for the children of tracked threads.
 *
 * Who writes struct thr: sched_switch on the CPU the thread leaves or enters,
 * sched_waking while it is off CPU (the scheduler's pi_lock keeps wakers
 * apart), the thread's own hooks while it runs.  The iterator only reads and
 * tries again when ver changed.
 */
#include "bpf/ktypes.h"
#include "bpf/ktypes_io.h"
#include "bpf/typed.h"
#include "bpf/thr.h"
#include "wire/wire.h"
#include "wire/conf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define NSEC_PER_USEC 1000ull
#define SHORT_PREEMPT_NS (20 * NSEC_PER_USEC)
#define STALL_MIN_NS (10 * 1000 * NSEC_PER_USEC)
#define CULPRIT_MIN_NS (50 * NSEC_PER_USEC)
#define LCB_SPIN 1 /* flags of lock:contention_begin */
#define LCB_RT 8
#define LCB_PERCPU 16
#define LCB_MUTEX 32
#define KSTACK_DEPTH 24
#define CLOCK_WINDOW_NS (100 * 1000 * NSEC_PER_USEC)
#define CLOCK_CHECK_NS (1000 * NSEC_PER_USEC) /* between two comparisons of the clocks */
#define RUNNER_CNT 16 /* runs remembered per CPU, a power of two */
#define BATCH_CNT 32  /* waits kept back per CPU, a power of two */
#define LIGHT_MIN_NS (500 * NSEC_PER_USEC) /* shorter waits of clients are only summed */
#define BATCH_NS (100 * 1000 * NSEC_PER_USEC)

/* A thread that ran on a CPU until then (run queue's clock), from the entry before on. */
struct runner {
	u64 end_ns;
	u32 tgid;
	u32 tid;
};
struct runners {
	u32 idx;
	u32 batch_cnt; /* in the wait_batch of this CPU */
	u64 batch_ns;  /* since when */
	s64 off, off_before; /* run queue's clock to CLOCK_MONOTONIC, in two windows */
	u64 window_ns;
	u64 checked;   /* the run queue's clock when the two were last compared */
	u32 seed_cnt;  /* when the present thread came */
	u32 pid;       /* kernel's: of the thread that came last, as far as switches are seen */
	u8 full;       /* it is tracked and not light: its socket calls are looked at */
	u8 pad;
	u16 samples;
	u32 pad2;
	struct runner ran[RUNNER_CNT];
};

struct hu_runners_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct runners);
} hu_runners SEC(".maps");

struct hu_procs_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct proc_ent);
} hu_procs SEC(".maps");

struct hu_ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} hu_ring SEC(".maps");

struct hu_runs_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct run_cnts);
} hu_runs SEC(".maps");

struct hu_res_seen_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u8);
} hu_res_seen SEC(".maps");

/* Settings, written by user space before loading. */
const volatile u8 sys_kind[SYS_NR_MAX] = {0}; /* enum sys_kind, by system call */
const volatile u32 self_tgid = 0;
const volatile u32 ring_half = 2 << 20;
const volatile u8 has_prev_state = 1; /* sched_switch has a fourth argument */
const volatile u64 jiffy_ns = 4000000;
const volatile u8 has_data_ready = 0; /* sk_data_ready is attached */
const volatile u8 has_io_start = 0;
const volatile u8 has_io_done = 0;
const volatile u8 only_target = 0;
const volatile u8 with_stacks = 0; /* enum stacks_mode */
const volatile s32 preempt_off = 0; /* preempt count relative to the run queue, 0 unknown */

/* Counted with atomics, read by user space. */
u64 loss_cnt[32] = {0};
u32 thread_cnt = 0;
u32 seed_cnt = 0; /* threads that began to be tracked while they may have run */
/* By the low bits of tid; and requests read and not answered, by those of tgid. */
struct tio tios[OPEN_MASK + 1] __attribute__((aligned(64))) = {0};
s32 proc_open[OPEN_MASK + 1] = {0};

/* From jiffies to CLOCK_MONOTONIC, set anew by user space before each tick; 0: not known yet. */
u64 jiffy_off = 0;
u64 jiffy_sample = 0;

u32 shed = 0; /* enum shed_bits, changed while it runs */

/* By port: 1 where someone was seen to listen on it, in any network namespace. */
u8 listen_hint[65536] = {0};

u64 tick_since_ns = 0; /* the iterators leave out what did nothing since */
u32 report_turns = 0;  /* a thread's sums are reported in one tick of so many */
u32 report_turn = 0;

enum { HU_LOSS_RING = 0, HU_LOSS_TASK_STORAGE, HU_LOSS_RES_MAP, HU_LOSS_END_MAP,
       HU_LOSS_CULPRIT_MAP, HU_LOSS_DISK_MAP, HU_LOSS_SOCK_STORAGE = 10, HU_LOSS_KSTACK,
       HU_LOSS_SAMPLES = 17 };

static __always_inline void count_loss(u32 what)
{
	if (what < 32)
		__sync_fetch_and_add(&loss_cnt[what], 1);
}

static __always_inline struct run_cnts *runs_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&hu_runs, &zero);
}

static __always_inline void count_runs(u32 what, u32 cnt)
{
	struct run_cnts *r = runs_here();

	if (r)
		r->cnt[what] += cnt;
}

static __always_inline void count_run(u32 what)
{
	count_runs(what, 1);
}

static __always_inline struct runners *this_cpu(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&hu_runners, &zero);
}

/* task runs here; t is its thread, NULL if it is not tracked. */
static __always_inline void runner_is(struct runners *r, struct task_struct *task,
				      const struct thr *t)
{
	r->pid = task->pid;
	r->full = t && !t->light;
	r->seed_cnt = seed_cnt;
}

/*
 * Does a thread run here whose calls are looked at?  For hooks that run in
 * every process' calls: asking this costs less than looking the thread up.
 * One that began to be tracked while it ran may not switch for long, and not
 * every switch is seen.
 */
static __always_inline bool is_watched(struct runners *r)
{
	struct task_struct *cur = bpf_get_current_task_btf();

	if (r->seed_cnt != seed_cnt || r->pid != (u32)cur->pid)
		runner_is(r, cur, thr_of(cur));
	return r->full;
}

static __always_inline bool is_watched_here(void)
{
	struct runners *r = this_cpu();

	return r && is_watched(r);
}

static __always_inline u64 since(u64 from, u64 to)
{
	return to > from ? to - from : 0;
}

static __always_inline struct tio *tio_of(u32 tid)
{
	return &tios[tid & OPEN_MASK];
}

/* Gaps between socket calls: something else kept the thread.  Waits for sockets reset the mark. */
static __always_inline void stall_note(struct tio *io, u64 now)
{
	u64 gap = since(io->last_io_ns, now);

	if (gap > STALL_MIN_NS && io->last_io_ns) {
		io->stall_ns += gap;
		io->stall_cnt++;
		if (gap > io->stall_max_ns)
			io->stall_max_ns = gap;
	}
	io->last_io_ns = now;
}

/* The id may have belonged to another thread before. */
static __always_inline void tio_clear(u32 tid)
{
	struct tio *io = tio_of(tid);

	__builtin_memset(io, 0, sizeof(*io));
}

/* Waking the reader costs more than the record: it looks by itself every few ms. */
static __always_inline u64 ring_flags(void)
{
	return bpf_ringbuf_query(&hu_ring, BPF_RB_AVAIL_DATA) > ring_half ? BPF_RB_FORCE_WAKEUP
									  : BPF_RB_NO_WAKEUP;
}

static __always_inline void hdr_fill(struct wire_hdr *h, u8 kind, u16 size, u32 tid, u64 ts)
{
	h->size = size;
	h->kind = kind;
	h->pad = 0;
	h->tid = tid;
	h->ts_ns = ts;
}

#endif /* TRACK_H */
