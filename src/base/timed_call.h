/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIMED_CALL_H
#define TIMED_CALL_H
/*
 * System calls that may never return, with a time limit.  Whoever reads
 * another process' mappings or memory waits for its mmap lock, which a thread
 * that is stuck in the kernel may hold; whoever opens a file waits for its
 * file system, which may be dead.  No signal but SIGKILL ends such a wait, and
 * some not even that: so a child process makes the call.  When it is not back
 * in time the child is killed and left behind, and the process that it was
 * about is not asked again.
 *
 *	timed_call_start (early: a fork is cheap while there is little memory)
 *	timed_call ... timed_call_hung (for the report)
 *
 * The child has the parent's rights and none of its descriptors.  It knows the
 * program as of timed_call_start: what a call needs goes with its arguments.
 *
 * Bounds: TIMED_CALL_NS for one call, TIMED_CALL_ALL_NS for all that were given
 * up on (then TIMED_CALL_LATE_NS for each), TIMED_CALL_LEFT_MAX children left
 * behind, after which nothing is asked any more.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define TIMED_CALL_ARGS_MAX 8192
#define TIMED_CALL_OUT_MAX (4 << 20)
/* A process that forks or maps memory holds the lock for milliseconds, a large one for 100. */
#define TIMED_CALL_NS UINT64_C(500000000)
#define TIMED_CALL_ALL_NS UINT64_C(2000000000)
#define TIMED_CALL_LATE_NS UINT64_C(20000000) /* also once a stop was asked for */
#define TIMED_CALL_LEFT_MAX 16

/*
 * Runs in the child.  Returns the number of bytes it put into out, or -errno;
 * a descriptor in *ret_fd goes to the parent and is closed in the child.
 */
typedef long timed_fn(const void *args, char *out, size_t cap, int *ret_fd);

struct timed_call {
	timed_fn *fn;
	uint32_t pid;	  /* the process that it is about, not asked again when it hangs; 0 none */
	const void *args; /* flat bytes, copied */
	size_t args_len;  /* at most TIMED_CALL_ARGS_MAX */
	struct buf *out;  /* what fn put out is appended; may be NULL */
	int *ret_fd;	  /* -1 when fn gave none; may be NULL */
};

/* Starts the child, with the priority of the caller.  Without it the first call does. */
void timed_call_start(void);

/* fn's return value; -ETIMEDOUT when it was given up on, now or before; -EAGAIN no child. */
long timed_call(const struct timed_call *c);

/* Processes given up on, oldest first: the idx'th, 0 behind the last. */
uint32_t timed_call_hung(size_t idx);

/* Ends a child without waiting for what the kernel does not let go of; reaps it if it can. */
void timed_call_end_child(int pid);

#endif /* TIMED_CALL_H */
