/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "base/timed_call.h"
#include "base/timed_fork.h"
#include "unit.h"

static long twice(const void *args, char *out, size_t cap, int *ret_fd)
{
	(void)ret_fd;
	return snprintf(out, cap, "%s%s", (const char *)args, (const char *)args);
}

static long never(const void *args, char *out, size_t cap, int *ret_fd)
{
	(void)args;
	(void)out;
	(void)cap;
	(void)ret_fd;
	while (pause() < 0)
		;
	return 0;
}

static long open_null(const void *args, char *out, size_t cap, int *ret_fd)
{
	(void)args;
	(void)out;
	(void)cap;
	*ret_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

static long fails(const void *args, char *out, size_t cap, int *ret_fd)
{
	(void)args;
	(void)out;
	(void)cap;
	(void)ret_fd;
	return -ESRCH;
}

static long dies(const void *args, char *out, size_t cap, int *ret_fd)
{
	(void)args;
	(void)out;
	(void)cap;
	(void)ret_fd;
	_exit(1);
}

static long open_cnt(const void *args, char *out, size_t cap, int *ret_fd)
{
	long cnt = 0;

	(void)args;
	(void)out;
	(void)cap;
	(void)ret_fd;
	for (int fd = 3; fd < 64; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return -cnt;
}

TEST(timed_call_answers)
{
	struct buf out = {0};
	struct timed_call c = {.fn = twice, .args = "ab", .args_len = 3, .out = &out};
	char byte = 1;
	int fd;

	EQ_I(timed_call(&c), 4);
	EQ_I(timed_call(&c), 4);
	EQ_S(buf_str(&out), "abababab");
	buf_release(&out);
	c = (struct timed_call){.fn = open_null, .ret_fd = &fd};
	EQ_I(timed_call(&c), 0);
	EQ_I(read(fd, &byte, 1), 1);
	EQ_I(byte, 0);
	close(fd);
	c = (struct timed_call){.fn = fails, .ret_fd = &fd};
	EQ_I(timed_call(&c), -ESRCH);
	EQ_I(fd, -1);
}

TEST(timed_call_child_has_no_descriptors_of_ours)
{
	int fd = open("/dev/null", O_RDONLY);
	struct timed_call c = {.fn = open_cnt};

	EQ_I(timed_call(&c), -1); /* its socket */
	close(fd);
}

TEST(timed_call_gives_up_and_asks_no_more)
{
	struct timed_call hangs = {.fn = never, .pid = 77}, same = {.fn = fails, .pid = 77};
	struct timed_call other = {.fn = fails, .pid = 78};
	uint64_t begin = clock_mono_ns();

	EQ_I(timed_call(&hangs), -ETIMEDOUT);
	OK(clock_mono_ns() - begin < 5 * TIMED_CALL_NS);
	EQ_I(waitpid(-1, NULL, WNOHANG), -1); /* it could end, so it is reaped */
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
		struct timed_call c = {.fn = never, .pid = pid};
		long rc = timed_call(&c);

		ROW(pid);
		OK(rc == -ETIMEDOUT || (rc == -EAGAIN && pid > TIMED_CALL_LEFT_MAX));
	}
	OK(clock_mono_ns() - begin < 4 * TIMED_CALL_ALL_NS);
}

TEST(timed_call_starts_a_new_child_for_a_dead_one)
{
	struct timed_call c = {.fn = dies}, next = {.fn = fails};

	EQ_I(timed_call(&c), -EAGAIN);
	EQ_I(timed_call(&next), -ESRCH);
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
	EQ_I(waitpid(-1, NULL, WNOHANG), -1);
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
	EQ_I(waitpid(-1, NULL, WNOHANG), -1);
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
	EQ_I(waitpid(-1, NULL, WNOHANG), -1);
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
	EQ_I(waitpid(-1, NULL, WNOHANG), -1);
}
