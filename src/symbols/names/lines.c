/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parent and child share a socket: a question goes with the file's descriptor
 * the first time, the answer comes back as a struct lines_answer cut to its
 * frames.  The child is a fork that never returns; it keeps what it opened.
 */
#include "symbols/names/lines.h"

#include <errno.h>

#ifdef HAVE_LIBDW

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/rights.h"
#include "base/timed/timed_call.h"
#include "symbols/names/lines_int.h"

enum { NOBODY = 65534, CPU_SECONDS = 60, FILES_MAX = 256 };

struct lines {
	int sock; /* -1: no child */
	pid_t pid;
	uint64_t left_ns;
	struct hmap sent; /* keys that this child has */
	struct hmap bad;  /* keys of files that a child died of */
};

static void stop_child(struct lines *l)
{
	if (l->sock < 0)
		return;
	close(l->sock);
	timed_call_end_child(l->pid);
	l->sock = -1;
	hmap_clear(&l->sent);
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	stop_child(l);
	hmap_release(&l->sent);
	hmap_release(&l->bad);
	free(l);
}

/* Address space in use, most of it the parent's. */
static rlim_t own_bytes(void)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	return f && fscanf(f, "%llu", &pages) == 1 ? pages * 4096 : 0;
}

/* No rights, no new files, no more memory and time than it may need. */
static void drop_all(void)
{
	const struct {
		int what;
		rlim_t max;
	} limits[] = {
		{RLIMIT_AS, own_bytes() + LINES_MEMORY_MAX},
		{RLIMIT_CPU, CPU_SECONDS},
		{RLIMIT_CORE, 0},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_NPROC, 0},
	};

	bool is_nobody = geteuid() != 0;

	rights_bound();
	/* one that is started late may not: all that it has left is its filter */
	if (!is_nobody && setgroups(0, NULL) == 0)
		is_nobody = setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
			    setresuid(NOBODY, NOBODY, NOBODY) == 0;
	if (rights_drop_child() < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the user, whose change clears it */
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit r = {limits[i].max, limits[i].max};

		setrlimit((__rlimit_resource_t)limits[i].what, &r);
	}
	/* where the kernel has none nobody must do without */
	if (rights_filter(RIGHTS_READS_DESCRIPTORS) < 0 && !is_nobody)
		_exit(1);
}

static int start_child(struct lines *l)
{
	int pair[2];

	if (l->sock >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	l->pid = fork();
	if (l->pid == 0) {
		/* of the parent's descriptors only this one is left */
		int sock = dup2(pair[1], 3);

		if (sock != 3 || close_range(4, ~0u, 0) < 0)
			_exit(1);
		signal(SIGINT, SIG_IGN); /* Ctrl-C is for the parent, which ends us */
		drop_all();
		lines_child(sock);
		_exit(0);
	}
	close(pair[1]);
	if (l->pid < 0) {
		close(pair[0]);
		return -EAGAIN;
	}
	l->sock = pair[0];
	return 0;
}

struct lines *lines_new(uint32_t budget_ms)
{
	struct lines *l = xcalloc(1, sizeof(*l));

	l->sock = -1;
	l->left_ns = budget_ms * NS_PER_MS;
	start_child(l); /* else the first question does */
	return l;
}

static int send_question(struct lines *l, int fd, uint32_t key, uint64_t vaddr)
{
	struct lines_question q = {.vaddr = vaddr, .key = key};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {&q, sizeof(q)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (!hmap_get(&l->sent, key, NULL)) {
		struct cmsghdr *c = &control.align;

		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
		hmap_put(&l->sent, key, 1);
	}
	return sendmsg(l->sock, &msg, MSG_NOSIGNAL) == sizeof(q) ? 0 : -EIO;
}

/* Checks the answer like any other input: a taken-over child could send it. */
static int take_answer(struct lines *l, uint64_t wait_ns, struct lines_answer *ret)
{
	struct pollfd p = {.fd = l->sock, .events = POLLIN};
	size_t head = offsetof(struct lines_answer, frames);
	ssize_t got;

	if (poll(&p, 1, (int)(wait_ns / NS_PER_MS) + 1) <= 0)
		return -ETIME;
	got = recv(l->sock, ret, sizeof(*ret), 0);
	if (got < (ssize_t)head || ret->frame_cnt > LINES_FRAME_MAX ||
	    (size_t)got != head + ret->frame_cnt * sizeof(ret->frames[0]))
		return -EIO;
	for (uint32_t i = 0; i < ret->frame_cnt; i++) {
		ret->frames[i].fn[LINES_TEXT_MAX - 1] = '\0';
		ret->frames[i].file[LINES_TEXT_MAX - 1] = '\0';
	}
	return 0;
}

int lines_find(struct lines *l, int fd, uint32_t key, uint64_t vaddr, struct lines_answer *ret)
{
	uint64_t start_ns = clock_mono_ns(), used_ns;
	uint64_t wait_ns = l->left_ns < LINES_ONE_MS * NS_PER_MS ? l->left_ns
								 : LINES_ONE_MS * NS_PER_MS;
	int code;

	ret->frame_cnt = 0;
	if (hmap_get(&l->bad, key, NULL))
		return -EIO;
	if (!l->left_ns)
		return -ETIME;
	if (l->sent.cnt >= FILES_MAX && !hmap_get(&l->sent, key, NULL))
		stop_child(l); /* it keeps each file open */
	code = start_child(l);
	if (code == 0)
		code = send_question(l, fd, key, vaddr);
	if (code == 0)
		code = take_answer(l, wait_ns, ret);
	if (code < 0) {
		ret->frame_cnt = 0;
		hmap_put(&l->bad, key, 1);
		stop_child(l);
	}
	used_ns = clock_mono_ns() - start_ns;
	l->left_ns -= used_ns < l->left_ns ? used_ns : l->left_ns;
	return code;
}

#else

struct lines *lines_new(uint32_t budget_ms)
{
	(void)budget_ms;
	return (struct lines *)0;
}

void lines_free(struct lines *l)
{
	(void)l;
}

int lines_find(struct lines *l, int fd, uint32_t key, uint64_t vaddr, struct lines_answer *ret)
{
	(void)l;
	(void)fd;
	(void)key;
	(void)vaddr;
	ret->frame_cnt = 0;
	return -ENOTSUP;
}

#endif
