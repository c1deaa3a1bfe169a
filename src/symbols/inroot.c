/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/inroot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

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

int inroot_open(const char *root, const char *path)
{
	CLEANUP_CLOSE int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -errno : inroot_open_below(dir, path);
}

int inroot_open_own(uint32_t tgid, const char *path)
{
	char root[32];

	snprintf(root, sizeof(root), "/proc/%u/root", tgid);

	CLEANUP_CLOSE int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -errno : open_regular(dir, path, O_NOFOLLOW);
}

int inroot_open_dir(const char *root, const char *path)
{
	CLEANUP_CLOSE int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -errno : resolve(dir, path, O_RDONLY | O_DIRECTORY);
}
