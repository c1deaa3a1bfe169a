/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose memory the readers hand out.  The list lies in memory that the keeper
 * shares with its readers, so it outlives one that hangs; the parent has none of
 * it, and can only add to it until it is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "reads/ops.h"

#define CHOSEN_MAX 8192 /* TARGET_MAX */
#define OTHERS_MAX 256
#define DEPTH_MAX 64 /* of a chain of parents */

static struct bound {
	uint32_t is_closed, others_max;
	uint32_t chosen_cnt, others_cnt;
	struct read_bind_proc chosen[CHOSEN_MAX]; /* by tgid when it is closed */
	struct read_bind_proc others[OTHERS_MAX]; /* in the order in which they were asked for */
} *bound;

void bound_make(void)
{
	void *at = mmap(NULL, sizeof(*bound), PROT_READ | PROT_WRITE,
			/* cppcheck-suppress invalidFunctionArg */
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	bound = at == MAP_FAILED ? NULL : at;
}

long read_some(const char *path, char *out, size_t len)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 1;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (used < len && (got = read(fd, out + used, len - used)) > 0)
		used += (size_t)got;
	return got < 0 && !used ? -errno : (long)used;
}

static int by_tgid(const void *a, const void *b)
{
	uint32_t x = ((const struct read_bind_proc *)a)->tgid;
	uint32_t y = ((const struct read_bind_proc *)b)->tgid;

	return x < y ? -1 : x > y;
}

long op_bind(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct read_bind *a = args;

	(void)args_len;
	(void)out;
	(void)cap;
	(void)ret_fd;
	if (!bound)
		return -ENOMEM;
	if (bound->is_closed)
		return -EPERM;
	if (a->cnt > READ_BIND_MAX || a->cnt > CHOSEN_MAX - bound->chosen_cnt)
		return -E2BIG;
	memcpy(bound->chosen + bound->chosen_cnt, a->list, a->cnt * sizeof(a->list[0]));
	bound->chosen_cnt += a->cnt;
	if (!a->is_last)
		return 0;
	qsort(bound->chosen, bound->chosen_cnt, sizeof(bound->chosen[0]), by_tgid);
	bound->others_max = a->others_max < OTHERS_MAX ? a->others_max : OTHERS_MAX;
	bound->is_closed = 1;
	return 0;
}

/* The process of a thread, when it began (its low half), and its parent. */
static bool process_of(uint32_t tid, struct read_bind_proc *ret, uint32_t *ret_ppid)
{
	char path[64], text[4096], *at;
	unsigned long long start;
	long len;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	len = read_some(path, text, sizeof(text) - 1);
	text[len > 0 ? len : 0] = '\0';
	at = strstr(text, "\nTgid:");
	if (!at || sscanf(at, "\nTgid: %u", &ret->tgid) != 1)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/stat", ret->tgid);
	len = read_some(path, text, sizeof(text) - 1);
	text[len > 0 ? len : 0] = '\0';
	at = strrchr(text, ')'); /* its name may hold anything */
	if (!at || sscanf(at, ") %*c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			      "%*d %*d %*d %llu", ret_ppid, &start) != 2)
		return false;
	ret->start_ticks = (uint32_t)start;
	return true;
}

static bool is_chosen(const struct read_bind_proc *p)
{
	const struct read_bind_proc *it = bsearch(p, bound->chosen, bound->chosen_cnt,
						  sizeof(bound->chosen[0]), by_tgid);

	return it && (!it->start_ticks || it->start_ticks == p->start_ticks);
}

/* Followed here on the first question; later its parent may have gone. */
static bool descends(uint32_t ppid)
{
	struct read_bind_proc p;

	for (unsigned depth = 0; depth < DEPTH_MAX && ppid > 1; depth++) {
		if (!process_of(ppid, &p, &ppid))
			return false;
		if (is_chosen(&p))
			return true;
	}
	return false;
}

bool bound_allows(uint32_t tid)
{
	struct read_bind_proc p;
	uint32_t ppid;

	if (!bound || !bound->is_closed)
		return true;
	if (!process_of(tid, &p, &ppid))
		return false;
	if (is_chosen(&p))
		return true;
	for (uint32_t i = 0; i < bound->others_cnt; i++)
		if (memcmp(&bound->others[i], &p, sizeof(p)) == 0)
			return true;
	if (descends(ppid))
		return true;
	if (bound->others_cnt >= bound->others_max)
		return false;
	bound->others[bound->others_cnt++] = p;
	return true;
}
