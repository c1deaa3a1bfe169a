/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/timed_call.h"
#include "collect/procfs.h"

#define DELETED " (deleted)"
#define ADDR_MAX (UINT64_C(1) << 47)

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), end_len = strlen(end);

	return len >= end_len && strcmp(s + len - end_len, end) == 0;
}

static uint8_t kind_of(const char *path, uint64_t ino)
{
	if (strcmp(path, "[vdso]") == 0)
		return MAPPING_VDSO;
	if (strcmp(path, "[vsyscall]") == 0)
		return MAPPING_VSYSCALL;
	return ino ? MAPPING_FILE : MAPPING_CODE;
}

/* The kernel writes newlines of a path as \012, and nothing else so. */
static char *unescaped(const char *path)
{
	char *copy = xstrdup(path), *to = copy;

	for (const char *p = path; *p;) {
		if (strncmp(p, "\\012", 4) == 0) {
			*to++ = '\n';
			p += 4;
		} else {
			*to++ = *p++;
		}
	}
	*to = '\0';
	return copy;
}

static bool joins(const struct mapping *before, const struct mapping *m)
{
	return before->kind == MAPPING_CODE && m->kind == MAPPING_CODE && before->end == m->start;
}

int mappings_add_line(struct mappings *m, const char *line)
{
	struct mapping one = {0};
	char perms[5];
	int path_at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &one.start,
		   &one.end, perms, &one.off, &one.dev_major, &one.dev_minor, &one.ino,
		   &path_at) < 7 || !path_at || strlen(perms) != 4)
		return -EINVAL;
	if (perms[2] != 'x')
		return 0;
	one.kind = kind_of(line + path_at, one.ino);
	if (one.kind == MAPPING_VSYSCALL)
		return 0;
	if (one.start >= one.end || one.end > ADDR_MAX || one.start & 4095 || one.end & 4095 ||
	    (m->items.cnt && vec_last(&m->items)->end > one.start))
		return -EINVAL;
	if (m->items.cnt && joins(vec_last(&m->items), &one)) {
		vec_last(&m->items)->end = one.end;
		return 1;
	}
	if (m->items.cnt >= MAPPINGS_MAX) {
		m->cut_cnt++;
		return 0;
	}
	one.path = unescaped(line + path_at);
	if (one.kind == MAPPING_FILE && ends_with(one.path, DELETED)) {
		one.path[strlen(one.path) - strlen(DELETED)] = '\0';
		one.deleted = true;
	}
	vec_push(&m->items, one);
	return 1;
}

void mappings_release(struct mappings *m)
{
	VEC_FOREACH(&m->items, one)
		free(one->path);
	vec_release(&m->items);
	*m = (struct mappings){0};
}

/* In the child of timed_call: the lines of what may be executed, as many as fit. */
static long executable_lines(const void *args, char *out, size_t cap, int *ret_fd)
{
	uint32_t tid;
	char line[MAPPINGS_LINE], path[64];
	CLEANUP_FCLOSE FILE *file = NULL;
	size_t used = 0, lines = 0;
	bool whole = true, taken = false;

	(void)ret_fd;
	memcpy(&tid, args, sizeof(tid));
	snprintf(path, sizeof(path), "/proc/%u/maps", tid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), file) && lines++ < MAPPINGS_LINES_MAX) {
		const char *perms = strchr(line, ' ');
		size_t len = strnlen(line, sizeof(line));

		if (whole) /* else the rest of a longer line, which comes in pieces */
			taken = !perms || strnlen(perms, 4) < 4 || perms[3] == 'x';
		whole = len && line[len - 1] == '\n';
		if (!taken)
			continue;
		if (len > cap - used)
			return (long)used;
		memcpy(out + used, line, len);
		used += len;
	}
	return (long)used;
}

static int read_of(uint32_t tgid, uint32_t tid, struct mappings *ret)
{
	CLEANUP(buf_release) struct buf text = {0};
	struct timed_call call = {.fn = executable_lines, .pid = tgid, .args = &tid,
				  .args_len = sizeof(tid), .out = &text};
	long rc = timed_call(&call);

	mappings_release(ret);
	if (rc < 0)
		return (int)rc;
	for (char *line = text.data, *end; line && *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end) { /* there was no room for the rest */
			ret->cut_cnt++;
			break;
		}
		*end = '\0';
		if (end - line >= MAPPINGS_LINE - 1 || mappings_add_line(ret, line) < 0)
			ret->odd_cnt++;
	}
	return 0;
}

int mappings_read(uint32_t tgid, struct mappings *ret)
{
	int rc = read_of(tgid, tgid, ret);
	uint32_t tid;

	/* a main thread that has ended shows an empty file */
	if (rc < 0 || ret->items.cnt)
		return rc;
	tid = procfs_living_tid(tgid);
	return tid == tgid ? 0 : read_of(tgid, tid, ret);
}

/* Opened for nothing first: opening a device or a FIFO for reading may do something. */
static int reopen_file(int path_fd)
{
	struct statfs fs;
	struct stat st;
	char self[64];
	int fd;

	if (fstat(path_fd, &st) < 0 || fstatfs(path_fd, &fs) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint32_t)fs.f_type == FUSE_SUPER_MAGIC)
		return -ENOTSUP;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

struct open_args {
	uint32_t tgid;
	uint32_t dev_major, dev_minor;
	bool by_path; /* that path may be tried */
	uint64_t start, end, ino;
	char path[PATH_MAX];
};

/* Where /proc/PID/map_files is not allowed: by its path, in the process's own root. */
static int open_by_path(uint32_t tid, const struct open_args *m)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	CLEANUP_CLOSE int root = -1;
	CLEANUP_CLOSE int fd = -1;
	struct stat st;
	char path[64];

	if (!m->by_path)
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/%u/root", tid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root, m->path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_ino != m->ino || major(st.st_dev) != m->dev_major ||
	    minor(st.st_dev) != m->dev_minor)
		return -ENOENT;
	return reopen_file(fd);
}

static int open_of(uint32_t tid, const struct open_args *m)
{
	CLEANUP_CLOSE int fd = -1;
	char path[96];

	/* a magic link: leads to the file that is mapped, in whatever namespace, also deleted */
	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, tid, m->start,
		 m->end);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return open_by_path(tid, m);
	return reopen_file(fd);
}

/* In the child of timed_call. */
static long open_mapped(const void *args, char *out, size_t cap, int *ret_fd)
{
	const struct open_args *m = args;
	int fd = open_of(m->tgid, m);
	uint32_t tid;

	(void)out;
	(void)cap;
	if (fd < 0) {
		tid = procfs_living_tid(m->tgid);
		fd = tid == m->tgid ? fd : open_of(tid, m);
	}
	*ret_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

int mapping_open(uint32_t tgid, const struct mapping *m)
{
	struct open_args args = {.tgid = tgid, .dev_major = m->dev_major,
				 .dev_minor = m->dev_minor, .start = m->start, .end = m->end,
				 .ino = m->ino,
				 .by_path = !m->deleted && strlen(m->path) < PATH_MAX};
	size_t path_len = args.by_path ? strlen(m->path) + 1 : 1;
	int fd = -1;
	struct timed_call call = {.fn = open_mapped, .pid = tgid, .args = &args,
				  .args_len = offsetof(struct open_args, path) + path_len,
				  .ret_fd = &fd};

	memcpy(args.path, args.by_path ? m->path : "", path_len);
	long rc = timed_call(&call);

	return rc < 0 ? (int)rc : fd < 0 ? -EIO : fd;
}

uint64_t mappings_exec_pages(uint32_t tgid)
{
	uint64_t exe_kb, lib_kb;

	tgid = procfs_living_tid(tgid);
	/* the kernel makes these two out of exec_vm: their sum is it again */
	if (procfs_status_u64(tgid, "VmExe", &exe_kb) < 0 ||
	    procfs_status_u64(tgid, "VmLib", &lib_kb) < 0)
		return 0;
	return (exe_kb + lib_kb) / 4;
}
