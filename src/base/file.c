/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

enum { FILE_STEP = 4096 };

/* Reads to the end or to one byte over max_bytes; 0 or -errno. */
static int fd_read_all(int fd, size_t max_bytes, struct buf *out, size_t start)
{
	for (;;) {
		ssize_t got;

		buf_reserve(out, FILE_STEP);
		got = read(fd, out->data + out->len, FILE_STEP);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		out->len += (size_t)got;
		out->data[out->len] = '\0';
		if (out->len - start > max_bytes)
			return -E2BIG;
	}
}

int file_read_at(int dir_fd, const char *path, size_t max_bytes, struct buf *out, struct err *err)
{
	CLEANUP_CLOSE int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	size_t start = out->len;
	int code;

	if (fd < 0)
		return err_errno(err, -errno, "open '%s'", path);
	code = fd_read_all(fd, max_bytes, out, start);
	if (code == -E2BIG) {
		buf_truncate(out, start + max_bytes);
		return err_set(err, code, "'%s' is larger than %zu bytes", path, max_bytes);
	}
	if (code < 0) {
		buf_truncate(out, start);
		return err_errno(err, code, "read '%s'", path);
	}
	return 0;
}

int file_read(const char *path, size_t max_bytes, struct buf *out, struct err *err)
{
	return file_read_at(AT_FDCWD, path, max_bytes, out, err);
}

int file_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t put = write(fd, at, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		len -= (size_t)put;
	}
	return 0;
}

bool file_laid_by_another(const struct stat *dir, const struct stat *st)
{
	return dir->st_mode & S_ISVTX && dir->st_mode & (S_IWOTH | S_IWGRP) &&
	       st->st_uid != geteuid() && st->st_uid != dir->st_uid;
}

int file_look_own(const char *path, struct stat *ret_st)
{
	CLEANUP_FREE char *folder = xstrndup(path, (size_t)(file_base_name(path) - path));
	struct stat dir, st;

	if (lstat(path, &st) < 0 || stat(*folder ? folder : ".", &dir) < 0)
		return -errno;
	if (file_laid_by_another(&dir, &st))
		return -EACCES;
	*ret_st = st;
	return 0;
}

const char *file_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
