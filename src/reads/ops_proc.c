/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of the reader that read below /proc/PID. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "reads/ops.h"

#define LINE_LEN 4400	 /* PATH_MAX, doubled where bytes are escaped, and the numbers */
#define LINES_MAX 262144 /* lines read of one file: twice what a kernel allows */
#define DIGITS_MAX 10	 /* of a descriptor's number */
#define OPENED_MAX 512	 /* descriptors looked at for a file that came without one */

/* That process is gone. */
static long proc_errno(void)
{
	return errno == ENOENT ? -ESRCH : -errno;
}

/* The lines of what may be executed, as many as fit. */
static long executable_lines(const char *path, char *out, size_t cap)
{
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	char line[LINE_LEN];
	size_t used = 0, lines = 0;
	bool whole = true, taken = false;

	if (!file)
		return proc_errno();
	while (fgets(line, sizeof(line), file) && lines++ < LINES_MAX) {
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

long op_maps(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct read_maps *a = args;
	char path[64];

	(void)args_len;
	(void)ret_fd;
	snprintf(path, sizeof(path), "/proc/%u/maps", a->tid);
	return a->all ? read_some(path, out, cap) : executable_lines(path, out, cap);
}

long op_mem(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct read_mem *a = args;
	CLEANUP_CLOSE int fd = -1;
	char path[64];
	ssize_t got;

	(void)args_len;
	(void)ret_fd;
	if (a->addr > INT64_MAX) /* the kernel's half: no offset of a file */
		return -EFAULT;
	if (!bound_allows(a->tid))
		return -EDQUOT;
	/* unlike process_vm_readv(2), whose wait for the lock SIGKILL does not end */
	snprintf(path, sizeof(path), "/proc/%u/mem", a->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return proc_errno();
	got = pread(fd, out, a->len < cap ? a->len : cap, (off_t)a->addr);
	return got < 0 ? -errno : got;
}

/* Names of /proc/TID that are handed out; # stands for a number. */
static const char *const names[] = {
	"stat", "status", "comm", "cgroup", "syscall", "fdinfo/#",
	"net/tcp", "net/tcp6", "net/netstat", "net/snmp", "net/sockstat", "net/sockstat6",
	"net/fib_trie", "net/if_inet6",
};

static bool is_name(const char *text, const char *name)
{
	for (; *name; name++) {
		size_t len = *name == '#' ? strspn(text, "0123456789") : *text == *name;

		if (!len || len > DIGITS_MAX)
			return false;
		text += len;
	}
	return !*text;
}

static bool is_known(const char *text)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_name(text, names[i]))
			return true;
	return false;
}

long op_file(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct read_file *a = args;
	char path[32 + READ_NAME_MAX];

	(void)args_len;
	(void)ret_fd;
	if (a->name[READ_NAME_MAX - 1] || !is_known(a->name))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%u/%s", a->tid, a->name);
	return read_some(path, out, a->max < cap ? a->max : cap);
}

static uint64_t fdinfo_ino(uint32_t tid, int fd)
{
	char path[64], text[257];
	unsigned long long ino;
	const char *at;
	long len;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%d", tid, fd);
	len = read_some(path, text, sizeof(text) - 1);
	text[len > 0 ? len : 0] = '\0';
	at = strstr(text, "\nino:\t");
	return at && sscanf(at, "\nino:\t%llu", &ino) == 1 ? ino : 0;
}

/* The link's text into out, which has room for it; its length, or -errno. */
static long fd_look(uint32_t tid, int fd, struct read_fd_out *ret, char *out, size_t cap)
{
	char path[64];
	struct stat link;
	struct statx st;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", tid, fd);
	len = readlink(path, out, cap - 1);
	if (len <= 0)
		return len < 0 ? -errno : -ENOENT;
	out[len] = '\0';
	*ret = (struct read_fd_out){0};
	if (lstat(path, &link) == 0)
		ret->mode = link.st_mode;
	/* a file system that is asked may never answer; before 5.14 only stat tells */
	if (*out == '/')
		ret->ino = fdinfo_ino(tid, fd);
	if (!ret->ino && statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &st) == 0)
		ret->ino = st.stx_ino;
	return len;
}

long op_fd(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct read_fd *a = args;
	struct read_fd_out got;
	long len;

	(void)args_len;
	(void)ret_fd;
	if (cap < sizeof(got) + 2)
		return -EINVAL;
	len = fd_look(a->tid, a->fd, &got, out + sizeof(got), cap - sizeof(got));
	if (len < 0)
		return len;
	memcpy(out, &got, sizeof(got));
	return (long)sizeof(got) + len;
}

long op_exe(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct read_tid *a = args;
	char path[64];
	ssize_t len;

	(void)args_len;
	(void)ret_fd;
	snprintf(path, sizeof(path), "/proc/%u/exe", a->tid);
	len = readlink(path, out, cap);
	return len < 0 ? -errno : len;
}

long op_ns(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct read_ns *a = args;
	char path[64];
	uint64_t ino;
	struct stat st;

	(void)args_len;
	(void)ret_fd;
	if (cap < sizeof(ino) || (strcmp(a->name, "net") != 0 && strcmp(a->name, "pid") != 0))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%u/ns/%s", a->tid, a->name);
	if (stat(path, &st) < 0)
		return -errno;
	ino = st.st_ino;
	memcpy(out, &ino, sizeof(ino));
	return sizeof(ino);
}

int read_fd_link(const char *link, struct read_fds_item *ret)
{
	bool is_pipe = strncmp(link, "pipe:[", 6) == 0;
	const char *number = link + (is_pipe ? 6 : 8);
	unsigned long long ino;
	char *end;

	if ((!is_pipe && strncmp(link, "socket:[", 8) != 0) || *number < '0' || *number > '9')
		return -EINVAL;
	errno = 0;
	ino = strtoull(number, &end, 10);
	if (errno || strcmp(end, "]") != 0)
		return -EINVAL;
	ret->ino = ino;
	ret->flags = is_pipe ? READ_FD_PIPE : 0;
	return 0;
}

/* True for a socket or pipe. */
static bool fd_item(int dir, const char *name, struct read_fds_item *ret)
{
	char link[64]; /* what is cut is not one of the two */
	ssize_t len = readlinkat(dir, name, link, sizeof(link) - 1);
	struct stat st;

	if (len <= 0)
		return false;
	link[len] = '\0';
	*ret = (struct read_fds_item){.fd = (int32_t)strtol(name, NULL, 10)};
	if (read_fd_link(link, ret) < 0)
		return false;
	if (!(ret->flags & READ_FD_PIPE))
		return true;
	/* the link's own mode says how the descriptor was opened */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	ret->flags |= (st.st_mode & S_IRUSR ? READ_FD_READ : 0) |
		      (st.st_mode & S_IWUSR ? READ_FD_WRITE : 0);
	return true;
}

static DIR *proc_dir(uint32_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", tid, name);
	return opendir(path);
}

long op_fds(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct read_fds *a = args;
	CLEANUP_CLOSEDIR DIR *dir = proc_dir(a->tid, "fd");
	struct read_fds_out head = {0};
	struct read_fds_item item;
	size_t used = sizeof(head);

	(void)args_len;
	(void)ret_fd;
	if (!dir)
		return -errno;
	for (struct dirent *e; (e = readdir(dir));) {
		if (e->d_name[0] == '.')
			continue;
		if (head.seen_cnt >= a->max || cap - used < sizeof(item)) {
			head.more = 1;
			break;
		}
		head.seen_cnt++;
		if (!fd_item(dirfd(dir), e->d_name, &item))
			continue;
		memcpy(out + used, &item, sizeof(item));
		used += sizeof(item);
	}
	memcpy(out, &head, sizeof(head));
	return (long)used;
}

long op_opened(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct read_opened *a = args;
	CLEANUP_CLOSEDIR DIR *dir = proc_dir(a->tid, "fd");
	struct dirent *e;

	(void)args_len;
	(void)ret_fd;
	for (int i = 0; dir && i < OPENED_MAX && (e = readdir(dir)); i++) {
		struct read_fd_out got;
		long len;

		if (e->d_name[0] == '.')
			continue;
		len = fd_look(a->tid, (int)strtol(e->d_name, NULL, 10), &got, out, cap);
		if (len > 0 && *out == '/' && got.ino == a->ino)
			return len;
	}
	return dir ? -ENOENT : -errno;
}

long op_ids(const void *args, size_t args_len, char *out, size_t cap, int *ret_fd)
{
	const struct read_tid *a = args;
	CLEANUP_CLOSEDIR DIR *dir = a->tid ? proc_dir(a->tid, "task") : opendir("/proc");
	size_t used = 0;

	(void)args_len;
	(void)ret_fd;
	if (!dir)
		return -errno;
	for (struct dirent *e; (e = readdir(dir)) && cap - used >= sizeof(uint32_t);) {
		uint32_t id = (uint32_t)strtoul(e->d_name, NULL, 10);

		if (!id)
			continue;
		memcpy(out + used, &id, sizeof(id));
		used += sizeof(id);
	}
	return (long)used;
}
