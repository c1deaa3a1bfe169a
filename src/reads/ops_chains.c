/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following lists in another process' memory.  Memory is read a page at a time:
 * frames of an interpreter lie side by side, and a page takes hardly longer
 * than eight bytes.  /proc/PID/mem, as in op_mem: SIGKILL ends a wait for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "reads/chains.h"
#include "reads/ops.h"

#define PAGE UINT64_C(4096)
#define STATUS_LEN 4096

struct pages { /* the last page read, of /proc/PID/mem */
	int fd;
	uint64_t at;
	size_t len; /* 0: none */
	char bytes[4096];
};

static int page_read(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct pages *p = ctx;
	ssize_t got;

	while (len) {
		uint64_t page = addr & ~(PAGE - 1), off = addr - page;
		size_t part = len < PAGE - off ? len : (size_t)(PAGE - off);

		if (page > INT64_MAX)
			return -EFAULT;
		if (!p->len || p->at != page) {
			p->len = 0;
			got = pread(p->fd, p->bytes, PAGE, (off_t)page);
			if (got != (ssize_t)PAGE)
				return got < 0 ? -errno : -EFAULT;
			p->at = page;
			p->len = PAGE;
		}
		memcpy(out, p->bytes + off, part);
		out = (char *)out + part;
		addr += part;
		len -= part;
	}
	return 0;
}

static bool number_of(const char *text, const char *key, uint64_t *ret)
{
	const char *at = strstr(text, key);

	return at && sscanf(at + strlen(key), "%" SCNu64, ret) == 1;
}

/* The switches of a thread that sleeps: 0; -EAGAIN it does not, -ESRCH gone. */
static int switches_of(uint32_t tgid, uint32_t tid, uint64_t *ret)
{
	char path[64], text[STATUS_LEN];
	uint64_t own, forced;
	const char *state;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", tgid, tid);
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	len = read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return -ESRCH;
	text[len] = '\0';
	state = strstr(text, "\nState:\t");
	if (!state || !number_of(text, "\nvoluntary_ctxt_switches:", &own) ||
	    !number_of(text, "\nnonvoluntary_ctxt_switches:", &forced))
		return -ESRCH;
	*ret = own + forced + 1; /* never 0 */
	return state[8] && strchr("SDTt", state[8]) ? 0 : -EAGAIN;
}

static bool is_fine(const struct read_chains *a)
{
	const struct chain_shape *s = &a->shape;

	return a->range_cnt <= CHAIN_RANGES && a->item_cnt <= CHAIN_ITEMS &&
	       s->step_cnt <= CHAIN_STEPS && s->elem_len >= 8 && s->elem_len <= CHAIN_ELEM_MAX &&
	       s->elem_len % 8 == 0 &&
	       s->next_off <= s->elem_len - 8 && s->stride <= CHAIN_ELEM_MAX &&
	       s->back <= CHAIN_ELEM_MAX && s->head_len <= s->elem_len &&
	       s->ref_len <= s->elem_len - 8 && s->ref_off <= s->elem_len - s->ref_len - 8;
}

static void one_chain(struct pages *p, const struct read_chains *a, const struct chain_item *it,
		      struct chain_out *ret, size_t room)
{
	const struct chain_mem mem = {page_read, p};
	uint64_t after;
	int rc = it->tid ? switches_of(a->tid, it->tid, &ret->switches) : 0;
	long cnt;

	ret->begin_ns = ret->end_ns = clock_mono_ns();
	ret->state = rc == -ESRCH ? CHAIN_GONE : rc < 0 ? CHAIN_RUNS : CHAIN_READ;
	if (rc < 0)
		return;
	if (it->tid && it->switches == ret->switches) {
		ret->state = CHAIN_SAME;
		return;
	}
	p->len = 0;
	cnt = chain_follow(&mem, a, it, (char *)(ret + 1), room);
	ret->end_ns = clock_mono_ns();
	if (it->tid && (switches_of(a->tid, it->tid, &after) < 0 || after != ret->switches))
		ret->state = CHAIN_RUNS;
	else if (cnt < 0)
		ret->state = CHAIN_BAD;
	else
		ret->cnt = (uint32_t)cnt;
}

long op_chains(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct read_chains *a = args;
	struct pages p = {.fd = -1};
	size_t used = 0;
	char path[64];

	(void)ret_fd;
	if (args_len < sizeof(*a) || !is_fine(a))
		return -EINVAL;
	if (!bound_allows(a->tid))
		return -EDQUOT;
	snprintf(path, sizeof(path), "/proc/%u/mem", a->tid);
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	p.fd = fd;
	for (uint32_t i = 0; i < a->item_cnt; i++) {
		struct chain_out *one = (void *)(out + used);

		if (cap - used < sizeof(*one))
			return -E2BIG;
		*one = (struct chain_out){0};
		one_chain(&p, a, &a->items[i], one, cap - used - sizeof(*one));
		used += sizeof(*one) + one->cnt * (sizeof(uint64_t) + a->shape.elem_len);
	}
	return (long)used;
}
