/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of the reader that open files: mapped, below a root, diag sockets. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "reads/ops.h"

static int resolve(int dir_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* found was opened for nothing first: opening a device or a FIFO may do something. */
static int reopen(int found)
{
	struct statfs fs;
	struct stat st;
	char self[32];
	int fd;

	if (fstat(found, &st) < 0 || fstatfs(found, &fs) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) /* only with O_NOFOLLOW */
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint32_t)fs.f_type == FUSE_SUPER_MAGIC) /* whoever serves it may never answer */
		return -ENOTSUP;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", found);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int open_regular(int dir_fd, const char *path, uint64_t flags)
{
	CLEANUP_CLOSE int found = resolve(dir_fd, path, O_PATH | flags);

	return found < 0 ? found : reopen(found);
}

int open_directory(int dir_fd, const char *path)
{
	return resolve(dir_fd, path, O_RDONLY | O_DIRECTORY);
}

/* Takes fd.  What is no ELF file is nobody's business here. */
static int only_elf(int fd)
{
	char magic[4];

	if (fd < 0 || (pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
		       memcmp(magic, "\177ELF", sizeof(magic)) == 0))
		return fd;
	close(fd);
	return -ENOEXEC;
}

static bool is_perf_map(const char *path)
{
	size_t at = strlen("/tmp/perf-");

	if (strncmp(path, "/tmp/perf-", at) != 0)
		return false;
	at += strspn(path + at, "0123456789");
	return strcmp(path + at, ".map") == 0;
}

static int root_of(uint32_t tid)
{
	char path[32] = "/";
	int fd;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%u/root", tid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

long op_in_root(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct open_in_root *a = args;
	CLEANUP_CLOSE int root = root_of(a->tid);
	int fd = -EINVAL;

	(void)args_len;
	(void)out;
	(void)cap;
	if (root < 0)
		return root;
	if (a->what == OPEN_ELF)
		fd = only_elf(open_regular(root, a->path, 0));
	else if (a->what == OPEN_PERF_MAP && is_perf_map(a->path))
		fd = open_regular(root, a->path, O_NOFOLLOW);
	else if (a->what == OPEN_PACKAGES && strcmp(a->path, "/var/lib/dpkg/info") == 0)
		fd = open_directory(root, a->path);
	*ret_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

/* Opens by path, in the process's own root, where /proc/PID/map_files is not allowed. */
static int open_by_path(const struct open_mapped *m)
{
	CLEANUP_CLOSE int root = -1;
	CLEANUP_CLOSE int fd = -1;
	struct stat st;

	if (!m->by_path)
		return -ENOENT;
	root = root_of(m->tid);
	if (root < 0)
		return root;
	fd = resolve(root, m->path, O_PATH);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_ino != m->ino || major(st.st_dev) != m->dev_major ||
	    minor(st.st_dev) != m->dev_minor)
		return -ENOENT;
	return reopen(fd);
}

long op_mapped(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct open_mapped *m = args;
	CLEANUP_CLOSE int found = -1;
	char path[96];
	int fd;

	(void)args_len;
	(void)out;
	(void)cap;
	/* a magic link: leads to the file that is mapped, in whatever namespace, also deleted */
	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, m->tid, m->start,
		 m->end);
	found = open(path, O_PATH | O_CLOEXEC);
	fd = only_elf(found < 0 ? open_by_path(m) : reopen(found));
	*ret_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

int open_diag_here(void)
{
	struct timeval limit = {.tv_sec = 1};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

/* Only in a process of one thread: it goes there and back. */
long op_diag(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct read_tid *a = args;
	CLEANUP_CLOSE int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int there = -1;
	char path[64];
	int fd;

	(void)args_len;
	(void)out;
	(void)cap;
	snprintf(path, sizeof(path), "/proc/%u/ns/net", a->tid);
	there = open(path, O_RDONLY | O_CLOEXEC);
	if (own < 0 || there < 0 || setns(there, CLONE_NEWNET) < 0)
		return -errno;
	fd = open_diag_here();
	if (setns(own, CLONE_NEWNET) < 0)
		_exit(1); /* another reader is where it should be */
	*ret_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

long op_stats(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	union bpf_attr attr = {.enable_stats.type = BPF_STATS_RUN_TIME};
	int fd = (int)syscall(SYS_bpf, BPF_ENABLE_STATS, &attr, sizeof(attr));

	(void)args;
	(void)args_len;
	(void)out;
	(void)cap;
	*ret_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? -errno : 0;
}
