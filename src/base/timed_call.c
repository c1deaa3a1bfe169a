/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parent and child share a socket and a piece of memory.  A question is the
 * address of the function and its arguments: the child is a fork, so addresses
 * of code are the same in both.  The answer is the return value, with a
 * descriptor where there is one; the bytes lie in the shared memory.  Memory of
 * a child that was left behind is never used again: the kernel may still write
 * to it.
 *
 * One for the whole program, as the signal flag is: whoever reads /proc would
 * have to hand it down else, and each further child would cost a fork.
 */
#include "base/timed_call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"

#define REAP_NS (20 * NS_PER_MS) /* a killed child that can end does so within */
#define HUNG_MAX 64
#define STARVED_TIMES 4 /* a child that waits for a CPU and not for the kernel gets so much more */

struct question {
	timed_fn *fn;
	size_t args_len; /* they follow */
};

struct reply {
	long rc;
};

union fd_control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static struct {
	pthread_mutex_t lock;
	bool is_open;
	int sock;
	pid_t pid;
	char *out; /* shared, TIMED_CALL_OUT_MAX bytes */
	uint64_t waited_ns; /* on what was given up */
	uint32_t left_cnt;  /* children left behind */
	uint32_t hung[HUNG_MAX];
	size_t hung_cnt;
} timed = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the child */

static bool reply_send(int sock, long rc, int fd)
{
	union fd_control control = {0};
	struct reply r = {.rc = rc};
	struct iovec iov = {&r, sizeof(r)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *c = &control.align;

		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == sizeof(r);
}

static void child_serve(int sock, char *out)
{
	_Alignas(16) char args[TIMED_CALL_ARGS_MAX];
	struct question q;
	struct iovec iov[] = {{&q, sizeof(q)}, {args, sizeof(args)}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	ssize_t got;

	while ((got = recvmsg(sock, &msg, 0)) >= (ssize_t)sizeof(q) &&
	       (size_t)got == sizeof(q) + q.args_len) {
		int fd = -1;
		long rc = q.fn(args, out, TIMED_CALL_OUT_MAX, &fd);
		bool sent = reply_send(sock, rc, fd);

		if (fd >= 0)
			close(fd);
		if (!sent)
			return;
	}
}

/* Of the parent's descriptors only the socket is left; what ends the parent ends the child. */
static void child_main(int sock, char *out, pid_t parent, int nice)
{
	int null = open("/dev/null", O_RDWR);

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || dup2(sock, 3) != 3 ||
	    close_range(4, ~0u, 0) < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "heldup-reads");
	setpriority(PRIO_PROCESS, 0, nice); /* without the right: at our own */
	child_serve(3, out);
	_exit(0);
}

/* ---- the parent */

void timed_call_end_child(int pid)
{
	uint64_t until = clock_mono_ns() + REAP_NS;

	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, WNOHANG) == 0 && clock_mono_ns() < until)
		usleep(200);
}

static void child_drop(void)
{
	if (!timed.is_open)
		return;
	close(timed.sock);
	timed_call_end_child(timed.pid);
	munmap(timed.out, TIMED_CALL_OUT_MAX);
	timed.is_open = false;
}

static int child_open(void)
{
	int pair[2], nice;
	pid_t self = getpid();

	if (timed.is_open)
		return 0;
	if (timed.left_cnt >= TIMED_CALL_LEFT_MAX ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -EAGAIN;
	timed.out = mmap(NULL, TIMED_CALL_OUT_MAX, PROT_READ | PROT_WRITE,
			 /* cppcheck-suppress invalidFunctionArg */
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	nice = getpriority(PRIO_PROCESS, 0);
	timed.pid = timed.out == MAP_FAILED ? -1 : fork();
	if (timed.pid == 0)
		child_main(pair[1], timed.out, self, nice);
	close(pair[1]);
	if (timed.pid < 0) {
		log_debug("no child that reads /proc: %s", strerror(errno));
		if (timed.out != MAP_FAILED)
			munmap(timed.out, TIMED_CALL_OUT_MAX);
		close(pair[0]);
		return -EAGAIN;
	}
	timed.sock = pair[0];
	timed.is_open = true;
	return 0;
}

static bool question_send(const struct timed_call *c)
{
	struct question q = {.fn = c->fn, .args_len = c->args_len};
	struct iovec iov[] = {{&q, sizeof(q)}, {(void *)(uintptr_t)c->args, c->args_len}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

	return sendmsg(timed.sock, &msg, MSG_NOSIGNAL) == (ssize_t)(sizeof(q) + c->args_len);
}

static bool reply_take(long *ret_rc, int *ret_fd)
{
	union fd_control control = {0};
	struct reply r;
	struct iovec iov = {&r, sizeof(r)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c;

	if (recvmsg(timed.sock, &msg, MSG_CMSG_CLOEXEC) != sizeof(r))
		return false;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	*ret_rc = r.rc;
	return true;
}

/* Ready to run, on a machine where nobody is soon: it does not wait in the kernel. */
static bool child_is_starved(void)
{
	char path[32], text[512], *at;
	CLEANUP_CLOSE int fd = -1;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)timed.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[got > 0 ? got : 0] = '\0';
	at = strrchr(text, ')');
	return at && at[1] == ' ' && at[2] == 'R';
}

static uint64_t limit_ns(void)
{
	return stop_requested() || timed.waited_ns >= TIMED_CALL_ALL_NS ? TIMED_CALL_LATE_NS
									: TIMED_CALL_NS;
}

/* A stop that is asked for meanwhile shortens the wait.  false: not back in time. */
static bool reply_wait(void)
{
	uint64_t begin = clock_mono_ns(), used;
	int times = 1;

	for (;;) {
		struct pollfd p[] = {{.fd = timed.sock, .events = POLLIN},
				     {.fd = stop_requested() ? -1 : stop_fd(), .events = POLLIN}};
		uint64_t limit = limit_ns() * (uint64_t)times;

		used = clock_mono_ns() - begin;
		if (poll(p, 2, used < limit ? (int)((limit - used) / NS_PER_MS) + 1 : 0) < 0 &&
		    errno != EINTR)
			return false;
		if (p[0].revents)
			return true;
		used = clock_mono_ns() - begin;
		if (used < limit)
			continue;
		if (times >= STARVED_TIMES || !child_is_starved())
			break;
		times = STARVED_TIMES;
	}
	timed.waited_ns += used;
	return false;
}

static bool is_hung(uint32_t pid)
{
	for (size_t i = 0; i < timed.hung_cnt && pid; i++)
		if (timed.hung[i] == pid)
			return true;
	return false;
}

static void give_up(const struct timed_call *c)
{
	log_debug("a call about process %u did not return: given up on", c->pid);
	timed.left_cnt++;
	if (c->pid && timed.hung_cnt < HUNG_MAX)
		timed.hung[timed.hung_cnt++] = c->pid;
	child_drop();
}

static long ask(const struct timed_call *c, int *ret_fd)
{
	long rc;

	for (int tries = 0; tries < 2; tries++) { /* a child ends with the thread that started it */
		if (child_open() < 0)
			return -EAGAIN;
		if (question_send(c)) {
			if (!reply_wait()) {
				give_up(c);
				return -ETIMEDOUT;
			}
			if (reply_take(&rc, ret_fd))
				break;
		}
		child_drop();
		rc = -EAGAIN;
	}
	if (rc > 0 && c->out)
		buf_add(c->out, timed.out, (size_t)rc);
	return rc;
}

long timed_call(const struct timed_call *c)
{
	int fd = -1;
	long rc;

	if (c->ret_fd)
		*c->ret_fd = -1;
	if (c->args_len > TIMED_CALL_ARGS_MAX)
		return -E2BIG;
	pthread_mutex_lock(&timed.lock);
	rc = is_hung(c->pid) ? -ETIMEDOUT : ask(c, &fd);
	pthread_mutex_unlock(&timed.lock);
	if (c->ret_fd)
		*c->ret_fd = fd;
	else if (fd >= 0)
		close(fd);
	return rc;
}

void timed_call_start(void)
{
	pthread_mutex_lock(&timed.lock);
	child_open();
	pthread_mutex_unlock(&timed.lock);
}

uint32_t timed_call_hung(size_t idx)
{
	uint32_t pid;

	pthread_mutex_lock(&timed.lock);
	pid = idx < timed.hung_cnt ? timed.hung[idx] : 0;
	pthread_mutex_unlock(&timed.lock);
	return pid;
}
