/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/inroot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timed_call.h"

static int resolve(int dir_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* Looked at before it is opened: opening a device or a FIFO may do something. */
static int open_regular(int dir_fd, const char *path, uint64_t flags)
{
	CLEANUP_CLOSE int found = resolve(dir_fd, path, O_PATH | flags);
	struct statfs fs;
	struct stat st;
	char self[32];
	int fd;

	if (found < 0)
		return found;
	if (fstat(found, &st) == 0 && S_ISLNK(st.st_mode)) /* only with O_NOFOLLOW */
		return -ELOOP;
	if (fstat(found, &st) < 0 || !S_ISREG(st.st_mode) || fstatfs(found, &fs) < 0)
		return -EINVAL;
	if ((uint32_t)fs.f_type == FUSE_SUPER_MAGIC) /* whoever serves it may never answer */
		return -ENOTSUP;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", found);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int inroot_open_below(int dir_fd, const char *path)
{
	return open_regular(dir_fd, path, 0);
}

/* ---- from the root on: in the child of timed_call, for its file system may be dead */

enum what {
	REGULAR,
	REGULAR_NO_LINK,
	DIRECTORY,
};

struct open_args {
	uint32_t what;
	char paths[2 * PATH_MAX - 64]; /* root, path */
};

static int open_what(int dir, uint32_t what, const char *path)
{
	switch (what) {
	case DIRECTORY:
		return resolve(dir, path, O_RDONLY | O_DIRECTORY);
	case REGULAR_NO_LINK:
		return open_regular(dir, path, O_NOFOLLOW);
	default:
		return open_regular(dir, path, 0);
	}
}

static long open_in_child(const void *args, char *out, size_t cap, int *ret_fd)
{
	const struct open_args *a = args;
	CLEANUP_CLOSE int dir = open(a->paths, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = dir < 0 ? -errno : open_what(dir, a->what, a->paths + strlen(a->paths) + 1);

	(void)out;
	(void)cap;
	*ret_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

static int open_timed(enum what what, const char *root, const char *path)
{
	struct open_args args = {.what = what};
	size_t root_len = strlen(root) + 1, path_len = strlen(path) + 1;
	int fd = -1;
	struct timed_call call = {.fn = open_in_child, .args = &args, .ret_fd = &fd};
	long rc;

	if (root_len + path_len > sizeof(args.paths))
		return -ENAMETOOLONG;
	memcpy(args.paths, root, root_len);
	memcpy(args.paths + root_len, path, path_len);
	call.args_len = offsetof(struct open_args, paths) + root_len + path_len;
	if (sscanf(root, "/proc/%u/root", &call.pid) != 1)
		call.pid = 0;
	rc = timed_call(&call);
	return rc < 0 ? (int)rc : fd < 0 ? -EIO : fd;
}

int inroot_open(const char *root, const char *path)
{
	return open_timed(REGULAR, root, path);
}

int inroot_open_own(uint32_t tgid, const char *path)
{
	char root[32];

	snprintf(root, sizeof(root), "/proc/%u/root", tgid);
	return open_timed(REGULAR_NO_LINK, root, path);
}

int inroot_open_dir(const char *root, const char *path)
{
	return open_timed(DIRECTORY, root, path);
}
