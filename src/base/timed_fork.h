/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIMED_FORK_H
#define TIMED_FORK_H
/*
 * One piece of work that may never return, such as writing to a file system that
 * is dead or frozen: in a child made for it, with a time limit.  The child sees
 * the caller's memory as it is now and changes none of it.  For many small
 * questions about other processes: timed_call.h.
 *
 * Of the descriptors the child keeps those that a program it started would have:
 * what heldup has in the kernel does not stay because a child does.
 *
 * Bounds: the caller's limit; TIMED_FORK_STOP_NS from a stop on that is asked for
 * meanwhile.  A further signal ends the program as always: the caller waits in
 * poll, not in the kernel's hands.
 */
#include <stdint.h>

struct err;

#define TIMED_FORK_LOOK_NS UINT64_C(5000000000)	  /* for a look at what is there */
#define TIMED_FORK_WRITE_NS UINT64_C(20000000000) /* for 30 MB on a disk that is busy */
#define TIMED_FORK_STOP_NS UINT64_C(500000000)

/* Runs in the child; what is set in err reaches the caller.  talk is for _unlimited. */
typedef int timed_fork_fn(const void *ctx, int talk, struct err *err);

/*
 * What fn returns.  What was printed is shown before.  -ETIMEDOUT when it was given
 * up on, by then the child is killed or left behind.  Where no child can be made fn
 * is called here.
 */
int timed_fork(timed_fork_fn *fn, const void *ctx, uint64_t limit_ns, struct err *err);

/* For fn: what comes now may take as long as it likes (a pipe that is read slowly). */
void timed_fork_unlimited(int talk);

#endif /* TIMED_FORK_H */
