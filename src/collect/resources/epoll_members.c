/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/resources/epoll_members.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "collect/emit.h"
#include "collect/resources/resource_names.h"
#include "collect/proc/procfs.h"
#include "collect/resources/resindex.h"
#include "reads/reads.h"
#include "wire/wire.h"

#define FDINFO_MAX (4 << 20) /* a line of 70 bytes for each member */
#define SETSIZE_MAX 65536 /* descriptors of a select set that are looked at */

static int hex_value(const char *text, const char *key, uint64_t *ret_value)
{
	const char *p = strstr(text, key);
	unsigned digits = 0;
	uint64_t value = 0;

	if (!p)
		return -EINVAL;
	for (p += strlen(key); *p == ' '; p++)
		;
	for (;; p++, digits++) {
		unsigned digit;
		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		else
			break;
		value = value << 4 | digit;
	}
	if (digits == 0 || digits > 16)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int members_parse_tfd(const char *line, struct member_line *ret_line)
{
	uint64_t fd, events, ino, dev;
	const char *p = line + 4;

	if (strncmp(line, "tfd:", 4) != 0)
		return -EINVAL;
	while (*p == ' ')
		p++;
	if (procfs_parse_u64(p, INT32_MAX, &fd, NULL) < 0 ||
	    hex_value(line, "events:", &events) < 0 || hex_value(line, "ino:", &ino) < 0 ||
	    hex_value(line, "sdev:", &dev) < 0 || events > UINT32_MAX || dev > UINT32_MAX)
		return -EINVAL;
	*ret_line = (struct member_line){.fd = (int32_t)fd,
					 .events = (uint32_t)events,
					 .dev = (uint32_t)dev,
					 .ino = ino};
	return 0;
}

struct member_walk {
	struct emit *e;
	struct names *n;
	const struct resindex *x;
	const struct wire_res *set;
	struct members_stat *stat;
	uint64_t ts_ns;
	uint32_t cnt;
};

/* dev 0: not known, the link's text decides. */
static void emit_member(struct member_walk *w, const struct member_line *m)
{
	char link[PATH_MAX];
	uint64_t ino = m->ino, now_ino;

	if (w->cnt >= MEMBERS_MAX) {
		w->stat->over_cnt++;
		return;
	}
	w->cnt++;
	if (procfs_fd(w->set->tgid, m->fd, link, sizeof(link), &now_ino) == 0 && now_ino) {
		if (ino && now_ino != ino) /* the number was closed and given to another file */
			link[0] = '\0';
		ino = ino ? ino : now_ino;
	}
	uint64_t res = 0;
	if (strncmp(link, "socket:", 7) == 0)
		res = resindex_find_sock(w->x, ino);
	else if (strncmp(link, "pipe:", 5) == 0)
		res = resindex_find_pipe(w->x, ino);
	else if (m->dev && strncmp(link, "anon_inode:", 11) != 0)
		res = resindex_find(w->x, m->dev, ino);

	struct ev_member ev = {.set_res = w->set->res,
			       .file_res = res,
			       .ino = ino,
			       .tgid = w->set->tgid,
			       .name = emit_str(w->e, names_clean(w->n, link)),
			       .fd = m->fd,
			       .events = m->events};
	EMIT(w->e, &ev, EV_MEMBER, 0, w->ts_ns);
	w->stat->emitted_cnt++;
}

void members_epoll(struct emit *e, struct names *n, const struct resindex *x,
		   const struct wire_res *set, uint64_t ts_ns, struct members_stat *stat)
{
	struct member_walk w = {.e = e, .n = n, .x = x, .set = set, .stat = stat, .ts_ns = ts_ns};
	CLEANUP(buf_release) struct buf text = {0};
	char name[32];

	snprintf(name, sizeof(name), "fdinfo/%d", set->fd);
	if (set->fd < 0 || reads_text(set->tgid, name, FDINFO_MAX, &text) < 0) {
		stat->failed_cnt++;
		return;
	}
	for (char *line = text.data, *end; line && *line; line = end) {
		struct member_line m;

		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		if (members_parse_tfd(line, &m) == 0)
			emit_member(&w, &m);
	}
}

static bool poll_array(struct member_walk *w, uint64_t addr, uint64_t cnt)
{
	struct pollfd fds[MEMBERS_MAX];
	size_t want = cnt < MEMBERS_MAX ? (size_t)cnt : MEMBERS_MAX;

	if (want == 0)
		return true;
	long got = procfs_read_mem(w->set->tgid, addr, fds, want * sizeof(fds[0]));
	if (got < 0)
		return false;
	want = (size_t)got / sizeof(fds[0]);
	for (size_t i = 0; i < want; i++) {
		struct member_line m = {.fd = fds[i].fd, .events = (uint16_t)fds[i].events};
		if (m.fd >= 0) /* negative ones are ignored by poll too */
			emit_member(w, &m);
	}
	w->stat->over_cnt += cnt - want < UINT32_MAX ? cnt - want : 0;
	return true;
}

static bool select_set(struct member_walk *w, uint64_t nfds, uint64_t addr, uint32_t events)
{
	unsigned long bits[SETSIZE_MAX / (8 * sizeof(unsigned long))];
	const size_t word = 8 * sizeof(bits[0]);
	size_t cnt = nfds < SETSIZE_MAX ? (size_t)nfds : SETSIZE_MAX;

	if (!addr || !cnt)
		return true;
	long got = procfs_read_mem(w->set->tgid, addr, bits,
				   (cnt + word - 1) / word * sizeof(bits[0]));
	if (got < 0)
		return false;
	if ((size_t)got / sizeof(bits[0]) * word < cnt)
		cnt = (size_t)got / sizeof(bits[0]) * word;
	for (size_t fd = 0; fd < cnt; fd++) {
		struct member_line m = {.fd = (int32_t)fd, .events = events};
		if (bits[fd / word] >> (fd % word) & 1)
			emit_member(w, &m);
	}
	return true;
}

/*
 * The kernel writes the results of select over the sets only at its end, so
 * while the thread sleeps they still say what it waits for.
 */
static bool read_call(struct member_walk *w, const struct procfs_syscall *call)
{
	switch (call->nr) {
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		return poll_array(w, call->args[0], call->args[1]);
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		return select_set(w, call->args[0] & INT32_MAX, call->args[1], POLLIN) &&
		       select_set(w, call->args[0] & INT32_MAX, call->args[2], POLLOUT);
	default:
		return false;
	}
}

void members_poll(struct emit *e, struct names *n, const struct resindex *x,
		  const struct wire_res *set, uint32_t tid, uint64_t ts_ns,
		  struct members_stat *stat)
{
	struct member_walk w = {.e = e, .n = n, .x = x, .set = set, .stat = stat, .ts_ns = ts_ns};
	struct procfs_syscall call;

	if (procfs_syscall(tid, &call) < 0 || !read_call(&w, &call))
		stat->failed_cnt++;
}
