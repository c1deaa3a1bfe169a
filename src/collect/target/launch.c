/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -- CMD: a child that waits on a socket pair before it executes the
 * command.  The same pair, closed by a successful exec, brings back the
 * error of one that fails.  If heldup is killed meanwhile, the child reads
 * the end of the stream and ends.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/stop.h"
#include "collect/target/target.h"

#define EXIT_NOT_RUN 127

static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return -EACCES;
	return 0;
}

/* Before anything is attached: a mistyped name should cost nothing. */
static int check_command(const char *name, struct err *err)
{
	const char *path = getenv("PATH");
	int ret = -ENOENT;

	if (strchr(name, '/')) {
		ret = check_file(name);
		return ret ? err_errno(err, ret, "cannot run '%s'", name) : 0;
	}
	for (const char *dir = path ? path : "/usr/bin:/bin"; *dir && *name && ret;) {
		size_t len = strcspn(dir, ":");
		CLEANUP_FREE char *file =
			xasprintf("%.*s/%s", len ? (int)len : 1, len ? dir : ".", name);
		ret = check_file(file);
		dir += len;
		dir += *dir == ':';
	}
	if (ret)
		return err_set(err, -ENOENT, "no command '%s' in PATH: give its path", name);
	return 0;
}

static void __attribute__((noreturn)) run_child(int fd, char *const *argv)
{
	char byte;
	ssize_t got;
	sigset_t none;

	do {
		got = read(fd, &byte, 1);
	} while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(EXIT_NOT_RUN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	stop_child();
	execvp(argv[0], argv);
	int code = errno;
	if (write(fd, &code, sizeof(code)) < 0)
		_exit(EXIT_NOT_RUN);
	_exit(EXIT_NOT_RUN);
}

int target_launch(struct target *t, char *const *argv, struct err *err)
{
	int pair[2];
	int ret = check_command(argv[0], err);

	if (ret)
		return ret;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, -errno, "start '%s'", argv[0]);
	fflush(NULL); /* or the child would write it again */
	pid_t pid = fork();
	if (pid < 0) {
		ret = -errno;
		close(pair[0]);
		close(pair[1]);
		return err_errno(err, ret, "start '%s'", argv[0]);
	}
	if (pid == 0) {
		close(pair[0]);
		run_child(pair[1], argv);
	}
	close(pair[1]);
	t->child = pid;
	t->go_fd = pair[0];
	return 0;
}

int target_go(struct target *t, struct err *err)
{
	int code = 0;
	ssize_t got;

	if (!t->child || !t->go_fd)
		return 0;
	if (send(t->go_fd, "g", 1, MSG_NOSIGNAL) != 1)
		code = ECHILD;
	do {
		got = code ? 0 : read(t->go_fd, &code, sizeof(code));
	} while (got < 0 && errno == EINTR);
	close(t->go_fd);
	t->go_fd = 0;
	return code ? err_errno(err, -code, "run the command (pid %d)", (int)t->child) : 0;
}

bool target_ended(struct target *t, int *ret_status)
{
	if (!t->child)
		return false;
	if (!t->ended) {
		pid_t pid = waitpid(t->child, &t->status, WNOHANG);
		t->ended = pid == t->child || (pid < 0 && errno == ECHILD);
	}
	if (t->ended && ret_status)
		*ret_status = t->status;
	return t->ended;
}

void target_release(struct target *t)
{
	if (t->go_fd) { /* never let go: it ends by itself when the stream does */
		close(t->go_fd);
		while (!t->ended && waitpid(t->child, &t->status, 0) < 0 && errno == EINTR)
			;
	}
	free(t->tgids);
	free(t->start_ticks);
	free(t->chosen);
	free(t->selection);
	free(t->note);
	*t = (struct target){0};
}
