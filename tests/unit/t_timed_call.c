/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/rights.h"
#include "base/stop.h"
#include "base/timed/timed_call.h"
#include "base/timed/timed_fork.h"
#include "unit.h"

static long twice(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	(void)args_len;
	(void)ret_fd;
	return snprintf(out, cap, "%s%s", (const char *)args, (const char *)args);
}

static long never(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	(void)args_len;
	(void)args;
	(void)out;
	(void)cap;
	(void)ret_fd;
	while (pause() < 0)
		;
	return 0;
}

static long open_null(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	(void)args_len;
	(void)args;
	(void)out;
	(void)cap;
	*ret_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

static long fails(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	(void)args_len;
	(void)args;
	(void)out;
	(void)cap;
	(void)ret_fd;
	return -ESRCH;
}

static long dies(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	(void)args_len;
	(void)args;
	(void)out;
	(void)cap;
	(void)ret_fd;
	_exit(1);
}

static long open_cnt(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	(void)args_len;
	long cnt = 0;

	(void)args;
	(void)out;
	(void)cap;
	(void)ret_fd;
	for (int fd = 3; fd < 64; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return -cnt;
}

/* Of the reader, as it is to /proc. */
static long own_status(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	struct buf text = {0};

	(void)args;
	(void)args_len;
	(void)ret_fd;
	file_read("/proc/self/status", cap - 1, &text, NULL);
	memcpy(out, buf_str(&text), text.len);
	return (long)text.len;
}

static long end_keeper(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	(void)args;
	(void)args_len;
	(void)out;
	(void)cap;
	(void)ret_fd;
	return -kill(getppid(), SIGKILL);
}

static long works(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	uint64_t until = clock_self_cpu_ns() + 20 * NS_PER_MS;

	(void)args;
	(void)args_len;
	(void)out;
	(void)cap;
	(void)ret_fd;
	while (clock_self_cpu_ns() < until)
		;
	return 0;
}

enum { TWICE, NEVER, OPEN_NULL, FAILS, DIES, OPEN_CNT, STATUS, END_KEEPER, WORKS, OP_CNT };

static const struct timed_op list[OP_CNT] = {
	[TWICE] = {twice, 1, 16},
	[NEVER] = {never, 0, 0},
	[OPEN_NULL] = {open_null, 0, 0},
	[FAILS] = {fails, 0, 0},
	[DIES] = {dies, 0, 0},
	[OPEN_CNT] = {open_cnt, 0, 0},
	[STATUS] = {own_status, 0, 0},
	[END_KEEPER] = {end_keeper, 0, 0},
	[WORKS] = {works, 0, 0},
};
static const struct timed_ops ops = {.list = list, .cnt = OP_CNT};

/* -1 once none is left: a killed one with much memory takes its time on a busy machine. */
static int last_child(void)
{
	uint64_t until = clock_mono_ns() + 5 * NS_PER_SEC;
	int pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 && clock_mono_ns() < until)
		usleep(1000);
	return pid;
}

/* What readers took is known, of those that ended too. */
TEST(timed_call_cpu_time)
{
	struct timed_call work = {.ops = &ops, .op = WORKS}, die = {.ops = &ops, .op = DIES};
	uint64_t one_ns;

	EQ_U(timed_call_cpu_ns(), 0);
	EQ_I(timed_call(&work), 0);
	one_ns = timed_call_cpu_ns();
	OK(one_ns >= 20 * NS_PER_MS);
	OK(timed_call(&die) < 0);
	EQ_I(timed_call(&work), 0);
	OK(timed_call_cpu_ns() >= one_ns + 20 * NS_PER_MS);
}

TEST(timed_call_answers)
{
	struct buf out = {0};
	struct timed_call c = {.ops = &ops, .op = TWICE, .args = "ab", .args_len = 3, .out = &out};
	char byte = 1;
	int fd;

	EQ_I(timed_call(&c), 4);
	EQ_I(timed_call(&c), 4);
	EQ_S(buf_str(&out), "abababab");
	buf_release(&out);
	c = (struct timed_call){.ops = &ops, .op = OPEN_NULL, .ret_fd = &fd};
	EQ_I(timed_call(&c), 0);
	EQ_I(read(fd, &byte, 1), 1);
	EQ_I(byte, 0);
	close(fd);
	c = (struct timed_call){.ops = &ops, .op = FAILS, .ret_fd = &fd};
	EQ_I(timed_call(&c), -ESRCH);
	EQ_I(fd, -1);
}

TEST(timed_call_child_has_no_descriptors_of_ours)
{
	int fd = open("/dev/null", O_RDONLY);
	struct timed_call c = {.ops = &ops, .op = OPEN_CNT};

	EQ_I(timed_call(&c), -1); /* its socket */
	close(fd);
}

TEST(timed_call_gives_up_and_asks_no_more)
{
	struct timed_call hangs = {.ops = &ops, .op = NEVER, .pid = 77};
	struct timed_call same = {.ops = &ops, .op = FAILS, .pid = 77};
	struct timed_call other = {.ops = &ops, .op = FAILS, .pid = 78};
	uint64_t begin = clock_mono_ns();

	EQ_I(timed_call(&hangs), -ETIMEDOUT);
	OK(clock_mono_ns() - begin < 5 * TIMED_CALL_NS);
	EQ_I(waitpid(-1, NULL, WNOHANG), 0); /* the keeper, which goes on */
	EQ_I(timed_call(&other), -ESRCH);
	begin = clock_mono_ns();
	EQ_I(timed_call(&same), -ETIMEDOUT);
	OK(clock_mono_ns() - begin < TIMED_CALL_NS / 2);
	EQ_U(timed_call_hung(0), 77);
	EQ_U(timed_call_hung(1), 0);
}

TEST(timed_call_is_bounded_in_all)
{
	uint64_t begin = clock_mono_ns();

	for (uint32_t pid = 1; pid <= 2 * TIMED_CALL_LEFT_MAX; pid++) {
		struct timed_call c = {.ops = &ops, .op = NEVER, .pid = pid};
		long rc = timed_call(&c);

		ROW(pid);
		OK(rc == -ETIMEDOUT || (rc == -EAGAIN && pid > TIMED_CALL_LEFT_MAX));
	}
	OK(clock_mono_ns() - begin < 4 * TIMED_CALL_ALL_NS);
}

TEST(timed_call_starts_a_new_child_for_a_dead_one)
{
	struct timed_call c = {.ops = &ops, .op = DIES}, next = {.ops = &ops, .op = FAILS};

	EQ_I(timed_call(&c), -EAGAIN);
	EQ_I(timed_call(&next), -ESRCH);
	EQ_U(timed_call_losses().died_cnt, 2); /* it was asked twice */
	EQ_U(timed_call_losses().keeper_cnt, 0);
}

TEST(timed_call_starts_a_new_keeper_for_a_dead_one)
{
	struct timed_call end = {.ops = &ops, .op = END_KEEPER};
	struct timed_call next = {.ops = &ops, .op = FAILS};

	timed_call(&end); /* the reader ends with it, before or after its answer */
	while (timed_call(&next) != -ESRCH || !timed_call_losses().keeper_cnt)
		usleep(1000);
	/* two where the reader ended before its answer: it is asked again, and ends the next */
	OK(timed_call_losses().keeper_cnt <= 2);
}

TEST(timed_call_asks_for_what_is_in_the_table)
{
	struct timed_call unknown = {.ops = &ops, .op = OP_CNT};
	struct timed_call shorter = {.ops = &ops, .op = TWICE, .args = ""};
	struct timed_call longer = {.ops = &ops, .op = TWICE, .args = "12345678901234567",
				    .args_len = 17};

	EQ_I(timed_call(&unknown), -EINVAL);
	EQ_I(timed_call(&shorter), -EINVAL);
	EQ_I(timed_call(&longer), -EINVAL);
	EQ_U(timed_call_losses().died_cnt, 0);
}

static uint64_t caps_of(const char *status)
{
	const char *at = strstr(status, "CapEff:");

	OK(at);
	return strtoull(at + strlen("CapEff:"), NULL, 16);
}

TEST(timed_call_readers_keep_the_rights_of_the_start)
{
	struct timed_call dies_too = {.ops = &ops, .op = DIES};
	struct buf before = {0}, after = {0};
	struct timed_call c = {.ops = &ops, .op = STATUS, .out = &before};

	timed_call_start(&ops);
	OK(timed_call(&c) > 0);
	EQ_I(rights_keep(RIGHTS_NONE), 0);
	EQ_I(timed_call(&dies_too), -EAGAIN);
	c.out = &after;
	OK(timed_call(&c) > 0); /* one that is started only now */
	EQ_U(caps_of(buf_str(&after)), caps_of(buf_str(&before)));
	buf_release(&before);
	buf_release(&after);
}

TEST(timed_call_of_a_fork_has_a_reader_of_its_own)
{
	struct timed_call c = {.ops = &ops, .op = FAILS};
	int status;
	pid_t pid;

	EQ_I(timed_call(&c), -ESRCH);
	pid = fork();
	if (pid == 0)
		_exit(timed_call(&c) == -ESRCH ? 7 : 1);
	EQ_I(waitpid(pid, &status, 0), pid);
	EQ_I(WEXITSTATUS(status), 7);
	EQ_I(timed_call(&c), -ESRCH);
	EQ_U(timed_call_losses().died_cnt, 0);
}

static int says_why(const void *ctx, int talk, struct err *err)
{
	(void)talk;
	return err_set(err, -ENOSPC, "no room for %s", (const char *)ctx);
}

static int stays(const void *ctx, int talk, struct err *err)
{
	(void)ctx;
	(void)talk;
	(void)err;
	while (pause() < 0)
		;
	return 0;
}

static int stays_unlimited(const void *ctx, int talk, struct err *err)
{
	timed_fork_unlimited(talk);
	return stays(ctx, talk, err);
}

TEST(timed_fork_answers)
{
	struct err err = {0};

	EQ_I(timed_fork(says_why, "it", NS_PER_SEC, &err), -ENOSPC);
	EQ_S(err.msg, "no room for it");
	EQ_I(timed_fork(says_why, "it", NS_PER_SEC, NULL), -ENOSPC);
	EQ_I(last_child(), -1);
}

static void stop_while(timed_fork_fn *fn, const char *words)
{
	struct err err = {0};
	uint64_t begin = clock_mono_ns();

	stop_init();
	if (fork() == 0) {
		usleep(200000);
		kill(getppid(), SIGINT);
		_exit(0);
	}
	EQ_I(timed_fork(fn, NULL, 20 * NS_PER_SEC, &err), -ETIMEDOUT);
	EQ_S(err.msg, words);
	OK(clock_mono_ns() - begin < 5 * NS_PER_SEC);
}

TEST(timed_fork_ends_soon_after_a_stop)
{
	stop_while(stays, "its file system does not answer");
}

TEST(timed_fork_that_may_take_long_ends_too)
{
	stop_while(stays_unlimited, "nobody reads it");
}

TEST(timed_fork_gives_up)
{
	EQ_I(timed_fork(stays, NULL, 100 * NS_PER_MS, NULL), -ETIMEDOUT);
	EQ_I(last_child(), -1);
}

static int counts(void *ctx, const struct timed_job *job, struct err *err)
{
	int *cnt = ctx;

	if (job->op == 1)
		return stays(NULL, job->talk, err);
	*cnt += *(const char *)job->data;
	return *cnt;
}

TEST(timed_worker_keeps_what_it_has)
{
	for (int is_here = 0; is_here < 2; is_here++) {
		int cnt = 3;
		struct timed_worker *w = timed_worker_new(counts, &cnt, 16, is_here);

		*(char *)timed_worker_shared(w) = 2;
		EQ_I(timed_worker_ask(w, 0, 1, NS_PER_SEC, NULL), 5);
		EQ_I(timed_worker_ask(w, 0, 1, NS_PER_SEC, NULL), 7);
		timed_worker_free(w);
		EQ_I(cnt, is_here ? 7 : 3);
	}
	EQ_I(last_child(), -1);
}

TEST(timed_worker_that_is_silent_is_not_asked_again)
{
	int cnt = 0;
	struct timed_worker *w = timed_worker_new(counts, &cnt, 16, false);
	struct err err = {0};
	uint64_t begin = clock_mono_ns();

	OK(!timed_worker_is_silent(w));
	EQ_I(timed_worker_ask(w, 1, 0, 100 * NS_PER_MS, &err), -ETIMEDOUT);
	EQ_S(err.msg, "its file system does not answer");
	OK(timed_worker_is_silent(w));
	EQ_I(timed_worker_ask(w, 0, 1, 20 * NS_PER_SEC, NULL), -ETIMEDOUT);
	timed_worker_free(w);
	OK(clock_mono_ns() - begin < 5 * NS_PER_SEC);
	EQ_I(last_child(), -1);
}
