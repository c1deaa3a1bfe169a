/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs each case in a child with a pipe for what it prints, so that the output
 * of a failed case can follow its line and that of a good one is dropped.
 * The child's exit status says how it ended: 0 good, 1 failed, 2 skipped.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/clock.h"

enum { CASE_SECONDS_MAX = 120, WHY_MAX = 4096 };

extern const struct unit_case __start_unit_cases[];
extern const struct unit_case __stop_unit_cases[];

_Static_assert(sizeof(struct unit_case) == 32, "the section is read as an array");

static long current_row = -1;

void unit_row(long row)
{
	current_row = row;
}

void unit_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	if (current_row >= 0)
		printf("row %ld: ", current_row);
	printf("%s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

void unit_skip(const char *why)
{
	printf("%s\n", why);
	fflush(stdout);
	_exit(2);
}

bool unit_in_child(int *ret_signal)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		/* the message of the abort is expected: not shown */
		int null_fd = open("/dev/null", O_WRONLY);

		dup2(null_fd, 2);
		return true;
	}
	waitpid(pid, &status, 0);
	*ret_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return false;
}

void unit_same_text(const char *file, int line, const char *expr, const char *got,
		    const char *want)
{
	size_t at = 0, start = 0;

	if (!got && !want)
		return;
	if (!got || !want)
		unit_fail(file, line, "%s is %s%s%s, not %s%s%s", expr, got ? "\"" : "",
			  got ? got : "NULL", got ? "\"" : "", want ? "\"" : "",
			  want ? want : "NULL", want ? "\"" : "");
	if (strcmp(got, want) == 0)
		return;
	for (; got[at] && got[at] == want[at]; at++)
		if (got[at] == '\n')
			start = at + 1;
	unit_fail(file, line, "%s differs at byte %zu:\n\tgot:  %.200s\n\twant: %.200s", expr, at,
		  got + start, want + start);
}

struct outcome {
	int status; /* of waitpid, -1 when the time was over */
	char why[WHY_MAX];
};

/* Reads to the end of the pipe or to the deadline; false when time is over. */
static bool why_read(int fd, char *why)
{
	uint64_t deadline_ns = clock_mono_ns() + CASE_SECONDS_MAX * NS_PER_SEC;
	size_t len = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint64_t now_ns = clock_mono_ns();
		char rest[512];
		ssize_t got;

		if (now_ns >= deadline_ns)
			return false;
		if (poll(&p, 1, (int)((deadline_ns - now_ns) / NS_PER_MS) + 1) <= 0)
			continue;
		got = len + 1 < WHY_MAX ? read(fd, why + len, WHY_MAX - 1 - len)
					: read(fd, rest, sizeof(rest));
		if (got <= 0)
			return true;
		if (len + 1 < WHY_MAX)
			len += (size_t)got;
		why[len] = '\0';
	}
}

static void case_run(const struct unit_case *c, struct outcome *out)
{
	int fds[2];
	pid_t pid;

	out->why[0] = '\0';
	if (pipe2(fds, O_CLOEXEC) < 0)
		exit(1);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		dup2(fds[1], 1);
		dup2(fds[1], 2);
		close(fds[1]);
		c->run();
		fflush(stdout);
		exit(0); /* not _exit: the leak checker runs here */
	}
	setpgid(pid, pid);
	close(fds[1]);
	if (!why_read(fds[0], out->why)) {
		kill(-pid, SIGKILL);
		waitpid(pid, NULL, 0);
		out->status = -1;
	} else {
		waitpid(pid, &out->status, 0);
	}
	close(fds[0]);
}

/* 0 good, 1 failed, 2 skipped; the first line of why stands on the case's line. */
static int case_print(const struct unit_case *c, struct outcome *out)
{
	size_t first = strcspn(out->why, "\n");
	int rc = out->status != -1 && WIFEXITED(out->status) ? WEXITSTATUS(out->status) : 1;

	if (rc == 0) {
		printf("ok %s\n", c->name);
		return 0;
	}
	if (rc == 2) {
		printf("skip %s: %.*s\n", c->name, (int)first, out->why);
		return 2;
	}
	if (out->status == -1)
		printf("FAIL %s: not done after %d s: ", c->name, CASE_SECONDS_MAX);
	else if (WIFSIGNALED(out->status))
		printf("FAIL %s: died by %s: ", c->name, strsignal(WTERMSIG(out->status)));
	else
		printf("FAIL %s: ", c->name);
	printf("%.*s\n", (int)first, out->why);
	if (out->why[first] && out->why[first + 1])
		printf("%s", out->why + first + 1);
	return 1;
}

struct choice { const char *prefix; bool list, same_process; int jobs; };

/* Every jobs-th case from the one at place first on; 1 when one failed. */
static int cases_run(const struct choice *o, int first)
{
	struct outcome out;
	int failed = 0, at = 0;

	for (const struct unit_case *c = __start_unit_cases; c < __stop_unit_cases; c++) {
		if (strncmp(c->name, o->prefix, strlen(o->prefix)) != 0 ||
		    at++ % o->jobs != first)
			continue;
		if (o->list) {
			printf("%s %s\n", c->name, c->file);
		} else if (o->same_process) {
			c->run();
			printf("ok %s\n", c->name);
		} else {
			case_run(c, &out);
			failed |= case_print(c, &out) == 1;
		}
		fflush(stdout); /* a case at a time: others print too */
	}
	return failed;
}

/* usage: unit [-l | -s] [-j JOBS] [PREFIX] */
int main(int argc, char **argv)
{
	struct choice o = {.prefix = "", .jobs = 1};
	int failed = 0, status;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-l") == 0)
			o.list = true;
		else if (strcmp(argv[i], "-s") == 0)
			o.same_process = true;
		else if (strcmp(argv[i], "-j") == 0 && i + 1 < argc)
			o.jobs = (int)strtol(argv[++i], NULL, 10);
		else
			o.prefix = argv[i];
	}
	o.jobs = o.jobs > 0 && !o.list && !o.same_process ? o.jobs : 1;
	for (int job = 1; job < o.jobs; job++) {
		pid_t pid = fork();

		if (pid == 0)
			exit(cases_run(&o, job));
		failed |= pid < 0;
	}
	failed |= cases_run(&o, 0);
	while (wait(&status) > 0)
		failed |= status != 0;
	return failed;
}
