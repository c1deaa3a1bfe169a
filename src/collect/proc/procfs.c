/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/proc/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "reads/reads.h"

#define PF_KTHREAD 0x00200000u
#define STATUS_MAX 8192	   /* a status file has about 1.5 KiB; group lists make it longer */
#define NS_SCAN_MAX 65536  /* threads looked at to find one by its inner number */

int procfs_parse_u64(const char *text, uint64_t max, uint64_t *ret_value, const char **ret_end)
{
	uint64_t value = 0;
	const char *p = text;

	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++) {
		unsigned digit = (unsigned)(*p - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return -ERANGE;
		value = value * 10 + digit;
	}
	if (value > max)
		return -ERANGE;
	*ret_value = value;
	if (ret_end)
		*ret_end = p;
	return 0;
}

static int next_field(const char **text, uint64_t *ret_value)
{
	const char *p = *text;

	while (*p == ' ')
		p++;
	bool negative = *p == '-'; /* tpgid, priority: their value is not wanted */
	if (procfs_parse_u64(p + negative, UINT64_MAX, ret_value, text) < 0)
		return -EINVAL;
	return **text == ' ' || **text == '\n' || **text == '\0' ? 0 : -EINVAL;
}

int procfs_parse_stat(const char *text, struct procfs_stat *ret_stat)
{
	struct procfs_stat st = {0};
	const char *open = strchr(text, '(');
	const char *close = strrchr(text, ')'); /* a name may hold brackets and blanks */

	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return -EINVAL;
	size_t len = (size_t)(close - open - 1);
	if (len >= sizeof(st.comm))
		len = sizeof(st.comm) - 1;
	memcpy(st.comm, open + 1, len);
	st.state = close[2];

	const char *p = close + 3;
	/* fields by their number in proc(5), the state being 3 */
	for (unsigned nr = 4; nr <= 24; nr++) {
		uint64_t value;
		if (next_field(&p, &value) < 0)
			return -EINVAL;
		switch (nr) {
		case 4:
			st.ppid = (uint32_t)value;
			break;
		case 9:
			st.flags = (uint32_t)value;
			break;
		case 10:
			st.min_flt = value;
			break;
		case 12:
			st.maj_flt = value;
			break;
		case 20:
			st.thread_cnt = (uint32_t)value;
			break;
		case 22:
			st.start_ticks = value;
			break;
		case 24:
			st.rss_pages = value;
			break;
		}
	}
	*ret_stat = st;
	return 0;
}

int procfs_stat(uint32_t tid, struct procfs_stat *ret_stat)
{
	char text[1024];
	ssize_t len = reads_file(tid, "stat", text, sizeof(text));

	if (len < 0)
		return (int)len;
	return procfs_parse_stat(text, ret_stat);
}

bool procfs_is_kthread(const struct procfs_stat *st)
{
	return st->flags & PF_KTHREAD;
}

bool procfs_has_ended(const struct procfs_stat *st)
{
	return (st->state == 'Z' || st->state == 'X') && st->thread_cnt <= 1;
}

static int take_living(void *ctx, uint32_t tid)
{
	struct procfs_stat st;

	if (procfs_stat(tid, &st) < 0 || st.state == 'Z' || st.state == 'X')
		return 0;
	*(uint32_t *)ctx = tid;
	return 1;
}

uint32_t procfs_living_tid(uint32_t tgid)
{
	uint32_t tid = tgid;
	struct procfs_stat st;

	if (procfs_stat(tgid, &st) < 0 || st.state != 'Z' || st.thread_cnt <= 1)
		return tgid;
	procfs_each_id(tgid, take_living, &tid);
	return tid;
}

/* The text after "KEY:" at the start of a line, blanks skipped; NULL when absent. */
static const char *status_value(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line && *line;) {
		if (strncmp(line, key, len) == 0 && line[len] == ':') {
			line += len + 1;
			while (*line == ' ' || *line == '\t')
				line++;
			return line;
		}
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return NULL;
}

int procfs_parse_status(const char *text, const char *key, uint64_t *ret_value)
{
	const char *value = status_value(text, key);

	return value ? procfs_parse_u64(value, UINT64_MAX, ret_value, NULL) : -ENOENT;
}

int procfs_status_u64(uint32_t tid, const char *key, uint64_t *ret_value)
{
	char text[STATUS_MAX];
	ssize_t len = reads_file(tid, "status", text, sizeof(text));

	return len < 0 ? (int)len : procfs_parse_status(text, key, ret_value);
}

uint32_t procfs_tgid(uint32_t tid)
{
	uint64_t tgid;

	if (procfs_status_u64(tid, "Tgid", &tgid) < 0 || tgid > UINT32_MAX)
		return 0;
	return (uint32_t)tgid;
}

uint32_t procfs_ns_tid(uint32_t tid)
{
	char text[STATUS_MAX];

	if (reads_file(tid, "status", text, sizeof(text)) < 0)
		return 0;
	/* one number per namespace level, ours first, its own last */
	const char *p = status_value(text, "NSpid");
	uint64_t value = 0;
	while (p && procfs_parse_u64(p, UINT32_MAX, &value, &p) == 0) {
		while (*p == ' ' || *p == '\t')
			p++;
	}
	return value == tid ? 0 : (uint32_t)value;
}

struct ns_search {
	uint32_t ns_tid;
	uint32_t found;
	uint32_t seen_cnt;
};

static int match_ns_tid(void *ctx, uint32_t tid)
{
	struct ns_search *search = ctx;
	uint32_t inner = procfs_ns_tid(tid);

	if ((inner ? inner : tid) == search->ns_tid)
		search->found = tid;
	return search->found || ++search->seen_cnt >= NS_SCAN_MAX;
}

uint32_t procfs_tid_from_ns(uint32_t tgid, uint32_t ns_tid)
{
	struct ns_search search = {.ns_tid = ns_tid};

	if (ns_tid == 0)
		return 0;
	/* same namespace: the number is the answer if it is one of its threads */
	if (procfs_ns_tid(tgid) == 0)
		return procfs_tgid(ns_tid) == tgid ? ns_tid : 0;
	procfs_each_id(tgid, match_ns_tid, &search);
	return search.found;
}

void procfs_comm(uint32_t tid, char out[PROCFS_COMM_LEN])
{
	char text[64];
	ssize_t len = reads_file(tid, "comm", text, sizeof(text));

	out[0] = '\0';
	if (len <= 0)
		return;
	if (text[len - 1] == '\n')
		text[--len] = '\0';
	snprintf(out, PROCFS_COMM_LEN, "%.*s", PROCFS_COMM_LEN - 1, text);
}

char *procfs_exe(uint32_t tgid, char *out, size_t out_len)
{
	char link[PATH_MAX];

	out[0] = '\0';
	if (reads_exe(tgid, link, sizeof(link)) < 0)
		return out;
	char *gone = strstr(link, " (deleted)");
	if (gone && gone[strlen(" (deleted)")] == '\0')
		*gone = '\0';
	snprintf(out, out_len, "%s", file_base_name(link));
	return out;
}

int procfs_each_id(uint32_t tgid, int (*fn)(void *ctx, uint32_t id), void *ctx)
{
	CLEANUP(buf_release) struct buf ids = {0};
	long got = reads_ids(tgid, &ids);
	uint32_t id;

	for (size_t at = 0; at + sizeof(id) <= ids.len; at += sizeof(id)) {
		memcpy(&id, ids.data + at, sizeof(id));

		int ret = fn(ctx, id);

		if (ret)
			return ret;
	}
	return got < 0 ? (int)got : 0;
}

static int parse_hex(const char **text, uint64_t *ret_value)
{
	const char *p = *text;
	uint64_t value = 0;
	unsigned digits = 0;

	while (*p == ' ')
		p++;
	if (p[0] != '0' || p[1] != 'x')
		return -EINVAL;
	for (p += 2; isxdigit((unsigned char)*p); p++, digits++) {
		unsigned char c = (unsigned char)tolower((unsigned char)*p);
		value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	if (digits == 0 || digits > 16)
		return -EINVAL;
	*text = p;
	*ret_value = value;
	return 0;
}

int procfs_parse_syscall(const char *text, struct procfs_syscall *ret_call)
{
	struct procfs_syscall call = {0};
	uint64_t nr;

	if (strncmp(text, "running", 7) == 0)
		return -EAGAIN;
	if (strncmp(text, "-1 ", 3) == 0)
		return -ENODATA; /* asleep, but not in a system call: a page fault */
	if (procfs_parse_u64(text, INT32_MAX, &nr, &text) < 0)
		return -EINVAL;
	call.nr = (int64_t)nr;
	for (unsigned i = 0; i < 6; i++) {
		if (parse_hex(&text, &call.args[i]) < 0)
			return -EINVAL;
	}
	if (parse_hex(&text, &call.sp) < 0 || parse_hex(&text, &call.pc) < 0)
		call.sp = call.pc = 0;
	*ret_call = call;
	return 0;
}

int procfs_syscall(uint32_t tid, struct procfs_syscall *ret_call)
{
	char text[512];
	ssize_t len = reads_file(tid, "syscall", text, sizeof(text));

	return len < 0 ? (int)len : procfs_parse_syscall(text, ret_call);
}

long procfs_read_mem(uint32_t tgid, uint64_t addr, void *out, size_t len)
{
	long got;
	uint32_t tid;

	if (addr > INT64_MAX) /* the kernel's half: no offset of a file */
		return -EFAULT;
	got = reads_mem(tgid, tgid, addr, out, len);
	if (got == 0 || got == -ESRCH) { /* its main thread may have ended before others */
		tid = procfs_living_tid(tgid);
		got = tid == tgid ? -ESRCH : reads_mem(tgid, tid, addr, out, len);
	}
	return got;
}

int procfs_fd(uint32_t tgid, int fd, char *out, size_t cap, uint64_t *ret_ino)
{
	struct reads_fd got;

	if (reads_fd(tgid, fd, out, cap, &got) < 0)
		return -ENOENT;
	*ret_ino = got.ino;
	return 0;
}

uint64_t procfs_ns(uint32_t tid, const char *name)
{
	return reads_ns(tid, name);
}
