/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/sig_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/files/file_answers.h"
#include "cli/files/file_kind.h"
#include "functions/sig/sig.h"

int sig_file_read(const char *path, struct arena *arena, struct sigs **ret_sigs,
		  struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	int code = file_answers(path, err);

	if (code == 0)
		code = file_read(path, SIG_FILE_MAX, &bytes, err);
	if (code < 0)
		return code;
	code = sig_read(buf_str(&bytes), bytes.len, arena, ret_sigs, err);
	if (code < 0)
		err_prefix(err, "read signatures '%s'", path);
	return code < 0 ? file_kind_say(path, FILE_SIGNATURES, err) : 0;
}

/* A typing error must not cost somebody another file. */
static int check_old(const char *path, struct err *err)
{
	char head[sizeof(SIG_FILE_HEAD) - 1];
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return err_errno(err, -errno, "look at '%s'", path);
	len = read(fd, head, sizeof(head));
	if (len < 0)
		return err_errno(err, -errno, "read '%s'", path);
	if (len == 0 || (len == sizeof(head) && memcmp(head, SIG_FILE_HEAD, sizeof(head)) == 0))
		return 0;
	return err_set(err, -EEXIST, "'%s' exists and is not a file of signatures", path);
}

static int open_partial(struct sig_file *f, struct err *err)
{
	f->partial = xasprintf("%s.%d.partial", f->path, (int)getpid());
	f->fd = open(f->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (f->fd >= 0)
		return 0;
	err_errno(err, -errno, "create '%s'", f->partial);
	free(f->partial); /* not ours to remove */
	f->partial = NULL;
	f->fd = 0;
	return err->code;
}

int sig_file_open(struct sig_file *f, const char *path, struct err *err)
{
	struct stat st;
	int code = 0;

	f->to_stdout = strcmp(path, "-") == 0;
	if (f->to_stdout)
		return 0;
	code = file_look_own(path, &st);
	if (code < 0 && code != -ENOENT)
		return err_errno(err, code, "write '%s'", path);
	if (code < 0 || stat(path, &st) < 0) {
		f->path = xstrdup(path);
		return open_partial(f, err);
	}
	if (S_ISDIR(st.st_mode))
		return err_set(err, -EISDIR, "'%s' is a directory: name a file in it", path);
	if (!S_ISREG(st.st_mode)) { /* a device or FIFO cannot be replaced */
		f->fd = open(path, O_WRONLY | O_CLOEXEC);
		if (f->fd < 0) {
			f->fd = 0;
			return err_errno(err, -errno, "open '%s'", path);
		}
		f->path = xstrdup(path);
		return 0;
	}
	code = check_old(path, err);
	if (code < 0)
		return code;
	f->path = realpath(path, NULL); /* a link goes on pointing at it */
	if (!f->path)
		return err_errno(err, -errno, "look at '%s'", path);
	return open_partial(f, err);
}

static int write_all(struct sig_file *f, const struct buf *bytes)
{
	int code = file_write_all(f->to_stdout ? STDOUT_FILENO : f->fd, bytes->data, bytes->len);

	if (code == 0 && f->partial && fdatasync(f->fd) < 0)
		code = -errno;
	if (code == 0 && f->partial && rename(f->partial, f->path) < 0)
		code = -errno;
	return code;
}

int sig_file_write(struct sig_file *f, const struct sigs *s, struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	int code;

	sig_write(s, &bytes);
	code = write_all(f, &bytes);
	if (code < 0)
		return err_errno(err, code, "write %s", f->to_stdout ? "standard output" : f->path);
	free(f->partial);
	f->partial = NULL;
	return 0;
}

void sig_file_close(struct sig_file *f)
{
	if (f->fd)
		close(f->fd);
	if (f->partial)
		unlink(f->partial);
	free(f->partial);
	free(f->path);
	*f = (struct sig_file){0};
}
