/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KINDS_H
#define KINDS_H
/*
 * Numbers that the BPF side, the capture file and the analysis share.
 * Values are on disk: append only, never renumber.
 *
 * A thread is, at each instant, in exactly one of: running, runnable
 * (waiting for a CPU), or waiting in one class of enum wait_class.
 */
#include "wire/wait_classes.h"

/* A wait of this length or more is always recorded whole: off CPU until it runs again. */
#define WAIT_LONG_NS 1000000ull

/* Which side of a blocking call, for WAIT_SOCKET, WAIT_PIPE and WAIT_FILE. */
enum wait_op {
	WAIT_OP_NONE = 0,
	WAIT_OP_READ = 1,  /* read, recv */
	WAIT_OP_WRITE = 2, /* write, send */
	WAIT_OP_ACCEPT = 3,
	WAIT_OP_CONNECT = 4,
	WAIT_OP_LOCK_PI = 5,
	WAIT_OP_REQUEUE = 6, /* futex_wait_requeue_pi */
	WAIT_OP_WAITV = 7
};

/* In which context the waker ran. */
enum waker_ctx {
	WAKER_NONE = 0,	   /* not known: asleep, preempted, or seen before start */
	WAKER_TASK = 1,	   /* the task current was woken by is the cause */
	WAKER_NET = 2,	   /* softirq, network receive: current is unrelated unless local */
	WAKER_TIMER = 3,   /* a timer ran out */
	WAKER_BLOCK = 4,   /* completion of block I/O */
	WAKER_IRQ = 5,	   /* another interrupt */
	WAKER_SELF = 6,	   /* signal or timer armed by itself */
	WAKER_CTX_CNT
};

enum wait_flags {
	WAITF_PREEMPTED = 1 << 0,  /* did not sleep: off_ns..end is all run queue */
	WAITF_IOWAIT = 1 << 1,	   /* in_iowait was set */
	WAITF_UNINT = 1 << 2,	   /* uninterruptible (state D) */
	WAITF_TIMEOUT_ARG = 1 << 3,/* the call carried a timeout */
	WAITF_PENDING = 1 << 4,	   /* still waiting when the window ended */
	WAITF_BEFORE_START = 1 << 5, /* began before the observation */
	WAITF_EXITED = 1 << 6,	   /* the thread ended; end is its exit */
	WAITF_PEER_CTX = 1 << 7,   /* WAKER_NET, and the current task was the local sender */
	WAITF_SYNC_FILE = 1 << 8,  /* the file is open with O_SYNC or O_DSYNC */
	WAITF_DIRECT = 1 << 9,	   /* the file is open with O_DIRECT */
	WAITF_CUT = 1 << 10,	   /* of old captures: what ended it was not watched */
};

/* Kind of a resource. The kernel side makes its id. */
enum res_kind {
	RES_NONE = 0,
	RES_FUTEX = 1,
	RES_PIPE = 2,	/* anonymous pipe or FIFO */
	RES_SOCKET = 3,
	RES_EPOLL = 4,
	RES_POLLSET = 5,
	RES_FILE = 6,	/* regular file or directory */
	RES_CHARDEV = 7,
	RES_DISK = 8,
	RES_EVENTFD = 9,/* any anonymous inode file: see label */
	RES_TIMER = 10,
	RES_CHILD = 11,
	RES_KLOCK = 12,
	RES_MEMORY = 13,
	RES_CPU = 14,
	RES_IOURING = 15,
	RES_SYSV = 16,
	RES_KIND_CNT
};

/* Which end of a conversation a socket is, seen from the watched process. */
enum sock_role {
	ROLE_UNKNOWN = 0,
	ROLE_SERVER = 1, /* accepted, or bound datagram: requests come in here */
	ROLE_CLIENT = 2, /* connected by us: requests go out here */
	ROLE_LISTEN = 3,
	ROLE_PAIR = 4	 /* socketpair: inside the application */
};

/*
 * Why a turn has its own record: it took long, or to compare others with.  REST: its
 * answer went on after the first part, when it counted as open no longer.
 */
enum turn_flags { TURNF_SLOW = 1, TURNF_SAMPLE = 2, TURNF_REST = 4 };

/* task_op: why a task record was sent */
enum task_op { TASK_SEEN = 1, TASK_FORK = 2, TASK_EXEC = 3, TASK_EXIT = 4 };

enum task_flags {
	TASKF_KTHREAD = 1 << 0,
	TASKF_USER_WORKER = 1 << 1, /* io_uring and vhost workers */
	TASKF_TARGET = 1 << 2,	    /* chosen by the user */
	TASKF_PEER = 1 << 3,	    /* a peer process */
	TASKF_WATCHER = 1 << 4,	    /* heldup, this one or another */
};

/*
 * What is left out of short waits and of requests, to keep the cost down; each
 * but the first for some slices of time is whole in between.
 */
enum shed {
	SHED_STACKS = 1 << 0,	/* no stacks of waits under WAIT_LONG_NS */
	SHED_WAKERS = 1 << 1,	/* ... no wakers */
	SHED_TIMING = 1 << 2,	/* requests of TCP sockets counted, timed to some ms only */
	SHED_SHORT = 1 << 3,	/* waits under it not recorded: only in the threads' sums */
};
#define SHED_BIT_CNT 4

#endif /* KINDS_H */
