/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef CONF_H
#define CONF_H
/*
 * What user space tells the BPF programs before they load, and the small
 * values both sides index arrays with.  Include after wire.h or ktypes.h.
 */

/* How a sleep inside a system call is to be understood: see sys_kind[]. */
enum sys_kind {
	SYSK_NONE = 0,	   /* no rule */
	SYSK_READ = 1,	   /* argument 0 is a descriptor read from */
	SYSK_WRITE = 2,	   /* ... written to */
	SYSK_ACCEPT = 3,
	SYSK_CONNECT = 4,
	SYSK_FSYNC = 5,	   /* argument 0 is a descriptor */
	SYSK_SYNC = 6,	   /* sync, msync: no descriptor */
	SYSK_FUTEX = 7,	   /* argument 1 is the operation */
	SYSK_FUTEX_WAITV = 8,
	SYSK_FUTEX_WAIT2 = 9,
	SYSK_FUTEX_REQUEUE2 = 10,
	SYSK_EPOLL = 11,
	SYSK_POLL = 12,	   /* pollfd array, count */
	SYSK_SELECT = 13,  /* count, sets */
	SYSK_TIMER = 14,
	SYSK_CHILD = 15,
	SYSK_FILE_FD = 16, /* other work on a file by descriptor: close, ftruncate */
	SYSK_FILE_PATH = 17, /* ... by path: open, stat, unlink */
	SYSK_IOURING = 18,
	SYSK_AIO = 19,
	SYSK_FLOCK = 20,
	SYSK_FCNTL = 21,   /* a lock only with some commands */
	SYSK_SYSV = 22,
	SYSK_SIGNAL = 23,
	SYSK_SPLICE = 24,  /* argument 0 read from, argument 2 written to */
	SYSK_SENDFILE = 25,/* argument 0 written to, argument 1 read from */
	SYSK_PATH_ANY = 26,/* open: a FIFO or a file */
	SYSK_MSYNC = 27,
	SYSK_PPOLL = 28,   /* as POLL, timeout by pointer */
	SYSK_EPOLL2 = 29,  /* as EPOLL, timeout by pointer */
};

#define SYS_NR_MAX 512

/* Setting with_stacks. */
enum stacks_mode {
	STACKS_OFF = 0,
	STACKS_BUDGET = 1,
	STACKS_EACH = 2, /* of each wait, whatever it costs: for tests */
	STACKS_REFUSED = 3, /* makes the verifier refuse the unwinder: for tests */
};

/* Resolution of the coarse clock: requests that take as long are summed one by one. */
#define TURN_SLOW_NS 12000000ull

/* Programs, for the counts of their runs. */
enum bpf_run {
	RUN_SWITCH = 0,
	RUN_WAKING = 1,
	RUN_SEND = 2,
	RUN_RECV = 3,
	RUN_BLOCK = 4,
	RUN_MARK = 5,
	RUN_ANSWER = 6, /* no program: sends on watched TCP server sockets with hu_recv there */
	RUN_QUICK = 7,	/* ... and while it is away, where the request came just before */
	RUN_FOREIGN = 8, /* of these: for a thread that is not watched, over at once */
	RUN_CNT = 9
};
struct run_cnts {
	u64 cnt[RUN_CNT];
};

/* A process that wakes tracked threads without being tracked: maybe a peer. */
struct peer_cand {
	u64 wait_ns; /* it ended waits of this length, summed */
	u64 cnt;
	u64 client_cnt; /* of these, by sending to a port that the woken one serves */
};

/*
 * A peer process that is only a client of a watched one: its states
 * are kept, its socket calls are not looked at.  Beside enum task_flags.
 */
#define TASKF_LIGHT (1u << 31)

/* A watched process, by tgid. */
struct proc_ent {
	u32 flags; /* enum task_flags, TASKF_LIGHT */
	/* low half, as /proc/PID/stat has it; another began later and got the number; 0: any */
	u32 start_ticks;
};

/*
 * What the socket calls of a thread leave behind.  Apart from struct thr, in an
 * array by thread id, because these calls are the most frequent of all and
 * finding a thread's storage would be a fifth of their cost.
 */
struct tio {
	u64 first_io;	/* first socket received from since the last wait */
	u64 last_io_ns; /* of the last call, or of the return from a wait for sockets */
	u64 stall_ns;
	u64 stall_max_ns;
	u32 stall_cnt;
	u32 polled;	/* nothing received since poll or epoll returned */
	s32 own_open;	/* requests read and not answered */
	u32 pad;
	u64 home_ns;	/* it last went to sleep waiting for sockets */
	u32 pad2[2];	/* to a cache line */
};
_Static_assert(sizeof(struct tio) == 64, "tio");

/* A TCP port that someone listens on. */
struct listen_key {
	u32 netns;
	u32 port;
};

#endif /* CONF_H */
