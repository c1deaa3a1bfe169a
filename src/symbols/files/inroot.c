/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/files/inroot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "reads/ops.h"
#include "reads/reads.h"

int inroot_open_below(int dir_fd, const char *path)
{
	return open_regular(dir_fd, path, 0);
}

/* "/proc/TGID/root", or "/" for our own: 0. */
static int tgid_of(const char *root, uint32_t *ret_tgid)
{
	int end = 0;

	*ret_tgid = 0;
	if (strcmp(root, "/") == 0)
		return 0;
	return sscanf(root, "/proc/%u/root%n", ret_tgid, &end) == 1 && end && !root[end] ? 0
											 : -EINVAL;
}

int inroot_open(const char *root, const char *path)
{
	CLEANUP_CLOSE int dir = -1;
	uint32_t tgid;

	if (tgid_of(root, &tgid) == 0)
		return reads_open_in_root(tgid, OPEN_ELF, path);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : open_regular(dir, path, 0);
}

int inroot_open_own(uint32_t tgid, const char *path)
{
	return reads_open_in_root(tgid, OPEN_PERF_MAP, path);
}

int inroot_open_dir(const char *root, const char *path)
{
	CLEANUP_CLOSE int dir = -1;
	uint32_t tgid;

	if (tgid_of(root, &tgid) == 0)
		return reads_open_in_root(tgid, OPEN_PACKAGES, path);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : open_directory(dir, path);
}
