/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tell/announce.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "serve/keep/db.h"

extern char **environ;

struct announce {
	const char *command;
	struct webhook *webhook;
	char *queue[ANNOUNCE_QUEUE]; /* JSON, under 4 KiB: a pipe takes it at once */
	uint32_t cnt;
	pid_t pid;		     /* 0: none runs */
	uint64_t until_ns, lost_cnt;
};

struct announce *announce_new(const struct announce_opts *opts)
{
	const char *command = opts->command;
	struct announce *a = xcalloc(1, sizeof(*a));

	a->command = command && *command ? command : NULL;
	a->webhook = webhook_new(opts->webhook, opts->format);
	return a;
}

/* In a process group of its own, so that all it began ends with it. */
static void end(struct announce *a)
{
	kill(-a->pid, SIGKILL);
	while (waitpid(a->pid, NULL, 0) < 0 && errno == EINTR)
		;
	a->pid = 0;
}

void announce_free(struct announce *a)
{
	if (!a)
		return;
	if (a->pid)
		end(a);
	for (uint32_t i = 0; i < a->cnt; i++)
		free(a->queue[i]);
	webhook_free(a->webhook);
	free(a);
}

uint64_t announce_lost(const struct announce *a)
{
	return a->lost_cnt;
}

uint64_t announce_posted(const struct announce *a, uint64_t *ret_lost)
{
	*ret_lost = webhook_lost(a->webhook);
	return webhook_sent(a->webhook);
}

static void put_log(const char *event, const struct db_finding *f)
{
	const char *what = strcmp(event, "judged") == 0 && *f->summary ? f->summary : f->reason;

	log_info("finding %llu of %s %s: %s%s%s", (unsigned long long)f->id, f->service, event,
		 f->title, *f->title ? ": " : "", what);
}

void announce(struct announce *a, const char *event, const struct db_finding *f)
{
	struct buf out = {0};

	put_log(event, f);
	webhook_add(a->webhook, event, f);
	if (!a->command)
		return;
	if (a->cnt == ANNOUNCE_QUEUE) {
		a->lost_cnt++;
		return;
	}
	webhook_body(WEBHOOK_PLAIN, event, f, &out);
	a->queue[a->cnt++] = buf_detach(&out);
}

static pid_t start(const char *command, const char *json)
{
	char *argv[] = {"sh", "-c", (char *)(uintptr_t)command, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[0], 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	if (posix_spawn(&pid, "/bin/sh", &files, &attr, argv, environ) != 0)
		pid = 0;
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	close(ends[0]);
	if (pid)
		file_write_all(ends[1], json, strlen(json));
	close(ends[1]);
	return pid;
}

void announce_step(struct announce *a)
{
	int status;

	webhook_step(a->webhook);
	if (a->pid && waitpid(a->pid, &status, WNOHANG) == a->pid) {
		a->lost_cnt += !WIFEXITED(status) || WEXITSTATUS(status);
		a->pid = 0;
	} else if (a->pid && clock_mono_ns() > a->until_ns) {
		a->lost_cnt++;
		end(a);
	}
	if (a->pid || !a->cnt)
		return;
	a->pid = start(a->command, a->queue[0]);
	a->lost_cnt += !a->pid;
	a->until_ns = clock_mono_ns() + ANNOUNCE_NS;
	free(a->queue[0]);
	memmove(a->queue, a->queue + 1, --a->cnt * sizeof(*a->queue));
}
