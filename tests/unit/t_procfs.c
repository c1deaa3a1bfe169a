/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collect/proc/procfs.h"
#include "unit.h"

#define STAT_TAIL " S 1 2 3 0 -1 2129920 10 11 12 13 14 15 16 17 20 0 1 0 12345 1000 55 rest"

TEST(procfs_stat_names)
{
	static const struct {
		const char *text, *comm;
	} rows[] = {
		{"7 (sh)" STAT_TAIL, "sh"},
		{"7 (a) R 9 (b)" STAT_TAIL, "a) R 9 (b"},
		{"7 ()" STAT_TAIL, ""},
		{"7 (((((()" STAT_TAIL, "((((("},
		{"7 (\x1b[31m\nx)" STAT_TAIL, "\x1b[31m\nx"},
		{"7 (a name longer than comm can be)" STAT_TAIL, "a name longer t"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct procfs_stat st;
		ROW(i);
		EQ_I(procfs_parse_stat(rows[i].text, &st), 0);
		EQ_S(st.comm, rows[i].comm);
		EQ_I(st.state, 'S');
		EQ_U(st.ppid, 1);
		EQ_U(st.thread_cnt, 1);
		EQ_U(st.flags, 2129920);
		OK(procfs_is_kthread(&st));
		EQ_U(st.min_flt, 10);
		EQ_U(st.maj_flt, 12);
		EQ_U(st.start_ticks, 12345);
		EQ_U(st.rss_pages, 55);
	}
}

TEST(procfs_stat_refuses)
{
	static const char *const rows[] = {
		"",
		"7",
		"7 (sh",
		"7 sh) S 1",
		")7 (",
		"7 (sh)",
		"7 (sh) ",
		"7 (sh) S",
		"7 (sh) S x 2 3",
		"7 (sh) S 1 2 3 0 -1 2129920 10 11 12 13 14 15 16 17 20 0 1 0 12345 1000",
		"7 (s) S 1 2 3 0 -1 999999999999999999999 10 11 12 13 14 15 16 17 20 0 1 0 1 1 5",
		"7 (sh) S 1 2 3 0 -1 2129920 10 11 12 13 14 15 16 17 20 0 1 0 12345 10zz 55",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct procfs_stat st = {.ppid = 77};
		ROW(i);
		EQ_I(procfs_parse_stat(rows[i], &st), -EINVAL);
		EQ_U(st.ppid, 77);
	}
}

/* Cut anywhere, a line is refused or read right: never read past its end. */
TEST(procfs_stat_cut_anywhere)
{
	const char *whole =
		"7 (na(me) S 1 2 3 0 -1 64 10 11 12 13 14 15 16 17 20 0 1 0 12345 1000 55";

	for (size_t len = 0; len < strlen(whole); len++) {
		char *part = malloc(len + 1); /* the sanitizer sees a read past it */
		struct procfs_stat st;
		ROW(len);
		OK(part);
		memcpy(part, whole, len);
		part[len] = '\0';
		int err = procfs_parse_stat(part, &st);
		OK(err == -EINVAL || len >= strlen(whole) - 1);
		free(part);
	}
}

TEST(procfs_status_keys)
{
	const char *text = "Name:\tTgid: 9\nTgidx:\t1\nTgid:\t4711\nVmSwap:\t   12 kB\n"
			   "Bad:\t-5\n"
			   "Big:\t18446744073709551616\nEnd:";
	uint64_t v = 0;

	EQ_I(procfs_parse_status(text, "Tgid", &v), 0);
	EQ_U(v, 4711);
	EQ_I(procfs_parse_status(text, "VmSwap", &v), 0);
	EQ_U(v, 12);
	EQ_I(procfs_parse_status(text, "Bad", &v), -EINVAL);
	EQ_I(procfs_parse_status(text, "Big", &v), -ERANGE);
	EQ_I(procfs_parse_status(text, "End", &v), -EINVAL);
	EQ_I(procfs_parse_status(text, "None", &v), -ENOENT);
	EQ_I(procfs_parse_status("", "None", &v), -ENOENT);
	EQ_U(v, 12);
}

TEST(procfs_numbers)
{
	uint64_t v = 5;
	const char *end;

	EQ_I(procfs_parse_u64("18446744073709551615x", UINT64_MAX, &v, &end), 0);
	EQ_U(v, UINT64_MAX);
	EQ_S(end, "x");
	EQ_I(procfs_parse_u64("18446744073709551616", UINT64_MAX, &v, NULL), -ERANGE);
	EQ_I(procfs_parse_u64("99999999999999999999999999", UINT64_MAX, &v, NULL), -ERANGE);
	EQ_I(procfs_parse_u64("256", 255, &v, NULL), -ERANGE);
	EQ_I(procfs_parse_u64("-1", 255, &v, NULL), -EINVAL);
	EQ_I(procfs_parse_u64("", 255, &v, NULL), -EINVAL);
	EQ_U(v, UINT64_MAX);
}

TEST(procfs_syscall_lines)
{
	struct procfs_syscall call = {0};

	EQ_I(procfs_parse_syscall("202 0x7f00 0x80 0x2 0x0 0x0 0xffffffff 0x7ffc 0x7f01",
				  &call), 0);
	EQ_I(call.nr, 202);
	EQ_U(call.args[0], 0x7f00);
	EQ_U(call.args[1], 0x80);
	EQ_U(call.args[5], 0xffffffff);
	EQ_U(call.sp, 0x7ffc);
	EQ_U(call.pc, 0x7f01);
	EQ_I(procfs_parse_syscall("202 0x7f00 0x80 0x2 0x0 0x0 0xffffffff\n", &call), 0);
	EQ_U(call.pc, 0);
	EQ_I(procfs_parse_syscall("running\n", &call), -EAGAIN);
	EQ_I(procfs_parse_syscall("-1 0x7ffc 0x7f01\n", &call), -ENODATA);
	EQ_I(procfs_parse_syscall("202 0x7f00 0x80\n", &call), -EINVAL);
	EQ_I(procfs_parse_syscall("202 0x 0x80 0x0 0x0 0x0 0x0", &call), -EINVAL);
	EQ_I(procfs_parse_syscall("202 0x11111111111111111 0x8 0x0 0x0 0x0 0x0", &call), -EINVAL);
	EQ_I(procfs_parse_syscall("99999999999 0x1 0x1 0x1 0x1 0x1 0x1", &call), -EINVAL);
	EQ_I(procfs_parse_syscall("", &call), -EINVAL);
	EQ_I(call.nr, 202);
}

TEST(procfs_of_this_process)
{
	struct procfs_stat st;
	char comm[PROCFS_COMM_LEN], exe[64];
	uint32_t self = (uint32_t)getpid();

	EQ_I(procfs_stat(self, &st), 0);
	EQ_U(st.ppid, (uint32_t)getppid());
	OK(!procfs_is_kthread(&st));
	EQ_U(procfs_tgid(self), self);
	procfs_comm(self, comm);
	EQ_S(comm, st.comm);
	OK(strlen(procfs_exe(self, exe, sizeof(exe))) > 0);
	OK(procfs_ns(self, "net") != 0);
	uint64_t here = UINT64_C(0x1122334455667788), there = 0;
	long got = procfs_read_mem(self, (uint64_t)(uintptr_t)&here, &there, sizeof(there));
	if (got == (long)sizeof(there))
		EQ_U(there, here);
	else
		EQ_I(got, -EPERM);
	OK(procfs_read_mem(self, 1, &there, sizeof(there)) < 0);
	EQ_I(procfs_stat(UINT32_MAX, &st), -ESRCH);
	EQ_U(procfs_tgid(UINT32_MAX), 0);
}
