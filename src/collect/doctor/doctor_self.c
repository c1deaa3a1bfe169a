/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof that nothing stays: a child does what `heldup why` does (loads
 * and attaches everything), is killed so that it can clean up nothing, and
 * the ids of the programs it held are looked up again.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "collect/live/bpf_links.h"
#include "collect/doctor/doctor.h"
#include "collect/select.h"
#include "collect/source.h"

#define LOAD_TIMEOUT_MS 30000
#define GONE_TIMEOUT_NS (5 * NS_PER_SEC) /* programs are freed after a grace period */
#define POLL_US 10000

/* The child's report: how it went, and in which words. */
struct child_word {
	int code;
	int stacks_code; /* of the load with stacks; if it failed, code is of one without */
	char msg[ERR_MSG_MAX];
};

static void __attribute__((noreturn)) run_child(int fd, pid_t watched)
{
	struct err err = {0};
	int32_t pid = watched;
	struct select_opts select = {.pids = {.items = &pid, .cnt = 1}};
	struct watch_opts opts = {.select = &select, .stacks = 1, .stacks_or_fail = 1};
	struct source *src = NULL;
	struct child_word word = {0};

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* never outlives doctor */
	word.code = word.stacks_code = source_live(&opts, &src, &err);
	if (word.code < 0) {
		err = (struct err){0};
		opts.stacks = 0;
		word.code = source_live(&opts, &src, &err);
	}
	memcpy(word.msg, err.msg, sizeof(word.msg));
	if (write(fd, &word, sizeof(word)) != (ssize_t)sizeof(word))
		_exit(1);
	if (word.code == 0)
		for (;;)
			pause();
	_exit(0);
}

static void await_word(int fd, struct child_word *ret_word)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	int ready;

	*ret_word = (struct child_word){.code = -EIO};
	do {
		ready = poll(&pfd, 1, LOAD_TIMEOUT_MS);
	} while (ready < 0 && errno == EINTR);
	if (ready == 0)
		snprintf(ret_word->msg, sizeof(ret_word->msg), "not loaded after %d s",
			 LOAD_TIMEOUT_MS / 1000);
	else if (read(fd, ret_word, sizeof(*ret_word)) != (ssize_t)sizeof(*ret_word))
		snprintf(ret_word->msg, sizeof(ret_word->msg), "the child that loads ended early");
	ret_word->msg[sizeof(ret_word->msg) - 1] = '\0';
}

/* Programs of the list that pid held and that are still there after a while. */
static size_t count_left(const struct attached *before, uint32_t pid)
{
	uint64_t until = clock_mono_ns() + GONE_TIMEOUT_NS;
	size_t left;

	for (;;) {
		left = 0;
		for (size_t i = 0; i < before->prog_cnt && i < ATTACHED_MAX; i++)
			left += before->progs[i].pid == pid &&
				attached_prog_exists(before->progs[i].id);
		if (!left || clock_mono_ns() >= until)
			return left;
		usleep(POLL_US);
	}
}

static void judge(struct doctor *d, pid_t child, const struct child_word *word, uint64_t took_ns)
{
	static const struct doctor_mend cannot = {"everything", "see the failed checks above"};
	static const struct doctor_mend stays = {"the kernel keeps running heldup's programs",
						 "report it; a reboot removes them"};
	static const struct doctor_mend refused = {"functions under the chain; heldup stacks",
						   "report it with the kernel's version"};
	struct attached *a = arena_alloc(d->arena, sizeof(*a));
	int err = word->code ? 0 : attached_read(a);
	uint64_t killed_ns = clock_mono_ns();

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (word->code) {
		doctor_add(d, DOCTOR_FAILED, "self-test", "load and attach", &cannot, "%s",
			   word->msg);
		return;
	}
	doctor_add(d, DOCTOR_OK, "self-test", "load and attach", NULL, "in %.1f s",
		   (double)took_ns / 1e9);
	if (word->stacks_code)
		doctor_add(d, DOCTOR_DEGRADED, "self-test", "stacks", &refused, "%s",
			   "the kernel refused the programs that unwind");
	else
		doctor_add(d, DOCTOR_OK, "self-test", "stacks", NULL,
			   "the kernel took the programs that unwind");
	size_t held = err ? 0 : attached_held_by(a, (uint32_t)child);
	if (!held) {
		doctor_add(d, DOCTOR_INFO, "self-test", "after kill -9", NULL,
			   "unknown: the kernel does not list the programs (%s)",
			   err ? strerror(-err) : "none found");
		return;
	}
	size_t left = count_left(a, (uint32_t)child);
	uint64_t gone_ms = (clock_mono_ns() - killed_ns) / NS_PER_MS;
	if (left)
		doctor_add(d, DOCTOR_DEGRADED, "self-test", "after kill -9", &stays,
			   "%zu of %zu programs are still in the kernel", left, held);
	else
		doctor_add(d, DOCTOR_OK, "self-test", "after kill -9", NULL,
			   "all %zu programs left the kernel within %llu ms", held,
			   (unsigned long long)gone_ms);
}

void doctor_self_test(struct doctor *d)
{
	struct child_word word;
	int fds[2];
	pid_t self = getpid();
	uint64_t begin_ns = clock_mono_ns();

	if (pipe(fds) < 0)
		return;
	CLEANUP_CLOSE int read_fd = fds[0];
	fflush(NULL); /* or the child would write it again */
	pid_t child = fork();
	if (child == 0) {
		close(read_fd);
		run_child(fds[1], self);
	}
	close(fds[1]);
	if (child < 0)
		return;
	await_word(read_fd, &word);
	judge(d, child, &word, clock_mono_ns() - begin_ns);
}
