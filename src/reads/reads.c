/* SPDX-License-Identifier: Apache-2.0 */
#include "reads/reads.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/timed/timed_call.h"
#include "reads/chains.h"
#include "reads/ops.h"

void reads_start(void)
{
	timed_call_start(&read_ops);
}

void reads_apart(void)
{
	/* proc may be mounted so that one sees one's own only */
	timed_call_set_apart(access("/proc/1/stat", R_OK) == 0 ? APART_RIGHTS : APART_ALL);
}

struct ask {
	uint32_t op;
	uint32_t pid; /* that hangs when there is no answer */
	const void *args;
	size_t args_len;
	int *ret_fd;
};

static long ask_reader(const struct ask *a, struct buf *out)
{
	struct timed_call call = {.ops = &read_ops, .op = a->op, .pid = a->pid, .args = a->args,
				  .args_len = a->args_len, .out = out, .ret_fd = a->ret_fd};

	return timed_call(&call);
}

/* Asks what cannot hang: by the reader from that level on, before it here. At most cap bytes. */
static long ask_either(const struct ask *a, char *out, size_t cap, enum timed_apart from)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	int fd = -1;
	long got;

	if (timed_call_apart() < from || a->pid == (uint32_t)getpid())
		return read_ops.list[a->op].fn(a->args, a->args_len, out, cap, &fd);
	got = ask_reader(a, &bytes);
	if (got <= 0)
		return got;
	got = (size_t)got < cap ? got : (long)cap;
	memcpy(out, bytes.data, (size_t)got);
	return got;
}

#define ASK(nr, of, arguments) \
	{.op = (nr), .pid = (of), .args = &(arguments), .args_len = sizeof(arguments)}

void reads_bind(const struct reads_bound *b)
{
	struct read_bind args = {.others_max = b->others_max};
	struct ask a = ASK(READ_BIND, 0, args);

	for (size_t i = 0; i < b->cnt; i++) {
		if (args.cnt == READ_BIND_MAX) {
			ask_reader(&a, NULL);
			args.cnt = 0;
		}
		args.list[args.cnt++] = (struct read_bind_proc){b->tgids[i], b->start_ticks[i]};
	}
	args.is_last = 1;
	if (ask_reader(&a, NULL) < 0)
		log_debug("readers are not bound to the chosen processes");
}

long reads_maps(uint32_t tgid, uint32_t tid, bool all, struct buf *out)
{
	struct read_maps args = {.tid = tid, .all = all};
	struct ask a = ASK(READ_MAPS, tgid, args);

	return ask_reader(&a, out);
}

long reads_mem(uint32_t tgid, uint32_t tid, uint64_t addr, void *out, size_t len)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	struct read_mem args = {.tid = tid, .len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX,
				.addr = addr};
	struct ask a = ASK(READ_MEM, tgid, args);
	long got = ask_reader(&a, &bytes);

	got = got > 0 && (size_t)got > len ? (long)len : got;
	if (got > 0)
		memcpy(out, bytes.data, (size_t)got);
	return got;
}

/* True for files that everybody may read of every process, but where proc says otherwise. */
static bool is_public(const char *name)
{
	return strcmp(name, "syscall") != 0 && strncmp(name, "fdinfo/", 7) != 0;
}

static long file_ask(uint32_t tid, const char *name, char *out, size_t cap)
{
	struct read_file args = {.tid = tid, .max = cap < UINT32_MAX ? (uint32_t)cap : UINT32_MAX};
	struct ask a = ASK(READ_FILE, tid, args);

	snprintf(args.name, sizeof(args.name), "%s", name);
	return ask_either(&a, out, cap, is_public(name) ? APART_ALL : APART_RIGHTS);
}

long reads_file(uint32_t tid, const char *name, char *out, size_t cap)
{
	long got = file_ask(tid, name, out, cap - 1);

	out[got > 0 ? got : 0] = '\0';
	return got;
}

long reads_text(uint32_t tid, const char *name, size_t max, struct buf *out)
{
	CLEANUP_FREE char *text = NULL;
	long got;

	max = max < TIMED_CALL_OUT_MAX ? max : TIMED_CALL_OUT_MAX;
	text = xmalloc(max);
	got = file_ask(tid, name, text, max);
	if (got > 0)
		buf_add(out, text, (size_t)got);
	return got;
}

/* Text of which cap - 1 bytes are wanted. */
static void text_take(char *out, size_t cap, const char *text, size_t len)
{
	len = len < cap ? len : cap - 1;
	memcpy(out, text, len);
	out[len] = '\0';
}

int reads_fd(uint32_t tgid, int fd, char *out, size_t cap, struct reads_fd *ret)
{
	char bytes[sizeof(struct read_fd_out) + PATH_MAX];
	struct read_fd args = {.tid = tgid, .fd = fd};
	struct ask a = ASK(READ_FD, tgid, args);
	long got = ask_either(&a, bytes, sizeof(bytes), APART_RIGHTS);
	struct read_fd_out head;

	*out = '\0';
	if (got < (long)sizeof(head))
		return got < 0 ? (int)got : -EIO;
	memcpy(&head, bytes, sizeof(head));
	text_take(out, cap, bytes + sizeof(head), (size_t)got - sizeof(head));
	*ret = (struct reads_fd){.ino = head.ino, .mode = head.mode};
	return 0;
}

static int text_ask(const struct ask *a, char *out, size_t cap)
{
	char text[PATH_MAX];
	long got = ask_either(a, text, sizeof(text), APART_RIGHTS);

	*out = '\0';
	if (got < 0)
		return (int)got;
	text_take(out, cap, text, (size_t)got);
	return 0;
}

int reads_opened(uint32_t tgid, uint64_t ino, char *out, size_t cap)
{
	struct read_opened args = {.tid = tgid, .ino = ino};
	struct ask a = ASK(READ_OPENED, tgid, args);

	return text_ask(&a, out, cap);
}

int reads_exe(uint32_t tgid, char *out, size_t cap)
{
	struct read_tid args = {.tid = tgid};
	struct ask a = ASK(READ_EXE, tgid, args);

	return text_ask(&a, out, cap);
}

uint64_t reads_ns(uint32_t tid, const char *name)
{
	struct read_ns args = {.tid = tid};
	struct ask a = ASK(READ_NS, tid, args);
	uint64_t ino = 0;

	snprintf(args.name, sizeof(args.name), "%s", name);
	if (ask_either(&a, (char *)&ino, sizeof(ino), APART_RIGHTS) != sizeof(ino))
		return 0;
	return ino;
}

long reads_fds(uint32_t tgid, uint32_t max, struct buf *out)
{
	struct read_fds args = {.tid = tgid, .max = max};
	struct ask a = ASK(READ_FDS, tgid, args);
	CLEANUP_FREE char *items = NULL;
	size_t cap = sizeof(struct read_fds_out) + (size_t)max * sizeof(struct read_fds_item);
	long got;

	if (timed_call_apart() != APART_NOT)
		return ask_reader(&a, out);
	cap = cap < TIMED_CALL_OUT_MAX ? cap : TIMED_CALL_OUT_MAX;
	items = xmalloc(cap);
	got = ask_either(&a, items, cap, APART_RIGHTS);
	if (got > 0)
		buf_add(out, items, (size_t)got);
	return got;
}

long reads_ids(uint32_t tgid, struct buf *out)
{
	struct read_tid args = {.tid = tgid};
	struct ask a = ASK(READ_IDS, tgid, args);
	CLEANUP_FREE char *ids = NULL;
	long got;

	if (timed_call_apart() == APART_ALL)
		return ask_reader(&a, out);
	ids = xmalloc(TIMED_CALL_OUT_MAX);
	got = ask_either(&a, ids, TIMED_CALL_OUT_MAX, APART_ALL);
	if (got > 0)
		buf_add(out, ids, (size_t)got);
	return got;
}

/* The whole of path goes, or none of it: *ret_len bytes of args, text behind head. */
static int path_put(char *to, const char *path, size_t head, size_t *ret_len)
{
	size_t len = strlen(path) + 1;

	if (len > PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(to, path, len);
	*ret_len = head + len;
	return 0;
}

static int open_ask(const struct ask *question)
{
	int fd = -1;
	struct ask a = *question;
	long rc;

	a.ret_fd = &fd;
	rc = ask_reader(&a, NULL);
	return rc < 0 ? (int)rc : fd < 0 ? -EIO : fd;
}

int reads_open_in_root(uint32_t tgid, uint32_t what, const char *path)
{
	struct open_in_root args = {.tid = tgid, .what = what};
	struct ask a = ASK(OPEN_IN_ROOT, tgid, args);
	int rc = path_put(args.path, path, offsetof(struct open_in_root, path), &a.args_len);

	return rc < 0 ? rc : open_ask(&a);
}

int reads_open_mapped(uint32_t tgid, uint32_t tid, const struct reads_mapped *m)
{
	struct open_mapped args = {.tid = tid, .dev_major = m->dev_major,
				   .dev_minor = m->dev_minor, .start = m->start, .end = m->end,
				   .ino = m->ino, .by_path = m->path != NULL};
	struct ask a = ASK(OPEN_MAPPED, tgid, args);
	int rc = path_put(args.path, m->path ? m->path : "", offsetof(struct open_mapped, path),
			  &a.args_len);

	return rc < 0 ? rc : open_ask(&a);
}

long reads_chains(uint32_t tgid, const struct read_chains *what, struct buf *out)
{
	struct ask a = ASK(READ_CHAINS, tgid, *what);

	return ask_reader(&a, out);
}

int reads_open_diag(uint32_t tgid)
{
	struct read_tid args = {.tid = tgid};
	struct ask a = ASK(OPEN_DIAG, tgid, args);

	return open_ask(&a);
}

int reads_open_stats(void)
{
	struct ask a = {.op = OPEN_STATS};

	return open_ask(&a);
}
