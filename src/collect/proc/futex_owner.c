/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/proc/futex_owner.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <sys/syscall.h>

#include "collect/proc/procfs.h"

#define OWNER_OFF 8 /* struct __pthread_mutex_s: __lock, __count, __owner */

struct futex_call {
	uint64_t uaddr;
	bool pi;
	bool private;
};

static bool futex_of_call(const struct procfs_syscall *call, struct futex_call *ret_futex)
{
	unsigned op;

	if (call->nr != SYS_futex)
		return false;
	op = (unsigned)call->args[1] & (unsigned)FUTEX_CMD_MASK;
	*ret_futex = (struct futex_call){
		.uaddr = call->args[0],
		.pi = op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2,
		.private = call->args[1] & FUTEX_PRIVATE_FLAG,
	};
	return ret_futex->pi || op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET;
}

/* The number is of the pid namespace that the process lives in. */
static uint32_t raw_owner(uint32_t tgid, const struct futex_call *futex)
{
	uint32_t words[3]; /* lock, count, owner */

	if (futex->pi) {
		if (procfs_read_mem(tgid, futex->uaddr, words, sizeof(words[0])) !=
		    sizeof(words[0]))
			return 0;
		return words[0] & FUTEX_TID_MASK;
	}
	if (futex->uaddr > UINT64_MAX - sizeof(words) ||
	    procfs_read_mem(tgid, futex->uaddr, words, sizeof(words)) != sizeof(words))
		return 0;
	_Static_assert(OWNER_OFF == 2 * sizeof(words[0]), "third word");
	/* a contended glibc mutex has 2 in its word (1 before the first waiter marked it) */
	return words[0] == 1 || words[0] == 2 ? words[2] : 0;
}

uint32_t owner_of_futex(uint32_t tgid, uint32_t tid)
{
	struct procfs_syscall call;
	struct futex_call futex;

	if (procfs_syscall(tid, &call) < 0 || !futex_of_call(&call, &futex))
		return 0;
	uint32_t inner = raw_owner(tgid, &futex);
	if (inner == 0 || inner > INT32_MAX)
		return 0;
	uint32_t owner = procfs_tid_from_ns(tgid, inner);
	if (owner == tid)
		return 0; /* it cannot hold what it waits for: not a mutex */
	if (owner)
		return owner;
	/*
	 * Not a thread of the waiter's process: only a futex without the
	 * private flag can be held by another one, and only in the same
	 * namespace does its number mean anything to us.
	 */
	if (futex.private || procfs_ns_tid(tgid) != 0)
		return 0;
	return procfs_tgid(inner) ? inner : 0;
}
