/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARGET_H
#define TARGET_H
/*
 * Which processes the user means: resolves -p, --comm, -g, -u, --container, --port and -a
 * to process ids, and starts -- CMD.  Reads /proc and cgroup files only;
 * following new children afterwards is the kernel side's work.
 *
 *	struct target t = {0};
 *	target_resolve(&opts, &t, &err) ... target_go(&t, &err) ... target_release(&t)
 *
 * Descendants that exist of the chosen processes are watched too, except of
 * pid 1 and of kernel threads, and never heldup itself.
 *
 * With -- CMD the command exists after target_resolve but has not been
 * executed: it waits until target_go, so that its first instruction is seen.
 *
 * Bounds: TARGET_MAX processes; more are left out and counted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct select_opts;

#define TARGET_MAX 8192

struct target {
	uint32_t *tgids;	/* ascending, without duplicates, no kernel threads unless by -p */
	uint32_t *start_ticks;	/* of each, its low half: when it began; 0 unknown */
	size_t cnt;
	uint32_t *chosen;	/* those that were meant; the rest are their descendants */
	size_t chosen_cnt;
	uint32_t kthread_cnt;	/* among tgids */
	uint32_t dropped_cnt;	/* over TARGET_MAX */
	char *selection;	/* for a person: "port 80: nginx, 3 processes" */
	char *note;		/* what else to tell: threads, descendants, pid 1; or "" */
	pid_t child;		/* -- CMD: its pid, 0 otherwise */
	/* own to launch.c: */
	int go_fd;		/* to the waiting child, 0 none */
	bool ended;
	int status;
};

/*
 * -ESRCH no such process or nothing matches, -EINVAL (ERR_USAGE) a selection
 * that makes no sense, such as heldup itself, -EPERM rights, -ENOENT no such
 * cgroup, unit or command, -E2BIG too many ids given.
 * *ret_target is filled only on success and released with target_release.
 */
int target_resolve(const struct select_opts *opts, struct target *ret_target, struct err *err);

/* The process of tgids[idx] has ended; another may have its number by now. */
bool target_is_gone(const struct target *t, size_t idx);

/* -- CMD: starts it, waiting.  Called by target_resolve. */
int target_launch(struct target *t, char *const *argv, struct err *err);

/* -- CMD: lets it run.  -errno of its exec, with a message.  0 where there is no command. */
int target_go(struct target *t, struct err *err);

/*
 * -- CMD: true once it ended, *ret_status as from waitpid; does not block.
 * False where there is no command.
 */
bool target_ended(struct target *t, int *ret_status);

/* A command not let go yet is killed; one that runs is left alone.  All-zero is fine. */
void target_release(struct target *t);

#endif /* TARGET_H */
