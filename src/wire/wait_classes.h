/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef WAIT_CLASSES_H
#define WAIT_CLASSES_H
/*
 * The wait classes, a row each.  A thread that sleeps is in exactly one.
 *
 *	id		WAIT_id
 *	value		on disk: append only, never renumber
 *	name		in tables and JSON
 *	resource	what is waited for where the kernel side says no more, enum res_kind
 *	cause		where the wait ends whoever woke it, enum cause_kind; CAUSE_CNT: ask
 *			the waker
 *	group		how `heldup top` shows it, enum view_group
 *	metric, object	METRIC_wait_time and METRIC_wait_count, thread x OBJECT
 *	traits		WAITC_*
 *	holder		words for a holder of a lock that waits so; NULL none
 *
 * A user of a column includes what has its names; the others are not looked at.
 *
 * To add one: its row here; src/bpf/classify.c for the system calls or marks that it is
 * known by (which call is of which kind: src/collect/live/live_calls.c); its two names in
 * enum metric_id of src/waits/metrics/metrics.c, where they are to be shown.  The unit tests
 * wait_classes_* and metrics_are_all_in_the_docs say what was forgotten.
 */

enum wait_trait {
	WAITC_LOCK = 1 << 0,	/* may be a wait for a lock */
	WAITC_WORK = 1 << 1,	/* a thread may be given work so */
	WAITC_LATCH = 1 << 2,	/* another thread's signal ends it: a hand-off or a lock */
	WAITC_SERVED = 1 << 3,	/* a process may serve what is waited for */
	WAITC_FORCED = 1 << 4,	/* the thread is made to wait, wherever it is: in no call */
	WAITC_KEYED = 1 << 5,	/* the first argument of its call is what is waited for */
};

#define WAIT_CLASSES(X)                                                                           \
	/* a sleep that no rule below explains */                                                 \
	X(OTHER, 0, "other", RES_NONE, CAUSE_CNT, VG_OTHER, "other", "resource", 0, NULL)         \
	/* any futex operation, also PI, waitv, futex2 */                                         \
	X(FUTEX, 1, "futex", RES_FUTEX, CAUSE_CNT, VG_LOCK, "futex", "futex",                     \
	  WAITC_LOCK | WAITC_WORK | WAITC_LATCH, "waiting on another futex")                      \
	/* read and write of a pipe, FIFO or character device */                                  \
	X(PIPE, 2, "pipe", RES_PIPE, CAUSE_CNT, VG_NET, "pipe", "file",                           \
	  WAITC_WORK | WAITC_KEYED, "waiting on a pipe")                                          \
	/* recv, send, accept, connect */                                                         \
	X(SOCKET, 3, "socket", RES_SOCKET, CAUSE_CNT, VG_NET, "socket", "socket",                 \
	  WAITC_WORK | WAITC_KEYED, "waiting on a socket")                                        \
	X(EPOLL, 4, "epoll", RES_EPOLL, CAUSE_CNT, VG_POLL, "epoll", "epoll",                     \
	  WAITC_WORK | WAITC_LATCH | WAITC_KEYED, "asleep in epoll")                              \
	/* poll, select */                                                                        \
	X(POLL, 5, "poll", RES_POLLSET, CAUSE_CNT, VG_POLL, "poll", "poll set",                   \
	  WAITC_WORK | WAITC_LATCH, "asleep in poll")                                             \
	/* nanosleep, clock_nanosleep */                                                          \
	X(TIMER, 6, "timer", RES_TIMER, CAUSE_TIMER, VG_TIMER, "timer", "resource", 0,            \
	  "sleeping on a timer")                                                                  \
	/* wait4, waitid, vfork */                                                                \
	X(CHILD, 7, "child", RES_CHILD, CAUSE_CNT, VG_OTHER, "child", "resource", WAITC_WORK,     \
	  "waiting for a child process")                                                          \
	/* reading or writing a file: its block device */                                         \
	X(FILE, 8, "file", RES_FILE, CAUSE_DISK, VG_DISK, "file", "file",                         \
	  WAITC_SERVED | WAITC_KEYED, "waiting for the disk")                                     \
	/* fsync family, O_SYNC write, journal commit */                                          \
	X(FSYNC, 9, "fsync", RES_FILE, CAUSE_FSYNC, VG_DISK, "fsync", "file",                     \
	  WAITC_SERVED | WAITC_KEYED, "in fsync")                                                 \
	/* page fault: no system call active */                                                   \
	X(FAULT, 10, "fault", RES_MEMORY, CAUSE_MEMORY, VG_MEM, "fault", "resource",              \
	  WAITC_SERVED | WAITC_FORCED, "waiting for a page")                                      \
	/* inside direct reclaim */                                                               \
	X(RECLAIM, 11, "reclaim", RES_MEMORY, CAUSE_MEMORY, VG_MEM, "reclaim_sleep", "resource",  \
	  0, "freeing memory")                                                                    \
	/* kernel mutex, rwsem, ... (lock:contention_begin) */                                    \
	X(KLOCK, 12, "klock", RES_KLOCK, CAUSE_CNT, VG_LOCK, "klock", "kernel lock", WAITC_LOCK,  \
	  "waiting for a kernel lock")                                                            \
	X(IOURING, 13, "iouring", RES_IOURING, CAUSE_CNT, VG_POLL, "iouring", "ring",             \
	  WAITC_WORK | WAITC_KEYED, NULL)                                                         \
	/* io_getevents */                                                                        \
	X(AIO, 14, "aio", RES_NONE, CAUSE_DISK, VG_DISK, "aio", "resource", WAITC_WORK, NULL)     \
	/* flock, fcntl locks */                                                                  \
	X(FLOCK, 15, "flock", RES_FILE, CAUSE_CNT, VG_LOCK, "flock", "file",                      \
	  WAITC_LOCK | WAITC_KEYED, "waiting for a file lock")                                    \
	/* semop, msgrcv, msgsnd, mq_* */                                                         \
	X(SYSV, 16, "sysv", RES_SYSV, CAUSE_CNT, VG_LOCK, "sysv", "resource",                     \
	  WAITC_LOCK | WAITC_WORK | WAITC_LATCH, NULL)                                            \
	/* pause, sigsuspend, sigtimedwait */                                                     \
	X(SIGNAL, 17, "signal", RES_NONE, CAUSE_CNT, VG_OTHER, "signal", "resource",              \
	  WAITC_WORK | WAITC_LATCH, NULL)                                                         \
	/* stopped or traced */                                                                   \
	X(STOPPED, 18, "stopped", RES_NONE, CAUSE_STOPPED, VG_OTHER, "stopped", "resource",       \
	  WAITC_FORCED, "stopped")                                                                \
	/* read of eventfd, timerfd, signalfd, inotify */                                         \
	X(EVENT, 19, "event", RES_EVENTFD, CAUSE_CNT, VG_POLL, "event", "file",                   \
	  WAITC_WORK | WAITC_KEYED, NULL)                                                         \
	/* a kernel thread with nothing to do */                                                  \
	X(KIDLE, 20, "kidle", RES_NONE, CAUSE_IDLE, VG_OTHER, "kidle", "resource", WAITC_FORCED,  \
	  NULL)                                                                                   \
	/* writer held back by balance_dirty_pages */                                             \
	X(DIRTY, 21, "dirty", RES_NONE, CAUSE_DISK, VG_DISK, "dirty", "resource", 0,              \
	  "held back as a writer")                                                                \
	/* dequeued by the cgroup's CPU quota */                                                  \
	X(THROTTLE, 22, "throttle", RES_CPU, CAUSE_RUNQ_QUOTA, VG_RUNQ, "throttle", "cpu",        \
	  WAITC_FORCED, "out of CPU quota")

#define WAIT_CLASS_ENUM(id, value, ...) WAIT_##id = (value),

enum wait_class { WAIT_CLASSES(WAIT_CLASS_ENUM) WAIT_CLASS_CNT };

#undef WAIT_CLASS_ENUM

#endif /* WAIT_CLASSES_H */
