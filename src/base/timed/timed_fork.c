/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timed/timed_fork.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rights.h"
#include "base/stop.h"
#include "base/timed/timed_call.h"

struct word {
	bool is_unlimited; /* no answer yet */
	int code;
	struct err err;
};

/* ---- the child */

/* All that an exec would close, but for the socket. */
static void close_own(int sock)
{
	CLEANUP_CLOSEDIR DIR *dir = opendir("/proc/self/fd");

	for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
		int fd = (int)strtol(d->d_name, NULL, 10), flags = fcntl(fd, F_GETFD);

		if (d->d_name[0] != '.' && fd != sock && fd != dirfd(dir) && flags >= 0 &&
		    flags & FD_CLOEXEC)
			close(fd);
	}
}

static void say(int sock, const struct word *w)
{
	if (send(sock, w, sizeof(*w), MSG_NOSIGNAL) < 0)
		_exit(1); /* nobody waits any more */
}

void timed_fork_unlimited(int talk)
{
	if (talk >= 0)
		say(talk, &(struct word){.is_unlimited = true});
}

/* Ctrl-C is for the parent to judge; what ends the parent ends the child. */
static void child_begin(int sock, pid_t parent)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "heldup-writes");
	close_own(sock);
}

static void child_main(int sock, timed_fork_fn *fn, const void *ctx)
{
	struct word w = {0};

	w.code = fn(ctx, sock, &w.err);
	say(sock, &w);
	_exit(0);
}

/* ---- the parent */

static int left_ms(uint64_t until_ns)
{
	uint64_t now_ns = clock_mono_ns();

	if (until_ns == UINT64_MAX)
		return -1;
	return now_ns < until_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

/* limit_ns 0: none.  0: an answer lies in sock, or the child is gone; else -ETIMEDOUT. */
static int word_wait(int sock, uint64_t limit_ns, uint64_t stop_ns)
{
	bool was_stopped = stop_requested(); /* which began this work */
	uint64_t until_ns = limit_ns ? clock_mono_ns() + limit_ns : UINT64_MAX;

	for (;;) {
		struct pollfd p[] = {{.fd = sock, .events = POLLIN},
				     {.fd = was_stopped ? -1 : stop_fd(), .events = POLLIN}};
		int cnt = poll(p, 2, left_ms(until_ns));

		if (cnt < 0 && errno != EINTR)
			return -errno;
		if (cnt == 0)
			return -ETIMEDOUT;
		if (cnt > 0 && p[0].revents)
			return 0;
		if (!was_stopped && stop_requested()) {
			uint64_t soon_ns = clock_mono_ns() + stop_ns;

			was_stopped = true;
			until_ns = soon_ns < until_ns ? soon_ns : until_ns;
		}
	}
}

/* limits: of the work, and from a stop on.  is_unlimited of w holds from before on. */
static int word_take(int sock, const uint64_t limits[2], struct word *w)
{
	bool is_unlimited = w->is_unlimited;
	int code;

	do {
		code = word_wait(sock, is_unlimited ? 0 : limits[0], limits[1]);
		if (code == 0 && recv(sock, w, sizeof(*w), 0) != (ssize_t)sizeof(*w))
			code = -EIO;
		is_unlimited |= w->is_unlimited;
	} while (code == 0 && w->is_unlimited);
	w->is_unlimited = is_unlimited;
	return code;
}

static int word_tell(const struct word *w, int code, struct err *err)
{
	if (code == -ETIMEDOUT)
		return err_set(err, code, w->is_unlimited ? "nobody reads it"
							  : "its file system does not answer");
	if (code < 0)
		return err_errno(err, code, "the child that writes it");
	if (err && w->err.code)
		*err = w->err;
	return w->code;
}

int timed_fork(timed_fork_fn *fn, const void *ctx, uint64_t limit_ns, struct err *err)
{
	const uint64_t limits[] = {limit_ns, TIMED_FORK_STOP_NS};
	pid_t self = getpid(), pid;
	struct word w = {0};
	int pair[2], code;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fn(ctx, -1, err);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		child_begin(pair[1], self);
		child_main(pair[1], fn, ctx);
	}
	close(pair[1]);
	code = pid < 0 ? 0 : word_take(pair[0], limits, &w);
	close(pair[0]);
	if (pid < 0)
		return fn(ctx, -1, err);
	timed_call_end_child(pid);
	return word_tell(&w, code, err);
}

/* ---- one job after another */

struct timed_worker {
	timed_worker_fn *fn;
	void *ctx;
	void *shared;
	size_t shared_bytes;
	int sock; /* -1: fn runs here */
	pid_t pid;
	bool is_unlimited; /* from a job on that said so */
	bool is_silent;
};

struct order {
	unsigned op;
	size_t len;
};

static void worker_main(const struct timed_worker *w, int sock)
{
	struct order o;

	rights_keep(rights_of_paths() | RIGHTS_CAP(CAP_SYS_PTRACE)); /* /proc/PID/root/FILE */
	rights_filter(RIGHTS_READS_FILES); /* where the kernel has none it must do without */
	while (recv(sock, &o, sizeof(o), 0) == sizeof(o)) {
		struct timed_job job = {o.op, w->shared, o.len, sock};
		struct word word = {0};

		word.code = w->fn(w->ctx, &job, &word.err);
		say(sock, &word);
	}
	_exit(0);
}

struct timed_worker *timed_worker_new(timed_worker_fn *fn, void *ctx, size_t shared_bytes,
				      bool is_here)
{
	struct timed_worker *w = xmalloc(sizeof(*w));
	pid_t self = getpid();
	int pair[2];

	*w = (struct timed_worker){.fn = fn, .ctx = ctx, .shared_bytes = shared_bytes, .sock = -1};
	w->shared = mmap(NULL, shared_bytes, PROT_READ | PROT_WRITE,
			 /* cppcheck-suppress invalidFunctionArg */
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	BUG_ON(w->shared == MAP_FAILED);
	if (is_here || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return w;
	fflush(stdout);
	w->pid = fork();
	if (w->pid == 0) {
		child_begin(pair[1], self);
		worker_main(w, pair[1]);
	}
	close(pair[1]);
	if (w->pid > 0)
		w->sock = pair[0];
	else
		close(pair[0]);
	return w;
}

void *timed_worker_shared(struct timed_worker *w)
{
	return w->shared;
}

int timed_worker_ask(struct timed_worker *w, unsigned op, size_t len, uint64_t limit_ns,
		     struct err *err)
{
	const uint64_t limits[] = {limit_ns, TIMED_WORKER_STOP_NS};
	struct word word = {.is_unlimited = w->is_unlimited};
	struct order o = {op, len};
	int code;

	if (w->sock < 0)
		return w->fn(w->ctx, &(struct timed_job){op, w->shared, len, -1}, err);
	if (w->is_silent)
		return word_tell(&word, -ETIMEDOUT, err);
	code = send(w->sock, &o, sizeof(o), MSG_NOSIGNAL) < 0 ? -errno : 0;
	if (code == 0)
		code = word_take(w->sock, limits, &word);
	w->is_silent = code == -ETIMEDOUT;
	w->is_unlimited = word.is_unlimited;
	return word_tell(&word, code, err);
}

bool timed_worker_is_silent(const struct timed_worker *w)
{
	return w->is_silent;
}

void timed_worker_free(struct timed_worker *w)
{
	if (!w)
		return;
	if (w->sock >= 0) {
		close(w->sock);
		timed_call_end_child(w->pid);
	}
	munmap(w->shared, w->shared_bytes);
	free(w);
}
