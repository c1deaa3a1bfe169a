/* SPDX-License-Identifier: Apache-2.0 */
/* What whoever took the parent over could ask the readers for: each operation is called itself. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/rights.h"
#include "base/timed/timed_call.h"
#include "reads/ops.h"
#include "reads/reads.h"
#include "unit.h"

static long file_of(const char *name, char *out, size_t cap)
{
	struct read_file a = {.tid = (uint32_t)getpid(), .max = UINT32_MAX};
	int fd = -1;

	memset(a.name, 'x', sizeof(a.name)); /* nothing ends it but the name itself */
	memcpy(a.name, name, strlen(name) + 1 < sizeof(a.name) ? strlen(name) + 1
							       : sizeof(a.name));
	a.name[sizeof(a.name) - 1] = '\0';
	return op_file(&a, sizeof(a), out, cap, &fd);
}

TEST(reads_hand_out_files_of_the_list)
{
	static const char *const good[] = {"stat", "status", "comm", "cgroup", "fdinfo/0",
					   "net/tcp"};
	static const char *const bad[] = {
		"", "environ", "mem", "maps", "stat/", "statx", "fdinfo/", "fdinfo/0/", "fdinfo/#",
		"fdinfo/../environ", "net/../environ", "net/", "../1/environ", "task/1/environ",
		"fdinfo/12345678901",
	};
	char text[65536];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ROW(i);
		OK(file_of(good[i], text, sizeof(text)) > 0);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ROW(i);
		EQ_I(file_of(bad[i], text, sizeof(text)), -EINVAL);
	}
}

static long in_root(uint32_t what, const char *path)
{
	struct open_in_root a = {.what = what};
	char out[16];
	int fd = -1;
	long rc;

	snprintf(a.path, sizeof(a.path), "%s", path);
	rc = op_in_root(&a, sizeof(a), out, sizeof(out), &fd);
	OK((rc == 0) == (fd >= 0));
	if (fd >= 0) {
		EQ_I(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
		close(fd);
	}
	return rc;
}

TEST(reads_open_no_other_files)
{
	char map[64];
	FILE *f;

	EQ_I(in_root(OPEN_ELF, "/bin/sh"), 0);
	EQ_I(in_root(OPEN_ELF, "/etc/passwd"), -ENOEXEC);
	EQ_I(in_root(OPEN_ELF, "/dev/zero"), -EINVAL);
	EQ_I(in_root(OPEN_ELF, "/proc/self/exe"), -ELOOP);
	EQ_I(in_root(OPEN_PERF_MAP, "/etc/passwd"), -EINVAL);
	EQ_I(in_root(OPEN_PERF_MAP, "/tmp/perf-1.map/../../etc/passwd"), -EINVAL);
	EQ_I(in_root(OPEN_PACKAGES, "/root"), -EINVAL);
	EQ_I(in_root(77, "/bin/sh"), -EINVAL);
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(map, "we");
	OK(f);
	fclose(f);
	EQ_I(in_root(OPEN_PERF_MAP, map), 0);
	unlink(map);
	EQ_I(symlink("/etc/passwd", map), 0);
	EQ_I(in_root(OPEN_PERF_MAP, map), -ELOOP);
	unlink(map);
}

TEST(reads_refuse_arguments_of_other_lengths)
{
	struct read_mem mem = {.tid = (uint32_t)getpid()};

	for (uint32_t op = 0; op < READ_OP_CNT + 2; op++) {
		struct timed_call shorter = {.ops = &read_ops, .op = op, .args = &mem,
					     .args_len = 1};
		struct timed_call longer = {.ops = &read_ops, .op = op, .args = &read_ops,
					    .args_len = TIMED_CALL_ARGS_MAX + 1};

		ROW(op);
		EQ_I(timed_call(&shorter), -EINVAL);
		EQ_I(timed_call(&longer), -E2BIG);
	}
	EQ_U(timed_call_losses().died_cnt, 0);
}

TEST(reads_mem_of_the_kernels_half)
{
	char bytes[8];

	EQ_I(reads_mem((uint32_t)getpid(), (uint32_t)getpid(), UINT64_MAX - 4096, bytes, 8),
	     -EFAULT);
}

/* With and without rights of one's own the same comes back. */
TEST(reads_apart_are_the_same)
{
	uint32_t parent = (uint32_t)getppid();
	char before[4096] = "", after[4096] = "", text[512];
	struct buf ids = {0}, fds = {0};
	uint64_t ns;

	if (geteuid() != 0)
		SKIP("not root");
	reads_start();
	EQ_I(reads_exe(parent, before, sizeof(before)), 0);
	ns = reads_ns(parent, "net");
	OK(reads_fds(parent, 1000, &fds) >= (long)sizeof(struct read_fds_out));
	EQ_I(rights_keep(RIGHTS_NONE), 0);
	reads_apart();
	snprintf(text, sizeof(text), "/proc/%u/exe", parent);
	OK(readlink(text, after, sizeof(after)) < 0); /* who has rights is out of reach */
	EQ_I(reads_exe(parent, after, sizeof(after)), 0);
	EQ_S(after, before);
	EQ_U(reads_ns(parent, "net"), ns);
	OK(ns);
	OK(reads_file(parent, "syscall", text, sizeof(text)) > 0);
	buf_clear(&fds);
	OK(reads_fds(parent, 1000, &fds) >= (long)sizeof(struct read_fds_out));
	OK(reads_ids(parent, &ids) >= (long)sizeof(uint32_t));
	OK(reads_open_in_root(parent, OPEN_ELF, "/bin/sh") >= 0);
	OK(reads_open_diag(parent) >= 0);
	buf_release(&ids);
	buf_release(&fds);
}

/* A process that waits to be killed. */
static pid_t sleeper(void)
{
	pid_t self = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == self)
			pause();
		_exit(0);
	}
	return pid;
}

static long mem_of(pid_t pid)
{
	static const char text[] = "here";
	char got[sizeof(text)] = "";
	uint64_t at = (uint64_t)(uintptr_t)text;
	long rc = reads_mem((uint32_t)pid, (uint32_t)pid, at, got, sizeof(got));

	return rc == sizeof(got) && strcmp(got, text) == 0 ? 1 : rc;
}

/* Each of the cases runs in a process of its own: nothing opens the bound again. */
TEST(reads_are_bound_to_those_chosen)
{
	pid_t chosen = sleeper(), other = sleeper(), third = sleeper(), late;
	uint32_t tgids[] = {(uint32_t)chosen}, ticks[] = {0};
	struct reads_bound b = {tgids, ticks, 1, 1};

	if (geteuid() != 0)
		SKIP("not root");
	reads_start();
	EQ_I(mem_of(third), 1); /* before there is a bound */
	reads_bind(&b);
	EQ_I(mem_of(chosen), 1);
	EQ_I(mem_of(other), 1); /* the one beside */
	EQ_I(mem_of(third), -EDQUOT);
	EQ_I(mem_of(other), 1);
	EQ_U(timed_call_losses().bound_cnt, 1);
	tgids[0] = (uint32_t)third; /* it is closed */
	reads_bind(&b);
	EQ_I(mem_of(third), -EDQUOT);
	late = sleeper();
	EQ_I(mem_of(late), -EDQUOT);
}

/* Those that it starts later, and not another process that got its number. */
TEST(reads_are_bound_to_descendants_and_to_no_other_start)
{
	pid_t chosen = getpid(), child, other = getppid();
	uint32_t tgids[] = {(uint32_t)chosen, (uint32_t)other}, ticks[] = {0, 1};
	struct reads_bound b = {tgids, ticks, 2, 0};

	if (geteuid() != 0)
		SKIP("not root");
	reads_start();
	reads_bind(&b);
	child = sleeper();
	EQ_I(mem_of(child), 1);
	EQ_I(mem_of(other), -EDQUOT);
}
