/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/judge.h"

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
#include "base/clock.h"
#include "store/cut.h"

enum { PATH_LEN = 4096 };

extern char **environ;

struct judge {
	char *state_dir;
	struct judging {
		uint64_t finding;
		struct cut_time time;
	} queue[JUDGE_QUEUE];
	uint32_t cnt;
	pid_t pid;		/* 0: none runs */
	uint64_t until_ns;
};

struct judge *judge_new(const char *state_dir)
{
	struct judge *j = xcalloc(1, sizeof(*j));

	j->state_dir = xstrdup(state_dir);
	return j;
}

static void end(struct judge *j)
{
	if (!j->pid)
		return;
	kill(j->pid, SIGKILL);
	while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
		;
	j->pid = 0;
}

void judge_free(struct judge *j)
{
	if (!j)
		return;
	end(j);
	free(j->state_dir);
	free(j);
}

bool judge_add(struct judge *j, uint64_t finding, const struct cut_time *time)
{
	for (uint32_t i = j->pid ? 1 : 0; i < j->cnt; i++)
		if (j->queue[i].finding == finding) {
			j->queue[i].time = *time;
			return true;
		}
	if (j->cnt == JUDGE_QUEUE)
		return false;
	j->queue[j->cnt++] = (struct judging){finding, *time};
	return true;
}

unsigned judge_time_args(const struct cut_time *time, struct judge_time *room, char **ret_args)
{
	unsigned cnt = 0;

	snprintf(room->since, sizeof(room->since), "@%llu.%09llu",
		 (unsigned long long)(time->from_ns / NS_PER_SEC),
		 (unsigned long long)(time->from_ns % NS_PER_SEC));
	snprintf(room->until, sizeof(room->until), "@%llu.%09llu",
		 (unsigned long long)(time->until_ns / NS_PER_SEC),
		 (unsigned long long)(time->until_ns % NS_PER_SEC));
	if (time->from_ns) {
		ret_args[cnt++] = (char *)(uintptr_t)"--since";
		ret_args[cnt++] = room->since;
	}
	if (time->until_ns > time->from_ns) {
		ret_args[cnt++] = (char *)(uintptr_t)"--until";
		ret_args[cnt++] = room->until;
	}
	return cnt;
}

char *judge_path(const char *state_dir, uint64_t finding, enum judge_file what, char *ret,
		 uint64_t size)
{
	static const char *const ends[] = {"heldup", "json", "html"};

	snprintf(ret, size, "%s/captures/%llu.%s", state_dir, (unsigned long long)finding,
		 ends[what]);
	return ret;
}

/* The pid, or 0. */
static pid_t start(struct judge *j, const struct judging *it)
{
	char capture[PATH_LEN], json[PATH_LEN], page[PATH_LEN];
	char *argv[7 + JUDGE_TIME_ARGS + 1] = {"heldup", "why", "-i", capture, "--json", "--html",
					       page};
	posix_spawn_file_actions_t files;
	struct judge_time room;
	uint64_t finding = it->finding;
	pid_t pid;

	judge_path(j->state_dir, finding, JUDGE_CAPTURE, capture, sizeof(capture));
	judge_path(j->state_dir, finding, JUDGE_JSON, json, sizeof(json));
	judge_path(j->state_dir, finding, JUDGE_PAGE, page, sizeof(page));
	judge_time_args(&it->time, &room, argv + 7);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, json, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (posix_spawn(&pid, "/proc/self/exe", &files, NULL, argv, environ) != 0)
		pid = 0;
	posix_spawn_file_actions_destroy(&files);
	return pid;
}

static void drop_first(struct judge *j)
{
	memmove(j->queue, j->queue + 1, --j->cnt * sizeof(*j->queue));
}

bool judge_step(struct judge *j, uint64_t *ret_finding, int *ret_code)
{
	int status = 0;

	if (!j->cnt)
		return false;
	*ret_finding = j->queue[0].finding;
	if (!j->pid) {
		j->pid = start(j, &j->queue[0]);
		j->until_ns = clock_mono_ns() + JUDGE_NS;
		if (j->pid)
			return false;
		*ret_code = -ECHILD;
		drop_first(j);
		return true;
	}
	if (waitpid(j->pid, &status, WNOHANG) == j->pid) {
		j->pid = 0;
		*ret_code = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
	} else if (clock_mono_ns() > j->until_ns) {
		end(j);
		*ret_code = -ETIMEDOUT;
	} else {
		return false;
	}
	drop_first(j);
	return true;
}
