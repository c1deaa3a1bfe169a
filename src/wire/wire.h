/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef WIRE_H
#define WIRE_H
/*
 * Records that cross from the BPF programs to user space: through the
 * ring buffer, through iterators, and as map keys and values.  Transient:
 * never written to disk as such (see store/event.h), so they may change.
 *
 * Fixed-width fields, explicit padding, sizes asserted on both sides.
 * Times are CLOCK_MONOTONIC nanoseconds (bpf_ktime_get_ns).  tid and tgid
 * are those of the initial pid namespace.
 */
#ifndef __bpf__
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef int16_t s16;
#endif
#include "wire/kinds.h"

#define WIRE_COMM_LEN 16
#define WIRE_NAME_LEN 40
#define WIRE_HIST_CNT 48 /* two buckets to a power of two from 1 us up */

enum wire_kind {
	WIRE_WAIT = 1,
	WIRE_TASK = 2,
	WIRE_RES = 3,
	WIRE_TURN = 4,
	WIRE_THREAD = 5, /* iterator */
	WIRE_SOCK = 6,	 /* iterator */
	WIRE_STACK = 7,	 /* these three: see wire/stacks.h */
	WIRE_SAMPLE = 8,
	WIRE_MAPS = 9,
};

struct wire_hdr {
	u16 size;
	u8 kind;
	u8 pad;
	u32 tid;
	u64 ts_ns;
};

/*
 * One off-CPU period of a tracked thread, sent when it runs again (hdr.ts_ns)
 * or, from the iterator, while it still waits (WAITF_PENDING).
 * off_ns <= wake_ns <= hdr.ts_ns; wake_ns is 0 where it was preempted.
 */
struct wire_wait {
	struct wire_hdr hdr;
	u64 off_ns;
	u64 wake_ns;
	u64 res;	   /* resource id, 0 none */
	u64 first_io;	   /* resource of the first socket receive after the wait *before* this */
	u32 tgid;
	u32 seq;	   /* per thread, +1 each record: a gap is a lost record */
	u32 waker_tid;
	u32 waker_tgid;
	u32 owner_tid;	   /* lock owner hint read from the futex or kernel lock, 0 none */
	s32 kstack;	   /* id in kstacks for uninterruptible sleeps, else < 0 */
	s16 sysnr;	   /* -1: no system call active */
	u8 cls;		   /* enum wait_class */
	u8 op;		   /* enum wait_op */
	u8 waker_ctx;	   /* enum waker_ctx */
	u8 pad;
	u16 flags;	   /* enum wait_flags */
	u16 cpu;
	u16 own_open;	   /* requests this thread has read and not answered */
	u32 proc_open;	   /* the same for its process, at switch-out */
	u32 stack;	   /* id of a wire_stack: where it went to sleep, 0 none */
	u32 waker_stack;   /* where its waker was */
};
_Static_assert(sizeof(struct wire_wait) == 96, "wire_wait");

struct wire_task {
	struct wire_hdr hdr;
	u64 start_ns;	   /* CLOCK_BOOTTIME of task start */
	u64 cgroup_id;
	u32 tgid;
	u32 ppid;
	u32 op;		   /* enum task_op */
	u32 flags;	   /* enum task_flags */
	char comm[WIRE_COMM_LEN];
	u64 pc, sp, bp;	   /* of one that sleeps since before the start, with stacks; else 0 */
	u32 exit_code;	   /* TASK_EXIT: as wait() tells it, the signal in the lowest bits */
	u32 pad;
};
_Static_assert(sizeof(struct wire_task) == 96, "wire_task");

/* First sight of a resource. */
struct wire_res {
	struct wire_hdr hdr;
	u64 res;
	u64 ino;	   /* futex: address, or inode of a shared mapping */
	u64 aux;	   /* futex: offset when shared; socket: cookie; unix: peer inode */
	u32 tgid;
	u32 dev;	   /* kernel dev_t of the superblock; futex: 0 when private */
	s32 fd;		   /* in tgid, -1 none */
	u32 magic;	   /* filesystem magic */
	u8 kind;	   /* enum res_kind */
	u8 role;	   /* enum sock_role */
	u16 family;
	u16 sotype;
	u16 lport, rport;  /* host order */
	u16 pad;
	u32 netns;
	u8 laddr[16], raddr[16];
	char name[WIRE_NAME_LEN]; /* dentry name, or unix path; NUL-terminated */
};
_Static_assert(sizeof(struct wire_res) == 144, "wire_res");

/* One request turn, slow or one of a few others: see ends for the complete sums. */
struct wire_turn {
	struct wire_hdr hdr; /* tid that ended it, at its end */
	u64 res;
	u64 queue_ns;	   /* arrival to first read */
	u64 service_ns;	   /* server: first read to first send; client: send to first read */
	u32 tgid;
	u32 first_tid;	   /* thread that began it */
	u8 role;
	u8 flags;	   /* enum turn_flags */
	u8 pad[6];
};
_Static_assert(sizeof(struct wire_turn) == 56, "wire_turn");

/* Cumulative counters of a tracked thread, from the task iterator. */
struct wire_thread {
	struct wire_hdr hdr;
	u64 run_ns;	   /* our own sums, in exclusive states, since tracking began */
	u64 runq_ns;
	u64 wait_ns[WAIT_CLASS_CNT];
	u64 iowait_ns;
	u64 unint_ns;	   /* all uninterruptible time, whatever its class */
	u64 wait_cnt;
	u64 exec_ns;	   /* kernel's sum_exec_runtime */
	u64 run_delay_ns;  /* kernel's sched_info.run_delay */
	u64 klock_ns, klock_cnt;     /* contended kernel locks, spinning included */
	u64 reclaim_ns, reclaim_cnt; /* direct reclaim, on or off CPU */
	u64 stall_ns, stall_max_ns;  /* gaps >= STALL_MIN between socket calls, no home waits */
	u64 maj_flt, min_flt;
	u64 read_bytes, write_bytes; /* task io accounting */
	u64 since_ns;	   /* tracking began */
	u32 tgid;
	u32 stall_cnt;
	u32 nvcsw, nivcsw;
	u32 state;	   /* 0 running or runnable, 1 waiting: then a pending wire_wait follows */
	u32 quiet_ms;	   /* no socket used for so long, or since tracking began */
};

/* Key and value of the map of conversations, read once a tick. */
struct wire_end_key {
	u32 tgid;
	u16 family;
	u8 role;
	u8 pad;
	u16 lport;	   /* server: port served; client: 0 */
	u16 rport;	   /* client: port asked; server: 0 */
	u8 raddr[16];	   /* client: address asked; server: 0 */
	u32 pad2;
	u64 uid;	   /* unix: hash of the path, else 0 */
};
_Static_assert(sizeof(struct wire_end_key) == 40, "wire_end_key");

struct wire_end {
	u64 turns;
	u64 service_ns;
	u64 answer_max_ns; /* the longest, with the time unread */
	u64 queue_ns, queue_cnt; /* data arrived and not yet read */
	u64 idle_ns;	   /* between a turn's end and the next arrival */
	u64 txblock_ns, txblock_cnt; /* send found the buffer full: peer slow to read */
	u64 rx_bytes, tx_bytes;
	u64 partial_cnt;   /* a further read was needed before the answer */
	u64 conns;	   /* sockets seen */
	u64 refused;	   /* connections that were */
	u64 untimed;	   /* turns under TURN_SLOW_NS that are in none of the sums */
	u64 slow_cnt;	   /* of turns: over it, each counted by itself; its share of the sums: */
	u64 slow_ns, slow_queue_ns;
	u64 hist[WIRE_HIST_CNT]; /* of answer times: service_ns and the time unread */
	char name[WIRE_NAME_LEN]; /* unix path */
};

/* Snapshot of a socket in use, from the socket-storage iterator. */
struct wire_sock {
	struct wire_hdr hdr;
	u64 res;
	u64 open_since_ns; /* 0: no request open */
	u64 unread_since_ns;
	u64 last_rx_ns, last_tx_ns;
	u64 notready_ns;   /* time spent without unread data, since tracking */
	u64 poll_wake_cnt; /* times it was the first read after a poll */
	u32 tgid;
	u32 last_tid;
	u32 end_idx;
	u8 role;
	u8 pad[3];
};

/* Processes that ran while a tracked process waited for a CPU. */
struct wire_culprit_key {
	u32 victim_tgid;
	u32 culprit_tgid;  /* 0: idle task, the CPU was free (quota, migration) */
};
struct wire_culprit {
	u64 ns;
	u64 cnt;
	u32 tid;	   /* one of its threads */
	u32 pad;
	char comm[WIRE_COMM_LEN];
};

/* Block device use, by device and process. op: 0 read, 1 write, 2 flush, 3 discard/other. */
struct wire_disk_key {
	u32 dev;	   /* kernel dev_t */
	u32 tgid;
	u32 tid;	   /* tracked threads only, else 0 */
	u32 op;
};
struct wire_disk {
	u64 ios;
	u64 sectors;
	u64 lat_ns;	   /* submit to completion, summed */
	u64 lat_max_ns;
	char comm[WIRE_COMM_LEN];
};
struct wire_dev {	   /* per device: how busy */
	u64 busy_ns;	   /* at least one request in flight */
	u64 busy_since_ns;
	u64 inflight_ns;   /* integral of requests in flight */
	u64 last_ns;
	s32 inflight;
	u32 pad;
};

#endif /* WIRE_H */
