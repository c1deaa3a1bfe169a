/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replaced_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"

static int write_in_place(const char *path, const struct buf *bytes)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	/* what cannot be cut, a device or FIFO, need not be */
	if (fd < 0 || (ftruncate(fd, 0) < 0 && errno != EINVAL))
		return -errno;
	return file_write_all(fd, buf_str(bytes), bytes->len);
}

/* Of the file or folder that path is in; "." for one without. */
static char *folder_of(const char *path)
{
	char *folder = xstrdup(path), *slash = strrchr(folder, '/');

	if (slash) {
		slash[slash == folder] = '\0';
		return folder;
	}
	free(folder);
	return xstrdup(".");
}

/* The name of a new file is only safe on the disk with its directory. */
static int sync_folder(const char *path)
{
	CLEANUP_FREE char *folder = folder_of(path);
	CLEANUP_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* old: of the file it takes the place of, or NULL. */
static int write_partial(const char *partial, const char *path, const struct stat *old,
			 const struct buf *bytes)
{
	CLEANUP_CLOSE int fd = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int code;

	if (fd < 0)
		return -errno;
	code = file_write_all(fd, buf_str(bytes), bytes->len);
	/* whose it was stays so, if one may */
	if (code == 0 && old && fchown(fd, old->st_uid, old->st_gid) < 0 && errno != EPERM)
		code = -errno;
	if (code == 0 && old && fchmod(fd, old->st_mode & 0777) < 0)
		code = -errno;
	if (code == 0 && (fsync(fd) < 0 || rename(partial, path) < 0))
		code = -errno;
	if (code < 0)
		unlink(partial);
	return code;
}

static int replace(const char *path, const struct stat *old, const struct buf *bytes)
{
	CLEANUP_FREE char *real = realpath(path, NULL); /* a link goes on pointing at it */
	const char *target = real ? real : path;
	CLEANUP_FREE char *partial = xasprintf("%s.%d.partial", target, (int)getpid());
	int code = write_partial(partial, target, old, bytes);

	if (code == -EACCES && old) /* one's own file in a folder that is not */
		return write_in_place(target, bytes);
	if (code < 0)
		return code;
	code = sync_folder(target);
	/* some file systems cannot: the file itself is there all the same */
	return code == -EINVAL || code == -EACCES ? 0 : code;
}

int replaced_file_check(const char *path, struct err *err)
{
	CLEANUP_FREE char *folder = folder_of(path);
	struct stat st;

	if (stat(path, &st) < 0)
		return access(folder, W_OK | X_OK) < 0 ? err_errno(err, -errno, "write '%s'", path)
						       : 0;
	if (S_ISDIR(st.st_mode))
		return err_set(err, -EISDIR, "'%s' is a directory: name a file in it", path);
	return access(path, W_OK) < 0 ? err_errno(err, -errno, "write '%s'", path) : 0;
}

int replaced_file_write(const char *path, const struct buf *bytes, struct err *err)
{
	struct stat st;
	bool there = stat(path, &st) == 0;
	int code;

	if (there && S_ISDIR(st.st_mode))
		return err_set(err, -EISDIR, "'%s' is a directory: name a file in it", path);
	if (there && !S_ISREG(st.st_mode))
		code = write_in_place(path, bytes);
	else
		code = replace(path, there ? &st : NULL, bytes);
	return code < 0 ? err_errno(err, code, "write '%s'", path) : 0;
}
