/* SPDX-License-Identifier: Apache-2.0 */
#include "base/syscalls.h"

#include <asm/unistd.h>
#include <errno.h>
#include <string.h>

/* Newer than the oldest headers we build with; the same numbers everywhere. */
static const char *const newer[] = {
	[451] = "cachestat", "fchmodat2", "map_shadow_stack", "futex_wake", "futex_wait",
	"futex_requeue", "statmount", "listmount", "lsm_get_self_attr", "lsm_set_self_attr",
	"lsm_list_modules", "mseal", "setxattrat", "getxattrat", "listxattrat", "removexattrat",
	"open_tree_attr", "file_getattr", "file_setattr",
};

static const char *const names[] = {
#define CALL(name) [__NR_##name] = #name,
#include "syscalls.inc"
};

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

_Static_assert(CNT(names) <= SYSCALL_MAX && CNT(newer) <= SYSCALL_MAX, "numbers");

const char *syscall_name(unsigned nr)
{
	const char *name = nr < CNT(names) ? names[nr] : NULL;

	return !name && nr < CNT(newer) ? newer[nr] : name;
}

int syscall_number(const char *name, size_t len)
{
	for (unsigned nr = 0; nr < SYSCALL_MAX; nr++) {
		const char *own = syscall_name(nr);

		if (own && strncmp(own, name, len) == 0 && own[len] == '\0')
			return (int)nr;
	}
	return -ENOENT;
}
