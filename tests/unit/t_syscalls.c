/* SPDX-License-Identifier: Apache-2.0 */
#include "base/syscalls.h"

#include <errno.h>
#include <sys/syscall.h>

#include "unit.h"

TEST(syscalls_are_those_of_the_machine)
{
	static const struct {
		const char *name;
		int nr;
	} rows[] = {
		{"read", SYS_read},
		{"futex", SYS_futex},
		{"epoll_pwait", SYS_epoll_pwait},
		{"openat2", SYS_openat2},
		{"exit_group", SYS_exit_group},
		{"futex_wait", 455},
		{"mseal", 462},
		{"reads", -ENOENT},
		{"rea", -ENOENT},
		{"", -ENOENT},
		{"syscalls", -ENOENT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ROW(i);
		EQ_I(syscall_number(rows[i].name, strlen(rows[i].name)), rows[i].nr);
		if (rows[i].nr >= 0)
			EQ_S(syscall_name((unsigned)rows[i].nr), rows[i].name);
	}
	EQ_I(syscall_number("readv", 4), SYS_read);
	EQ_S(syscall_name(SYSCALL_MAX), NULL);
	EQ_S(syscall_name(~0u), NULL);
}

/* No two have one number, and hardly a number below the newest has none. */
TEST(syscalls_are_all_there)
{
	unsigned cnt = 0;

	for (unsigned nr = 0; nr < SYSCALL_MAX; nr++) {
		const char *name = syscall_name(nr);

		ROW(nr);
		if (!name)
			continue;
		cnt++;
		EQ_I(syscall_number(name, strlen(name)), (int)nr);
	}
	OK(cnt > 300);
}
