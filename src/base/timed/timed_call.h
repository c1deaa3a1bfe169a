/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIMED_CALL_H
#define TIMED_CALL_H
/*
 * System calls that may never return, with a time limit, or for which this
 * process has no rights any more.  Whoever reads another process' mappings or
 * memory waits for its mmap lock, which a thread that is stuck in the kernel may
 * hold; whoever opens a file waits for its file system, which may be dead.  No
 * signal but SIGKILL ends such a wait, and some not even that: so a child process,
 * the *reader*, makes the call.  When it is not back in time it is killed and left
 * behind, and the process that the call was about is not asked again.
 *
 *	timed_call_start (early: a fork is cheap while there is little memory)
 *	timed_call ... timed_call_hung, timed_call_losses (for the report)
 *
 * What can be asked for is a table of operations, by number: whoever takes this
 * process over can have the reader do these and nothing else.  Readers are started
 * by a process of their own, the *keeper* (timed_call_int.h), with the rights that
 * this one had at timed_call_start, whatever it has given away since.
 *
 * Bounds: TIMED_CALL_NS for one call, TIMED_CALL_ALL_NS for all that were given
 * up on (then TIMED_CALL_LATE_NS for each), TIMED_CALL_LEFT_MAX readers left
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
 * Runs in the reader.  Returns the number of bytes it put into out, or -errno;
 * a descriptor in *ret_fd goes to the parent and is closed in the child.  args
 * may hold anything: it has the length that the table asks for, and a NUL behind.
 */
typedef long timed_fn(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd);

struct timed_op {
	timed_fn *fn;
	uint32_t args_min, args_max; /* bytes; no more than TIMED_CALL_ARGS_MAX */
};

struct timed_ops {
	const struct timed_op *list;
	uint32_t cnt;
	void (*confine)(void); /* in the keeper, before there is a reader; NULL: nothing */
};

struct timed_call {
	const struct timed_ops *ops; /* the same for all calls: readers have it from their start */
	uint32_t op;
	uint32_t pid;	  /* the process that it is about, not asked again when it hangs; 0 none */
	const void *args; /* flat bytes, copied */
	size_t args_len;
	struct buf *out;  /* what fn put out is appended; may be NULL */
	int *ret_fd;	  /* -1 when fn gave none; may be NULL */
};

/* Starts the keeper, with the priority of the caller.  Without it the first call does. */
void timed_call_start(const struct timed_ops *ops);

/* fn's return value; -ETIMEDOUT when it was given up on, now or before; -EAGAIN no child. */
long timed_call(const struct timed_call *c);

/* Processes given up on, oldest first: the idx'th, 0 behind the last. */
uint32_t timed_call_hung(size_t idx);

/* Which calls are the reader's that cannot hang: noted here for those who ask. */
enum timed_apart {
	APART_NOT,    /* none: this process has the rights */
	APART_RIGHTS, /* those that need rights */
	APART_ALL,    /* all: without rights nothing of others is seen */
};
void timed_call_set_apart(enum timed_apart apart);
enum timed_apart timed_call_apart(void);

struct timed_losses {
	uint32_t died_cnt;   /* readers that ended by themselves: another took over */
	uint32_t keeper_cnt; /* keepers that did: the next has the rights of now only */
	uint32_t bound_cnt;  /* calls that answered -EDQUOT: over a bound of the readers */
};
struct timed_losses timed_call_losses(void);

/* CPU time that the readers took so far; of one that ended what it had when last asked. */
uint64_t timed_call_cpu_ns(void);

/* Ends a child without waiting for what the kernel does not let go of; reaps it if it can. */
void timed_call_end_child(int pid);

#endif /* TIMED_CALL_H */
