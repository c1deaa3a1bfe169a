/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/inroot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

int inroot_open(const char *root, const char *path)
{
	/* a FIFO opens at once, a terminal does not become ours */
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	CLEANUP_CLOSE int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int fd;

	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

int inroot_open_of(uint32_t tgid, const char *path)
{
	char root[32];

	snprintf(root, sizeof(root), "/proc/%u/root", tgid);
	return inroot_open(root, path);
}
