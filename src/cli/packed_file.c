/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/packed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "requests/packed.h"

enum { HEAD_MAX = 64 };

int packed_file_read(const char *path, struct buf *out, struct err *err)
{
	return file_read(path, PACKED_FILE_MAX, out, err);
}

/* A typing error must not cost somebody another file. */
static int check_old(const char *path, const char *what, struct err *err)
{
	char head[HEAD_MAX], want[HEAD_MAX];
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return err_errno(err, -errno, "look at '%s'", path);
	snprintf(want, sizeof(want), "heldup-%s ", what);
	len = read(fd, head, strlen(want));
	if (len < 0)
		return err_errno(err, -errno, "read '%s'", path);
	if (len == 0 || ((size_t)len == strlen(want) && memcmp(head, want, (size_t)len) == 0))
		return 0;
	return err_set(err, -EEXIST, "'%s' exists and is not a %s of heldup's", path, what);
}

static int write_in_place(const char *path, const struct buf *bytes, struct err *err)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	int code = fd < 0 ? -errno : file_write_all(fd, buf_str(bytes), bytes->len);

	return code < 0 ? err_errno(err, code, "write '%s'", path) : 0;
}

/* The name of a new file is only safe on the disk with its directory. */
static int sync_folder(const char *path)
{
	CLEANUP_FREE char *folder = xstrdup(path);
	char *slash = strrchr(folder, '/');
	CLEANUP_CLOSE int fd = -1;

	if (slash)
		slash[slash == folder] = '\0';
	fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int write_partial(const char *partial, const char *path, const struct buf *bytes)
{
	CLEANUP_CLOSE int fd = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int code;

	if (fd < 0)
		return -errno;
	code = file_write_all(fd, buf_str(bytes), bytes->len);
	if (code == 0 && (fsync(fd) < 0 || rename(partial, path) < 0))
		code = -errno;
	if (code < 0)
		unlink(partial);
	return code;
}

static int replace(const char *path, const struct buf *bytes, struct err *err)
{
	CLEANUP_FREE char *real = realpath(path, NULL); /* a link goes on pointing at it */
	const char *target = real ? real : path;
	CLEANUP_FREE char *partial = xasprintf("%s.%d.partial", target, (int)getpid());
	int code = write_partial(partial, target, bytes);

	if (code < 0)
		return err_errno(err, code, "write '%s'", target);
	code = sync_folder(target);
	/* some file systems cannot: the file itself is there all the same */
	return code < 0 && code != -EINVAL ? err_errno(err, code, "write '%s'", target) : 0;
}

static int check_folder(const char *path, struct err *err)
{
	CLEANUP_FREE char *folder = xstrdup(path);
	char *slash = strrchr(folder, '/');

	if (slash)
		slash[slash == folder] = '\0';
	if (access(slash ? folder : ".", W_OK | X_OK) < 0)
		return err_errno(err, -errno, "write '%s'", path);
	return 0;
}

int packed_file_check(const char *path, const char *what, struct err *err)
{
	struct stat st;

	if (strcmp(path, "-") == 0)
		return 0;
	if (stat(path, &st) < 0)
		return check_folder(path, err);
	if (S_ISDIR(st.st_mode))
		return err_set(err, -EISDIR, "'%s' is a directory: name a file in it", path);
	return S_ISREG(st.st_mode) ? check_old(path, what, err) : 0;
}

int packed_file_write(const char *path, const char *what, const struct buf *bytes,
		      struct err *err)
{
	struct stat st;
	int code;

	if (strcmp(path, "-") == 0) {
		code = file_write_all(STDOUT_FILENO, buf_str(bytes), bytes->len);
		return code < 0 ? err_errno(err, code, "write to standard output") : 0;
	}
	if (stat(path, &st) < 0)
		return replace(path, bytes, err);
	if (S_ISDIR(st.st_mode))
		return err_set(err, -EISDIR, "'%s' is a directory: name a file in it", path);
	if (!S_ISREG(st.st_mode))
		return write_in_place(path, bytes, err);
	code = check_old(path, what, err);
	return code < 0 ? code : replace(path, bytes, err);
}
