/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timed_fork.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "base/timed_call.h"

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
static void child_main(int sock, pid_t parent, timed_fork_fn *fn, const void *ctx)
{
	struct word w = {0};

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "heldup-writes");
	close_own(sock);
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
static int word_wait(int sock, uint64_t limit_ns)
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
			uint64_t soon_ns = clock_mono_ns() + TIMED_FORK_STOP_NS;

			was_stopped = true;
			until_ns = soon_ns < until_ns ? soon_ns : until_ns;
		}
	}
}

static int word_take(int sock, uint64_t limit_ns, struct word *w)
{
	int code;

	do {
		code = word_wait(sock, w->is_unlimited ? 0 : limit_ns);
		if (code == 0 && recv(sock, w, sizeof(*w), 0) != (ssize_t)sizeof(*w))
			code = -EIO;
	} while (code == 0 && w->is_unlimited);
	return code;
}

int timed_fork(timed_fork_fn *fn, const void *ctx, uint64_t limit_ns, struct err *err)
{
	pid_t self = getpid(), pid;
	struct word w = {0};
	int pair[2], code;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fn(ctx, -1, err);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		child_main(pair[1], self, fn, ctx);
	close(pair[1]);
	code = pid < 0 ? 0 : word_take(pair[0], limit_ns, &w);
	close(pair[0]);
	if (pid < 0)
		return fn(ctx, -1, err);
	timed_call_end_child(pid);
	if (code == -ETIMEDOUT)
		return err_set(err, code, w.is_unlimited ? "nobody reads it"
							 : "its file system does not answer");
	if (code < 0)
		return err_errno(err, code, "the child that writes it");
	if (err && w.err.code)
		*err = w.err;
	return w.code;
}
