/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/cmd.h"
#include "base/file.h"

int page_file_open(struct page_file *f, const char *path, struct err *err)
{
	struct stat st;

	*f = (struct page_file){.path = path, .fd = -1};
	if (!path)
		return 0;
	if (strcmp(path, "-") == 0) {
		f->to_stdout = true;
		f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
		return f->fd < 0 ? err_errno(err, -errno, "write to standard output") : 0;
	}
	f->created = stat(path, &st) < 0;
	f->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (f->fd < 0)
		return err_errno(err, -errno, "write '%s'", path);
	return 0;
}

bool page_file_wanted(const struct page_file *f)
{
	return f->fd >= 0;
}

int page_file_write(struct page_file *f, const struct buf *bytes, struct err *err)
{
	int code;

	if (f->fd < 0)
		return 0;
	if (!f->to_stdout && ftruncate(f->fd, 0) < 0 && errno != EINVAL)
		return err_errno(err, -errno, "write '%s'", f->path);
	code = file_write_all(f->fd, buf_str(bytes), bytes->len);
	if (code < 0 && f->to_stdout)
		return err_errno(err, code, "write to standard output");
	if (code < 0)
		return err_errno(err, code, "write '%s'", f->path);
	return 0;
}

void page_file_close(struct page_file *f, bool failed)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->fd >= 0 && failed && f->created)
		unlink(f->path);
	f->fd = -1;
}

int page_file_run(struct cli *cli, const char *path,
		  int (*answer)(struct cli *cli, struct page_file *page, struct err *err))
{
	struct page_file page = {.fd = -1};
	struct err err = {0};
	int code = page_file_open(&page, path, &err);

	if (code < 0)
		return cli_fail(cli, &err);
	code = answer(cli, &page, &err);
	page_file_close(&page, code < 0);
	return code < 0 ? cli_fail(cli, &err) : CLI_OK;
}
