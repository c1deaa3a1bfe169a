/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/timed_call.h"
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
