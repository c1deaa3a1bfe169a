/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/target/guard.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/rights.h"

#define NICE_RAISED (-20)
#define RAM_SHARE 16

static int nice_raise(void)
{
	struct sched_attr a = {
		.size = sizeof(a),
		.sched_policy = SCHED_NORMAL,
		.sched_flags = SCHED_FLAG_RESET_ON_FORK,
		.sched_nice = NICE_RAISED,
	};

	return syscall(SYS_sched_setattr, 0, &a, 0) < 0 ? -errno : 0;
}

/* With a limit on locked memory further allocations would fail at it. */
static bool may_lock(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
	struct rlimit lock;

	if (getrlimit(RLIMIT_MEMLOCK, &lock) == 0 && lock.rlim_cur == RLIM_INFINITY)
		return true;
	return syscall(SYS_capget, &head, data) == 0 &&
	       data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK);
}

static uint64_t lock_max(void)
{
	uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return ram / RAM_SHARE < GUARD_LOCK_MAX ? ram / RAM_SHARE : GUARD_LOCK_MAX;
}

static uint64_t resident_bytes(void)
{
	CLEANUP_FCLOSE FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long total, pages;

	if (!file || fscanf(file, "%llu %llu", &total, &pages) != 2)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void guard_raise(void)
{
	int rc;

	errno = 0;
	rc = getpriority(PRIO_PROCESS, 0) == 0 && !errno ? nice_raise() : -EALREADY;
	if (rc < 0)
		log_debug("priority is left as it is: %s", strerror(-rc));
	if (!may_lock() || resident_bytes() > lock_max())
		log_debug("memory is not locked: no right, or it is too large");
	else if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0)
		log_debug("memory is not locked: %s", strerror(errno));
}

uint64_t guard_rights(void)
{
	struct rlimit lock, none = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};

	if (setrlimit(RLIMIT_MEMLOCK, &none) == 0 ||
	    (getrlimit(RLIMIT_MEMLOCK, &lock) == 0 && lock.rlim_cur == RLIM_INFINITY))
		return RIGHTS_NONE;
	return rights_of_locking(); /* without it the next allocation could fail at the limit */
}

void guard_check(void)
{
	if (resident_bytes() > lock_max())
		munlockall();
}

void guard_drop(void)
{
	/* not as it was raised: without the right its flag stays, which is for children of then */
	if (getpriority(PRIO_PROCESS, 0) == NICE_RAISED)
		setpriority(PRIO_PROCESS, 0, 0);
	munlockall();
}
