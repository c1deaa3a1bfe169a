/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/packed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/files/file_answers.h"
#include "cli/files/replaced_file.h"
#include "requests/forest/packed.h"

enum { HEAD_MAX = 64 };

int packed_file_read(const char *path, struct buf *out, struct err *err)
{
	int code = file_answers(path, err);

	return code < 0 ? code : file_read(path, PACKED_FILE_MAX, out, err);
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

int packed_file_check(const char *path, const char *what, struct err *err)
{
	struct stat st;
	int code = 0;

	if (strcmp(path, "-") == 0)
		return 0;
	code = file_answers(path, err);
	if (code < 0)
		return code;
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		code = check_old(path, what, err);
	return code < 0 ? code : replaced_file_check(path, err);
}

int packed_file_write(const char *path, const char *what, const struct buf *bytes,
		      struct err *err)
{
	struct stat st;
	int code = 0;

	if (strcmp(path, "-") == 0) {
		code = file_write_all(STDOUT_FILENO, buf_str(bytes), bytes->len);
		return code < 0 ? err_errno(err, code, "write to standard output") : 0;
	}
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		code = check_old(path, what, err);
	return code < 0 ? code : replaced_file_write(path, bytes, err);
}
