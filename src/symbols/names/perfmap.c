/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cmp.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/search.h"
#include "reads/reads.h"
#include "symbols/files/inroot.h"

#define AGE_SLACK_NS (2 * NS_PER_SEC) /* whole seconds, and two clocks */

enum { CHUNK = 1 << 18, TAIL = 4096, STATUS_MAX = 64 * 1024 };

/* ---- which file */

struct ids {
	uint32_t inner_pid;
	uint32_t uids[4]; /* real, effective, saved, file system */
};

static int ids_read(uint32_t tgid, struct ids *ret)
{
	CLEANUP(buf_release) struct buf text = {0};
	const char *at, *end;

	if (reads_text(tgid, "status", STATUS_MAX, &text) < 0)
		return -ESRCH;
	at = strstr(buf_str(&text), "\nUid:");
	if (!at || sscanf(at, "\nUid: %u %u %u %u", &ret->uids[0], &ret->uids[1], &ret->uids[2],
			  &ret->uids[3]) != 4)
		return -ESRCH;
	ret->inner_pid = tgid;
	at = strstr(buf_str(&text), "\nNSpid:");
	if (!at)
		return 0;
	/* from the outermost namespace to the innermost */
	for (end = at += strlen("\nNSpid:"); *end != '\n' && *end; at = end) {
		char *next;
		unsigned long pid = strtoul(at, &next, 10);

		if (next == at)
			break;
		ret->inner_pid = (uint32_t)pid;
		end = next;
	}
	return 0;
}

int perfmap_path(uint32_t tgid, char *out, size_t out_len)
{
	struct ids ids;
	int ret = ids_read(tgid, &ids);

	if (ret == 0)
		snprintf(out, out_len, "/tmp/perf-%u.map", ids.inner_pid);
	return ret;
}

/* When the process started, by the clock that dates files; 0 unknown. */
static uint64_t started_real_ns(uint32_t tgid)
{
	CLEANUP(buf_release) struct buf text = {0};
	const char *at;
	unsigned long long ticks;

	if (reads_text(tgid, "stat", STATUS_MAX, &text) < 0)
		return 0;
	at = strrchr(buf_str(&text), ')');
	for (int field = 2; at && field < 22; field++) /* starttime is the 22nd */
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, " %llu", &ticks) != 1)
		return 0;
	return clock_real_ns() - clock_boot_ns() +
	       ticks * (NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

/*
 * -EPERM for a file that somebody else could have put there, -ESTALE for one
 * that an earlier process of the same number left.
 */
static int file_check(int fd, uint32_t tgid, const struct ids *ids, const char *path,
		      struct err *err)
{
	uint64_t started_ns = started_real_ns(tgid);
	bool own = false;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(err, -errno, "%s", path);
	for (size_t i = 0; i < 4; i++)
		own |= st.st_uid == ids->uids[i] || st.st_uid == 0;
	if (!own)
		return err_set(err, -EPERM,
			       "%s belongs to user %u and not to the process' user %u: not read",
			       path, (unsigned)st.st_uid, ids->uids[1]);
	if ((uint64_t)st.st_mtim.tv_sec * NS_PER_SEC + AGE_SLACK_NS < started_ns)
		return err_set(err, -ESTALE,
			       "%s is older than the process: not read", path);
	return 0;
}

int perfmap_load(struct perfmap *m, uint32_t tgid, bool *ret_changed, struct err *err)
{
	struct ids ids;
	char path[48];
	CLEANUP_CLOSE int fd = -1;
	int ret = ids_read(tgid, &ids);

	if (ret < 0)
		return err_set(err, ret, "process %u is gone", tgid);
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", ids.inner_pid);
	fd = inroot_open_own(tgid, path);
	if (fd == -ELOOP)
		return err_set(err, fd, "%s is a symbolic link: not read", path);
	if (fd < 0)
		return err_errno(err, fd, "%s", path);
	ret = file_check(fd, tgid, &ids, path, err);
	return ret < 0 ? ret : perfmap_load_fd(m, fd, ret_changed, err);
}

/* ---- reading it */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A hex number with or without 0x; NULL when there is none or it has over 64 bits. */
static const char *hex_parse(const char *p, const char *end, uint64_t *ret)
{
	const char *start;
	uint64_t value = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	for (start = p; p < end && hex_value(*p) >= 0; p++) {
		if (value >> 60)
			return NULL;
		value = value << 4 | (unsigned)hex_value(*p);
	}
	*ret = value;
	return p > start ? p : NULL;
}

/* off: of the line in the file. */
static void add_line(struct perfmap *m, const char *line, size_t len, uint64_t off)
{
	const char *end = line + len, *p;
	uint64_t start, size;

	p = hex_parse(line, end, &start);
	if (p && p < end && *p == ' ')
		p = hex_parse(p + 1, end, &size);
	else
		p = NULL;
	if (!p || p >= end || *p != ' ' || p + 1 == end || size == 0 || start > UINT64_MAX - size ||
	    m->entries.cnt >= PERFMAP_ENTRY_MAX) {
		m->refused_cnt++;
		return;
	}
	p++;
	struct perfmap_entry e = {
		.start = start,
		.len = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size,
		.name_off = (uint32_t)(off + (uint64_t)(p - line)),
		.name_len = (uint32_t)(end - p),
		.seq = m->line_cnt,
	};
	vec_push(&m->entries, e);
}

static int by_start(const void *a, const void *b)
{
	const struct perfmap_entry *x = a, *y = b;

	CMP(x->start, y->start);
	CMP(x->seq, y->seq);
	return 0;
}

/* Takes in whole lines of [m->read_bytes, size); what follows the last newline waits. */
static int read_lines(struct perfmap *m, int fd, uint64_t size)
{
	CLEANUP_FREE char *chunk = xmalloc(CHUNK);
	bool skipping = false; /* within a line longer than the chunk */

	while (m->read_bytes < size) {
		uint64_t left = size - m->read_bytes;
		ssize_t got = pread(fd, chunk, left < CHUNK ? left : CHUNK, (off_t)m->read_bytes);
		size_t at = 0;

		if (got < 0)
			return -errno;
		while (at < (size_t)got) {
			const char *nl = memchr(chunk + at, '\n', (size_t)got - at);
			size_t len = nl ? (size_t)(nl - chunk) - at : 0;

			if (!nl)
				break;
			if (!skipping)
				add_line(m, chunk + at, len, m->read_bytes + at);
			skipping = false;
			m->line_cnt++;
			at += len + 1;
		}
		if (at == 0 && got < CHUNK)
			break;
		if (at == 0) {
			m->refused_cnt += !skipping;
			skipping = true;
			at = (size_t)got;
		}
		m->read_bytes += at;
	}
	return 0;
}

static uint64_t tail_hash(int fd, uint64_t end)
{
	char tail[TAIL];
	uint64_t from = end > TAIL ? end - TAIL : 0;
	ssize_t got = pread(fd, tail, end - from, (off_t)from);

	return got > 0 ? hash_bytes(tail, (size_t)got) : 0;
}

/* True when what was read before is still what the file begins with. */
static bool continues(const struct perfmap *m, int fd, const struct stat *st)
{
	return m->is_open && m->dev == st->st_dev && m->ino == st->st_ino &&
	       (uint64_t)st->st_size >= m->read_bytes &&
	       tail_hash(fd, m->read_bytes) == m->tail_hash;
}

int perfmap_load_fd(struct perfmap *m, int fd, bool *ret_changed, struct err *err)
{
	struct stat st;
	uint64_t size;
	size_t before;
	int ret, own;

	if (fstat(fd, &st) < 0)
		return err_errno(err, -errno, "perf map");
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return err_errno(err, -errno, "keep the perf map open");
	if (!continues(m, fd, &st))
		perfmap_release(m);
	if (m->is_open)
		close(m->fd);
	m->fd = own;
	m->is_open = true;
	m->dev = st.st_dev;
	m->ino = st.st_ino;
	before = m->entries.cnt;
	size = (uint64_t)st.st_size;
	m->over_bytes = size > PERFMAP_BYTES_MAX ? size - PERFMAP_BYTES_MAX : 0;
	size -= m->over_bytes;
	ret = read_lines(m, fd, size);
	m->tail_hash = tail_hash(fd, m->read_bytes);
	if (m->entries.cnt != before)
		vec_sort(&m->entries, by_start);
	if (ret_changed)
		*ret_changed = m->entries.cnt != before;
	return ret < 0 ? err_errno(err, ret, "perf map") : 0;
}

const struct perfmap_entry *perfmap_find(const struct perfmap *m, uint64_t addr)
{
	const struct perfmap_entry *best = NULL;
	size_t after = SORTED_PREFIX(m->entries.items, m->entries.cnt, it, it->start <= addr);

	for (size_t back = 0; after > 0 && back < PERFMAP_BACK_MAX; back++, after--) {
		const struct perfmap_entry *e = &m->entries.items[after - 1];

		if (addr - e->start < e->len && (!best || e->seq > best->seq))
			best = e;
	}
	return best;
}

void perfmap_name(const struct perfmap *m, const struct perfmap_entry *e, struct buf *ret_name)
{
	char name[PERFMAP_LINE_MAX];
	size_t len = e->name_len < sizeof(name) ? e->name_len : sizeof(name);
	ssize_t got = pread(m->fd, name, len, (off_t)e->name_off);

	buf_clear(ret_name);
	if (got > 0)
		buf_add(ret_name, name, strnlen(name, (size_t)got));
}

uint64_t perfmap_bytes(const struct perfmap *m)
{
	return m->entries.cap * sizeof(m->entries.items[0]);
}

void perfmap_release(struct perfmap *m)
{
	if (m->is_open)
		close(m->fd);
	vec_release(&m->entries);
	*m = (struct perfmap){0};
}
