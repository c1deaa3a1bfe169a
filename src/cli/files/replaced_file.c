/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/replaced_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/timed/timed_fork.h"

/* Path of the folder that holds path; "." for one without. */
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

/* A file's folder and name, without a link in the way from here on. */
struct place {
	int dir;	/* its folder; -1 none */
	int other;	/* not in a folder: what a link such as /dev/stdout leads to; -1 none */
	char *name;	/* in it */
	struct stat st; /* of what is there */
	bool there;
};

static void place_release(struct place *p)
{
	if (p->dir >= 0)
		close(p->dir);
	if (p->other >= 0)
		close(p->other);
	free(p->name);
}

static int open_folder(const char *path, uint64_t resolve)
{
	CLEANUP_FREE char *folder = folder_of(path);
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = resolve};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, folder, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* Looks at name in dir, a link not followed; 0 too when nothing is there. */
static int look(int dir, const char *name, struct stat *ret, bool *ret_there)
{
	struct stat folder;

	*ret_there = fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
	if (!*ret_there)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(dir, &folder) < 0)
		return -errno;
	return file_laid_by_another(&folder, ret) ? -EACCES : 0;
}

/* The file that a link leads to: by the kernel, whose rules for links hold so. */
static int follow(const char *path, struct place *p)
{
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	char self[32], real[PATH_MAX];
	struct stat end;
	ssize_t len;

	if (fd < 0) /* leads nowhere: the link itself is replaced */
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &end) < 0)
		return -errno;
	if (!S_ISREG(end.st_mode)) {
		p->other = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		p->st = end;
		p->there = true;
		return p->other < 0 ? -errno : 0;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	len = readlink(self, real, sizeof(real) - 1);
	if (len <= 0)
		return -errno;
	real[len] = '\0';
	close(p->dir);
	free(p->name);
	p->name = xstrdup(file_base_name(real));
	p->dir = open_folder(real, RESOLVE_NO_SYMLINKS);
	if (p->dir < 0)
		return p->dir;
	int code = look(p->dir, p->name, &p->st, &p->there);

	if (code == 0 && (!p->there || p->st.st_ino != end.st_ino || p->st.st_dev != end.st_dev))
		code = -ESTALE; /* somebody moves things about */
	return code;
}

static int place_find(const char *path, struct place *p)
{
	int code;

	if (!*path || path[strlen(path) - 1] == '/')
		return *path ? -EISDIR : -ENOENT;
	p->name = xstrdup(file_base_name(path));
	p->dir = open_folder(path, 0);
	if (p->dir < 0)
		return p->dir;
	code = look(p->dir, p->name, &p->st, &p->there);
	if (code < 0 || !p->there || !S_ISLNK(p->st.st_mode))
		return code;
	p->there = false;
	return follow(path, p);
}

static int write_in_place(const struct place *p, const struct buf *bytes)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", p->other);

	CLEANUP_CLOSE int fd = p->other >= 0 ? open(self, O_WRONLY | O_CLOEXEC)
					     : openat(p->dir, p->name,
						      O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	/* what cannot be cut, a device or FIFO, need not be */
	if (fd < 0 || (ftruncate(fd, 0) < 0 && errno != EINVAL))
		return -errno;
	return file_write_all(fd, buf_str(bytes), bytes->len);
}

/* The name of a new file is only safe on the disk with its directory. */
static int sync_folder(const struct place *p)
{
	CLEANUP_CLOSE int fd = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int write_partial(const char *partial, const struct place *p, const struct buf *bytes)
{
	CLEANUP_CLOSE int fd = openat(p->dir, partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				      0600);
	int code;

	if (fd < 0)
		return -errno;
	code = file_write_all(fd, buf_str(bytes), bytes->len);
	/* whose it was stays so, if one may */
	if (code == 0 && p->there && fchown(fd, p->st.st_uid, p->st.st_gid) < 0 && errno != EPERM)
		code = -errno;
	if (code == 0 && p->there && fchmod(fd, p->st.st_mode & 0777) < 0)
		code = -errno;
	if (code == 0 && (fsync(fd) < 0 || renameat(p->dir, partial, p->dir, p->name) < 0))
		code = -errno;
	if (code < 0)
		unlinkat(p->dir, partial, 0);
	return code;
}

static int replace(const struct place *p, const struct buf *bytes)
{
	CLEANUP_FREE char *partial = xasprintf("%s.%d.partial", p->name, (int)getpid());
	int code = write_partial(partial, p, bytes);

	if (code == -EACCES && p->there) /* one's own file in a folder that is not */
		return write_in_place(p, bytes);
	if (code < 0)
		return code;
	code = sync_folder(p);
	/* some file systems cannot: the file itself is there all the same */
	return code == -EINVAL || code == -EACCES ? 0 : code;
}

struct job {
	const char *path;
	const struct buf *bytes;
};

static int check_job(const void *ctx, int talk, struct err *err)
{
	const char *path = ((const struct job *)ctx)->path;
	CLEANUP(place_release) struct place p = {.dir = -1, .other = -1};
	int code = place_find(path, &p);

	(void)talk;
	if (code == 0 && !p.there)
		code = faccessat(p.dir, ".", W_OK | X_OK, 0) < 0 ? -errno : 0;
	else if (code == 0 && S_ISDIR(p.st.st_mode))
		return err_set(err, -EISDIR, "'%s' is a directory: name a file in it", path);
	else if (code == 0)
		code = faccessat(p.other >= 0 ? AT_FDCWD : p.dir, p.other >= 0 ? path : p.name,
				 W_OK, 0) < 0 ? -errno : 0;
	return code < 0 ? err_errno(err, code, "write '%s'", path) : 0;
}

static int write_job(const void *ctx, int talk, struct err *err)
{
	const struct job *job = ctx;
	CLEANUP(place_release) struct place p = {.dir = -1, .other = -1};
	int code = place_find(job->path, &p);

	if (code == 0 && p.there && S_ISDIR(p.st.st_mode))
		return err_set(err, -EISDIR, "'%s' is a directory: name a file in it", job->path);
	if (code == 0 && p.there && !S_ISREG(p.st.st_mode)) {
		timed_fork_unlimited(talk);
		code = write_in_place(&p, job->bytes);
	} else if (code == 0) {
		code = replace(&p, job->bytes);
	}
	return code < 0 ? err_errno(err, code, "write '%s'", job->path) : 0;
}

static int job_run(timed_fork_fn *fn, const struct job *job, uint64_t limit_ns, struct err *err)
{
	int code = timed_fork(fn, job, limit_ns, err);

	if (code == -ETIMEDOUT)
		err_prefix(err, "write '%s'", job->path);
	return code;
}

int replaced_file_check(const char *path, struct err *err)
{
	return job_run(check_job, &(struct job){.path = path}, TIMED_FORK_LOOK_NS, err);
}

int replaced_file_write(const char *path, const struct buf *bytes, struct err *err)
{
	return job_run(write_job, &(struct job){path, bytes}, TIMED_FORK_WRITE_NS, err);
}
