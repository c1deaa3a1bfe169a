/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/proc/mappings.h"
#include "collect/proc/procfs.h"
#include "collect/select.h"
#include "collect/target/target.h"
#include "unit.h"

static int resolve_pid(int32_t pid, struct target *t, struct err *err)
{
	struct select_opts opts = {.pids = {.items = &pid, .cnt = 1}};

	*err = (struct err){0};
	return target_resolve(&opts, t, err);
}

/* A child that waits until its parent ends, with a child of its own. */
static pid_t family(void)
{
	int ready[2];
	char byte;

	OK(pipe(ready) == 0);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "hu-test-parent");
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			prctl(PR_SET_NAME, "hu-test-child");
			_exit(write(ready[1], "r", 1) == 1 ? pause() : 1);
		}
		pause();
		_exit(0);
	}
	OK(child > 0 && read(ready[0], &byte, 1) == 1);
	return child;
}

static void skip_in_namespace(void)
{
	if (procfs_ns((uint32_t)getpid(), "pid") != 0xEFFFFFFCu)
		SKIP("in a pid namespace of its own");
}

TEST(target_refuses_what_is_not_there)
{
	struct target t = {0};
	struct err err;
	struct select_opts none = {0};

	skip_in_namespace();
	EQ_I(resolve_pid(INT32_MAX, &t, &err), -ESRCH);
	HAS(err.msg, "no process has pid 2147483647");
	EQ_I(resolve_pid(getpid(), &t, &err), -EINVAL);
	HAS(err.msg, "heldup itself");
	EQ_I(err.kind, ERR_USAGE);
	EQ_I(target_resolve(&none, &t, &err), -EINVAL);
	EQ_U(t.cnt, 0);
}

TEST(target_brings_descendants)
{
	struct target t = {0};
	struct err err;

	skip_in_namespace();
	pid_t child = family();
	EQ_I(resolve_pid(child, &t, &err), 0);
	EQ_U(t.chosen_cnt, 1);
	EQ_U(t.chosen[0], (uint32_t)child);
	EQ_U(t.cnt, 2);
	HAS(t.note, "1 descendant process is watched too");
	HAS(t.selection, "(hu-test-parent)");
	target_release(&t);
	kill(child, SIGKILL);
}

TEST(target_by_name)
{
	struct target t = {0};
	struct err err = {0};
	struct select_opts opts = {.comm = "^hu-test-(child|nobody)$"};

	skip_in_namespace();
	pid_t child = family();
	EQ_I(target_resolve(&opts, &t, &err), 0);
	OK(t.cnt >= 1);
	target_release(&t);
	opts.comm = "^hu-test-nobody$";
	EQ_I(target_resolve(&opts, &t, &err), -ESRCH);
	opts.comm = "(";
	EQ_I(target_resolve(&opts, &t, &err), -EINVAL);
	opts = (struct select_opts){.cgroup = "no/such/group"};
	EQ_I(target_resolve(&opts, &t, &err), -ENOENT);
	kill(child, SIGKILL);
}

TEST(target_zombie)
{
	struct target t = {0};
	struct err err;
	siginfo_t info;

	skip_in_namespace();
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	OK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
	EQ_I(resolve_pid(child, &t, &err), -ESRCH);
	HAS(err.msg, "zombie");
	waitpid(child, NULL, 0);
}

static void *sleep_on(void *arg)
{
	pause();
	return arg;
}

/* Its main thread is a zombie, but the process works on. */
TEST(target_without_main_thread)
{
	struct procfs_stat st = {0};
	struct target t = {0};
	struct mappings maps = {0};
	struct err err;
	pthread_t other;

	skip_in_namespace();
	pid_t child = fork();
	if (child == 0) {
		pthread_create(&other, NULL, sleep_on, NULL);
		pthread_exit(NULL);
	}
	for (int i = 0; i < 1000 && st.state != 'Z'; i++) {
		usleep(1000);
		procfs_stat((uint32_t)child, &st);
	}
	EQ_I(st.state, 'Z');
	EQ_I(resolve_pid(child, &t, &err), 0);
	OK(procfs_living_tid((uint32_t)child) != (uint32_t)child);
	EQ_I(mappings_read((uint32_t)child, &maps), 0);
	OK(maps.items.cnt > 0);
	mappings_release(&maps);
	target_release(&t);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TEST(target_pid_1_alone)
{
	struct target t = {0};
	struct err err;

	skip_in_namespace();
	EQ_I(resolve_pid(1, &t, &err), 0);
	EQ_U(t.cnt, 1);
	HAS(t.note, "only itself");
	target_release(&t);
}

static int run(char **argv, bool go)
{
	struct select_opts opts = {.command = argv};
	struct target t = {0};
	struct err err = {0};
	int status = -1;
	int ret = target_resolve(&opts, &t, &err);

	if (ret < 0)
		return ret;
	EQ_U(t.cnt, 1);
	EQ_U(t.tgids[0], (uint32_t)t.child);
	OK(!target_ended(&t, &status));
	if (go) {
		ret = target_go(&t, &err);
		while (ret == 0 && !target_ended(&t, &status))
			usleep(1000);
	}
	target_release(&t);
	return ret < 0 ? ret : status;
}

TEST(target_command)
{
	char path[] = "/tmp/heldup-unit-XXXXXX";
	char mark[64], *touch[] = {"sh", "-c", mark, NULL};
	char *exits[] = {"sh", "-c", "exit 7", NULL}, *none[] = {"no-such-command", NULL};
	char *directory[] = {"/tmp", NULL};

	skip_in_namespace();
	OK(mkdtemp(path));
	snprintf(mark, sizeof(mark), "> %s/ran", path);
	EQ_I(run(touch, false), -1); /* never let go: nothing ran */
	EQ_I(rmdir(path), 0);
	EQ_I(run(exits, true), 7 << 8);
	EQ_I(run(none, true), -ENOENT);
	EQ_I(run(directory, true), -EACCES);
}
