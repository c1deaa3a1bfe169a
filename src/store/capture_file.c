/* SPDX-License-Identifier: Apache-2.0 */
#include "store/capture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/timed/timed_fork.h"
#include "store/format.h"

struct capture_file {
	const char *given;
	bool force;
	pid_t pid;	/* the watch's, also in its child */
	int fd;
	char *path;	/* as it will be called; NULL: written in place (stdout, a device) */
	char *partial;	/* as it is called until then */
	uint64_t stored_bytes;
	bool finished;
};

/* -EEXIST for a file that has something else in it. */
static int check_old(const char *path, struct err *err)
{
	char magic[sizeof(CAPTURE_MAGIC) - 1];
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(err, -errno, "look at '%s'", path);
	len = read(fd, magic, sizeof(magic));
	if (len < 0)
		return err_errno(err, -errno, "read '%s'", path);
	if (len == 0 || (len == sizeof(magic) && memcmp(magic, CAPTURE_MAGIC, sizeof(magic)) == 0))
		return 0;
	return err_set(err, -EEXIST,
		       "'%s' exists and is not a heldup capture (--force replaces it)", path);
}

/* A device or FIFO cannot be replaced: it is written in place. */
static int open_in_place(struct capture_file *f, const char *path, int talk, struct err *err)
{
	timed_fork_unlimited(talk);
	f->fd = open(path, O_WRONLY | O_CLOEXEC);
	return f->fd < 0 ? err_errno(err, -errno, "open '%s'", path) : 0;
}

static int open_partial(struct capture_file *f, struct err *err)
{
	f->partial = xasprintf("%s.%d.partial", f->path, (int)f->pid);
	f->fd = open(f->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->fd < 0 && errno == EEXIST) /* of an earlier process with our id */
		return err_set(err, -EEXIST, "'%s' is in the way: move it away", f->partial);
	if (f->fd < 0)
		return err_errno(err, -errno, "create '%s'", f->partial);
	return 0;
}

static int open_target(struct capture_file *f, int talk, struct err *err)
{
	struct stat st;
	int rc;

	if (strcmp(f->given, "-") == 0) {
		if (isatty(STDOUT_FILENO))
			return err_usage(err, "standard output is a terminal: redirect it");
		f->fd = STDOUT_FILENO;
		return 0;
	}
	rc = file_look_own(f->given, &st);
	if (rc < 0 && rc != -ENOENT)
		return err_errno(err, rc, "write '%s'", f->given);
	/* nothing there: a link that comes meanwhile is replaced and not followed */
	if (rc == 0 && stat(f->given, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return err_set(err, -EISDIR, "'%s' is a directory: name a file in it",
				       f->given);
		if (!S_ISREG(st.st_mode))
			return open_in_place(f, f->given, talk, err);
		rc = f->force ? 0 : check_old(f->given, err);
		if (rc < 0)
			return rc;
		f->path = realpath(f->given, NULL); /* a link goes on pointing at it */
	}
	if (!f->path)
		f->path = xstrdup(f->given);
	return open_partial(f, err);
}

static int write_bytes(struct capture_file *f, const void *data, size_t len, struct err *err)
{
	const char *shown = strcmp(f->given, "-") == 0 ? "standard output" : f->given;
	int rc = file_write_all(f->fd, data, len);

	if (rc == 0) {
		f->stored_bytes += len;
		return 0;
	}
	/* back to the last whole chunk; where that cannot be, a reader stops there itself */
	if (f->partial && ftruncate(f->fd, (off_t)f->stored_bytes) < 0)
		return err_errno(err, rc, "write '%s'", shown);
	return err_errno(err, rc, "write '%s'", shown);
}

static int finish(struct capture_file *f, struct err *err)
{
	if (!f->partial)
		return 0;
	if (fdatasync(f->fd) < 0)
		return err_errno(err, -errno, "write '%s'", f->given);
	if (rename(f->partial, f->path) < 0)
		return err_errno(err, -errno, "rename '%s' to '%s'", f->partial, f->path);
	f->finished = true;
	return 0;
}

static bool holds_nothing(const struct capture_file *f)
{
	return f->stored_bytes <= sizeof(struct capture_header);
}

/* Never over a capture that is there: that one is whole. */
static const char *keep(struct capture_file *f)
{
	if (!f->partial || holds_nothing(f))
		return "";
	f->finished = true;
	if (link(f->partial, f->path) < 0)
		return f->partial;
	unlink(f->partial);
	return f->path;
}

static void close_file(struct capture_file *f)
{
	if (f->partial && !f->finished && holds_nothing(f))
		unlink(f->partial);
	if (f->fd >= 0 && f->fd != STDOUT_FILENO)
		close(f->fd);
	f->fd = -1;
}

static void name_say(const struct timed_job *job, const char *name)
{
	snprintf(job->data, CAPTURE_FILE_NAME_MAX, "%s", name ? name : "");
}

int capture_file_do(void *ctx, const struct timed_job *job, struct err *err)
{
	struct capture_file *f = ctx;
	int rc = 0;

	switch ((enum capture_file_op)job->op) {
	case CAPTURE_FILE_OPEN:
		rc = open_target(f, job->talk, err);
		name_say(job, f->partial);
		break;
	case CAPTURE_FILE_WRITE:
		return write_bytes(f, job->data, job->len, err);
	case CAPTURE_FILE_FINISH:
		return finish(f, err);
	case CAPTURE_FILE_KEEP:
		name_say(job, keep(f));
		break;
	case CAPTURE_FILE_CLOSE:
		close_file(f);
		break;
	}
	return rc;
}

struct capture_file *capture_file_new(const char *path, bool force)
{
	struct capture_file *f = xmalloc(sizeof(*f));

	*f = (struct capture_file){.given = path, .force = force, .pid = getpid(), .fd = -1};
	return f;
}

void capture_file_free(struct capture_file *f)
{
	if (!f)
		return;
	free(f->path);
	free(f->partial);
	free(f);
}
