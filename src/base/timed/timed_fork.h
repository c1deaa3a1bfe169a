/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIMED_FORK_H
#define TIMED_FORK_H
/*
 * One job that may never return, such as writing to a file system that
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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define TIMED_FORK_LOOK_NS UINT64_C(5000000000)	  /* for a look at what is there */
#define TIMED_FORK_WRITE_NS UINT64_C(20000000000) /* for 30 MB on a disk that is busy */
#define TIMED_FORK_STOP_NS UINT64_C(500000000)
/* A stop ends a watch, too, whose capture is to be completed on a disk that is slow. */
#define TIMED_WORKER_STOP_NS UINT64_C(5000000000)

/* Runs in the child; what is set in err reaches the caller.  talk is for _unlimited. */
typedef int timed_fork_fn(const void *ctx, int talk, struct err *err);

/*
 * What fn returns.  What was printed is shown before.  -ETIMEDOUT when it was given
 * up on, by then the child is killed or left behind.  Where no child can be made fn
 * is called here.
 */
int timed_fork(timed_fork_fn *fn, const void *ctx, uint64_t limit_ns, struct err *err);

/* For fn: what comes from now on may take as long as it likes (a pipe that is read slowly). */
void timed_fork_unlimited(int talk);

/*
 * The same child for one job after another, such as a file that is written bit by
 * bit: what fn opens stays its own.  It keeps no capability but those to read and
 * write what a user names.  One that did not answer in time is not asked again.
 *
 *	timed_worker_new, timed_worker_ask ... timed_worker_free
 */
struct timed_worker;

struct timed_job {
	unsigned op;	  /* what the caller and fn agreed on */
	void *data;	  /* the worker's shared memory */
	size_t len;	  /* of it */
	int talk;
};

/* Runs in the child, with the child's own copy of ctx. */
typedef int timed_worker_fn(void *ctx, const struct timed_job *job, struct err *err);

/* In the caller's process where is_here, or where no child can be made. */
struct timed_worker *timed_worker_new(timed_worker_fn *fn, void *ctx, size_t shared_bytes,
				      bool is_here);

/* Memory for a job's data, written before timed_worker_ask: shared_bytes. */
void *timed_worker_shared(struct timed_worker *w);

/*
 * Returns what fn returns; -ETIMEDOUT when it, or a job before it, was given up on;
 * -EIO: it died.
 */
int timed_worker_ask(struct timed_worker *w, unsigned op, size_t len, uint64_t limit_ns,
		     struct err *err);

/* A job was given up on: its file system had better not be asked. */
bool timed_worker_is_silent(const struct timed_worker *w);

/* NULL is fine.  Ends the child; fn is not called for it. */
void timed_worker_free(struct timed_worker *w);

#endif /* TIMED_FORK_H */
