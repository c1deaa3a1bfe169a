/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/opts/cmd.h"
#include "cli/files/replaced_file.h"

int page_file_open(struct page_file *f, const char *path, struct err *err)
{
	*f = (struct page_file){.path = path, .fd = -1};
	if (!path)
		return 0;
	if (strcmp(path, "-") == 0) {
		f->to_stdout = true;
		f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
		return f->fd < 0 ? err_errno(err, -errno, "write to standard output") : 0;
	}
	return replaced_file_check(path, err);
}

bool page_file_wanted(const struct page_file *f)
{
	return f->path;
}

int page_file_write(struct page_file *f, const struct buf *bytes, struct err *err)
{
	int code;

	if (!f->path)
		return 0;
	if (!f->to_stdout)
		return replaced_file_write(f->path, bytes, err);
	code = file_write_all(f->fd, buf_str(bytes), bytes->len);
	return code < 0 ? err_errno(err, code, "write to standard output") : 0;
}

void page_file_close(struct page_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct page_file){.fd = -1};
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
	page_file_close(&page);
	return code < 0 ? cli_fail(cli, &err) : code;
}
