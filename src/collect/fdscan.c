/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/fdscan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/procfs.h"

int fdscan_parse_link(const char *link, struct fdscan_item *ret_item)
{
	bool is_pipe = strncmp(link, "pipe:[", 6) == 0;
	uint64_t ino;
	const char *end;

	if (!is_pipe && strncmp(link, "socket:[", 8) != 0)
		return -EINVAL;
	if (procfs_parse_u64(link + (is_pipe ? 6 : 8), UINT64_MAX, &ino, &end) < 0 ||
	    strcmp(end, "]") != 0)
		return -EINVAL;
	ret_item->is_pipe = is_pipe;
	ret_item->ino = ino;
	return 0;
}

long fdscan(uint32_t tgid, size_t max, fdscan_fn fn, void *ctx, bool *ret_more)
{
	char path[64];
	long cnt = 0;

	snprintf(path, sizeof(path), "/proc/%u/fd", tgid);
	CLEANUP_CLOSEDIR DIR *dir = opendir(path);
	if (!dir)
		return -errno;
	for (struct dirent *ent; (ent = readdir(dir));) {
		struct fdscan_item item = {0};
		char link[64]; /* what is cut is not one of the two */
		uint64_t fd;
		struct stat st;
		if (procfs_parse_u64(ent->d_name, INT32_MAX, &fd, NULL) < 0)
			continue;
		if ((size_t)cnt >= max) {
			if (ret_more)
				*ret_more = true;
			break;
		}
		cnt++;
		ssize_t len = readlinkat(dirfd(dir), ent->d_name, link, sizeof(link) - 1);
		if (len <= 0)
			continue;
		link[len] = '\0';
		if (fdscan_parse_link(link, &item) < 0)
			continue;
		item.fd = (int32_t)fd;
		if (item.is_pipe) {
			/* the link's own mode says how the descriptor was opened */
			if (fstatat(dirfd(dir), ent->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			item.readable = st.st_mode & S_IRUSR;
			item.writable = st.st_mode & S_IWUSR;
		}
		if (fn(ctx, &item))
			break;
	}
	return cnt;
}
