/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/check_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { LOOK_MS = 10 }; /* how late the end of the command may be seen */

extern char **environ;

struct check_child {
	int sock;
	pid_t pid;
};

struct answer {
	int end; /* enum check_end */
	int status;
};

/* ---- the child */

/* In a process group of its own, so that all it began can be ended; quiet. */
static pid_t start(const char *command)
{
	char *argv[] = {"sh", "-c", (char *)(uintptr_t)command, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	if (posix_spawn(&pid, "/bin/sh", &files, &attr, argv, environ))
		pid = 0;
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return pid;
}

static void end_group(pid_t pid)
{
	kill(-pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static struct answer run(const char *command, uint64_t limit_ns, int sock)
{
	uint64_t until_ns = clock_mono_ns() + limit_ns;
	struct answer a = {.end = CHECK_ENDED};
	struct pollfd parent = {.fd = sock, .events = POLLIN};
	pid_t pid = start(command);

	if (!pid)
		return (struct answer){.end = CHECK_NOT_RUN};
	while (waitpid(pid, &a.status, WNOHANG) != pid) {
		if (clock_mono_ns() > until_ns) {
			end_group(pid);
			return (struct answer){.end = CHECK_LATE};
		}
		if (poll(&parent, 1, LOOK_MS) > 0) { /* it asks for one at a time: it is gone */
			end_group(pid);
			_exit(0);
		}
	}
	return a;
}

static void __attribute__((noreturn)) child_main(const char *command, uint64_t limit_ns, int sock)
{
	char byte;
	ssize_t got;

	setpgid(0, 0); /* Ctrl-C is for the parent */
	prctl(PR_SET_NAME, "heldup-checks");
	for (;;) {
		struct answer a;

		do {
			got = recv(sock, &byte, 1, 0);
		} while (got < 0 && errno == EINTR);
		if (got != 1)
			_exit(0);
		a = run(command, limit_ns, sock);
		if (send(sock, &a, sizeof(a), MSG_NOSIGNAL) != sizeof(a))
			_exit(0);
	}
}

/* ---- the parent */

struct check_child *check_child_new(const char *command, uint64_t limit_ns)
{
	struct check_child *c;
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return NULL;
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		child_main(command, limit_ns, pair[1]);
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return NULL;
	}
	c = xcalloc(1, sizeof(*c));
	*c = (struct check_child){.sock = pair[0], .pid = pid};
	return c;
}

void check_child_free(struct check_child *c)
{
	if (!c)
		return;
	close(c->sock);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(c);
}

void check_child_begin(struct check_child *c)
{
	/* without the child the answer is the end of the stream */
	if (send(c->sock, "", 1, MSG_NOSIGNAL) < 0)
		return;
}

int check_child_result(struct check_child *c, int *ret_status)
{
	struct answer a;
	ssize_t got = recv(c->sock, &a, sizeof(a), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got != sizeof(a))
		return CHECK_NOT_RUN;
	*ret_status = a.status;
	return a.end;
}
