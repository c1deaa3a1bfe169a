/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This process, its keeper and the reader of now.  A question is the number of
 * an operation and its arguments; the answer is the return value, with a
 * descriptor where there is one; the bytes lie in memory that the reader shares.
 * Memory of a reader that was left behind is never used again: the kernel may
 * still write to it.
 *
 * One for the whole program, as the signal flag is: whoever reads /proc would
 * have to hand it down else, and each further child would cost a fork.
 */
#include "base/timed/timed_call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/timed/timed_call_int.h"

#define REAP_NS (20 * NS_PER_MS) /* a killed child that can end does so within */
#define HUNG_MAX 64
#define STARVED_TIMES 4 /* a reader that waits for a CPU and not for the kernel gets so much more */

static struct {
	pthread_mutex_t lock;
	bool is_kept;	/* there is a keeper */
	int ctl;
	pid_t keeper, owner;
	uint32_t order_cnt;
	bool is_ordered; /* a reader that has not come yet */
	bool is_open;	 /* there is a reader */
	int sock;
	pid_t pid;
	uint64_t cpu_ns, cpu_before_ns; /* of this reader when last asked, of those before */
	char *out; /* shared, TIMED_CALL_OUT_MAX bytes */
	uint64_t waited_ns; /* on what was given up */
	uint32_t left_cnt;  /* readers left behind */
	struct timed_losses losses;
	enum timed_apart apart;
	uint32_t hung[HUNG_MAX];
	size_t hung_cnt;
} timed = {.lock = PTHREAD_MUTEX_INITIALIZER};

void timed_call_end_child(int pid)
{
	uint64_t until = clock_mono_ns() + REAP_NS;

	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, WNOHANG) == 0 && clock_mono_ns() < until)
		usleep(200);
}

/* ---- the keeper */

static void keeper_drop(void)
{
	if (!timed.is_kept)
		return;
	close(timed.ctl);
	timed_call_end_child(timed.keeper);
	timed.is_kept = timed.is_ordered = false;
}

static int keeper_start(const struct timed_ops *ops)
{
	int pair[2], nice;

	if (timed.is_kept)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -EAGAIN;
	nice = getpriority(PRIO_PROCESS, 0);
	timed.keeper = fork();
	if (timed.keeper == 0)
		timed_keeper_run(pair[1], ops, nice);
	close(pair[1]);
	if (timed.keeper < 0) {
		log_debug("no child that reads /proc: %s", strerror(errno));
		close(pair[0]);
		return -EAGAIN;
	}
	timed.ctl = pair[0];
	timed.owner = getpid();
	timed.is_kept = true;
	return 0;
}

static void keeper_lost(void)
{
	log_debug("the child that starts those that read /proc has ended");
	timed.losses.keeper_cnt++;
	keeper_drop();
}

/* The reader that there is ends, if it can, and another one starts. */
static bool reader_order(void)
{
	struct timed_order order = {.nr = ++timed.order_cnt};

	if (!timed.is_ordered)
		timed.is_ordered = timed_send(timed.ctl, &order, sizeof(order), NULL, 0);
	return timed.is_ordered;
}

/* The one that was ordered: -EAGAIN there is none, -EPIPE nor a keeper. */
static int reader_take(void)
{
	struct pollfd p = {.fd = timed.ctl, .events = POLLIN};
	struct timed_reader r = {0};
	int fds[TIMED_FDS_MAX], limit_ms = (int)(STARVED_TIMES * TIMED_CALL_NS / NS_PER_MS);

	while (poll(&p, 1, limit_ms) < 0 && errno == EINTR)
		;
	if (!p.revents || timed_receive(timed.ctl, &r, sizeof(r), fds) != sizeof(r))
		return -EPIPE;
	timed.is_ordered = false;
	if (r.pid <= 0 || fds[0] < 0 || fds[1] < 0) /* with both, or with none */
		return -EAGAIN;
	timed.out = mmap(NULL, TIMED_CALL_OUT_MAX, PROT_READ, MAP_SHARED, fds[1], 0);
	close(fds[1]);
	timed.sock = fds[0];
	timed.pid = r.pid;
	timed.cpu_before_ns += timed.cpu_ns;
	timed.cpu_ns = 0;
	timed.is_open = timed.out != MAP_FAILED;
	if (!timed.is_open)
		close(timed.sock);
	return timed.is_open ? 0 : -EAGAIN;
}

/* ---- the reader */

/* Its keeper ends it when another is ordered. */
static void reader_drop(void)
{
	if (!timed.is_open)
		return;
	close(timed.sock);
	munmap(timed.out, TIMED_CALL_OUT_MAX);
	timed.is_open = false;
}

static int reader_open(const struct timed_ops *ops)
{
	int rc = -EPIPE;

	if (timed.is_open)
		return 0;
	if (timed.left_cnt >= TIMED_CALL_LEFT_MAX)
		return -EAGAIN;
	for (int tries = 0; tries < 2 && rc == -EPIPE; tries++) {
		if (keeper_start(ops) < 0)
			return -EAGAIN;
		rc = reader_order() ? reader_take() : -EPIPE;
		if (rc == -EPIPE)
			keeper_lost();
	}
	return rc;
}

static bool question_send(const struct timed_call *c)
{
	struct timed_question q = {.op = c->op, .args_len = (uint32_t)c->args_len};
	struct iovec iov[] = {{&q, sizeof(q)}, {(void *)(uintptr_t)c->args, c->args_len}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

	return sendmsg(timed.sock, &msg, MSG_NOSIGNAL) == (ssize_t)(sizeof(q) + c->args_len);
}

static bool answer_take(long *ret_rc, int *ret_fd)
{
	struct timed_answer a = {0};
	int fds[TIMED_FDS_MAX];
	ssize_t got = timed_receive(timed.sock, &a, sizeof(a), fds);

	if (got != sizeof(a) || a.rc > TIMED_CALL_OUT_MAX)
		return false;
	*ret_rc = (long)a.rc;
	*ret_fd = fds[0];
	return true;
}

/* Ready to run, on a machine where nobody is soon: it does not wait in the kernel. */
static bool reader_is_starved(void)
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
static bool answer_wait(void)
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
		if (times >= STARVED_TIMES || !reader_is_starved())
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
	reader_drop();
	reader_order(); /* which ends it */
}

/* In a fork of heldup: they answer its parent. */
static void forked_forget(void)
{
	if (!timed.is_kept || timed.owner == getpid())
		return;
	reader_drop();
	close(timed.ctl);
	timed.is_kept = timed.is_ordered = false;
}

static long ask(const struct timed_call *c, int *ret_fd)
{
	long rc;

	for (int tries = 0; tries < 2; tries++) {
		if (reader_open(c->ops) < 0)
			return -EAGAIN;
		if (question_send(c)) {
			if (!answer_wait()) {
				give_up(c);
				return -ETIMEDOUT;
			}
			if (answer_take(&rc, ret_fd))
				break;
		}
		timed.losses.died_cnt++;
		reader_drop();
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
	forked_forget();
	rc = is_hung(c->pid) ? -ETIMEDOUT : ask(c, &fd);
	timed.losses.bound_cnt += rc == -EDQUOT;
	pthread_mutex_unlock(&timed.lock);
	if (c->ret_fd)
		*c->ret_fd = fd;
	else if (fd >= 0)
		close(fd);
	return rc;
}

void timed_call_start(const struct timed_ops *ops)
{
	pthread_mutex_lock(&timed.lock);
	forked_forget();
	if (!timed.is_open && keeper_start(ops) == 0)
		reader_order(); /* it comes while this process does something else */
	pthread_mutex_unlock(&timed.lock);
}

void timed_call_set_apart(enum timed_apart apart)
{
	timed.apart = apart;
}

enum timed_apart timed_call_apart(void)
{
	return timed.apart;
}

struct timed_losses timed_call_losses(void)
{
	struct timed_losses l;

	pthread_mutex_lock(&timed.lock);
	l = timed.losses;
	pthread_mutex_unlock(&timed.lock);
	return l;
}

uint64_t timed_call_cpu_ns(void)
{
	struct timespec t;
	clockid_t clock;
	uint64_t ns;

	pthread_mutex_lock(&timed.lock);
	if (timed.is_open && clock_getcpuclockid(timed.pid, &clock) == 0 &&
	    clock_gettime(clock, &t) == 0)
		timed.cpu_ns = (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
	ns = timed.cpu_before_ns + timed.cpu_ns;
	pthread_mutex_unlock(&timed.lock);
	return ns;
}

uint32_t timed_call_hung(size_t idx)
{
	uint32_t pid;

	pthread_mutex_lock(&timed.lock);
	pid = idx < timed.hung_cnt ? timed.hung[idx] : 0;
	pthread_mutex_unlock(&timed.lock);
	return pid;
}
