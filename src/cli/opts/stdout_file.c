/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/stdout_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/rights.h"
#include "base/timed/timed_fork.h"

#define BLOCK_BYTES (1 << 16)

/* In the child, which keeps nothing open by which one would wait for its end. */
static int put(void *ctx, const struct timed_job *job, struct err *err)
{
	(void)ctx;
	(void)err;
	close(STDIN_FILENO);
	close(STDERR_FILENO);
	rights_keep(RIGHTS_NONE);
	return file_write_all(STDOUT_FILENO, job->data, job->len);
}

static ssize_t block_write(void *worker, const char *bytes, size_t len)
{
	size_t part = len < BLOCK_BYTES ? len : BLOCK_BYTES;
	int rc;

	memcpy(timed_worker_shared(worker), bytes, part);
	rc = timed_worker_ask(worker, 0, part, TIMED_FORK_WRITE_NS, NULL);
	if (rc >= 0)
		return (ssize_t)part;
	errno = -rc;
	return 0; /* which is how it says that it failed */
}

void stdout_file_guard(void)
{
	const cookie_io_functions_t io = {.write = block_write};
	struct timed_worker *worker;
	struct statx st;
	FILE *out;

	if (statx(STDOUT_FILENO, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0 ||
	    !S_ISREG(st.stx_mode))
		return;
	worker = timed_worker_new(put, NULL, BLOCK_BYTES, false);
	out = fopencookie(worker, "w", io);
	if (out)
		stdout = out; /* its own is never written to */
	else
		timed_worker_free(worker);
}

const char *stdout_file_error(void)
{
	return errno == ETIMEDOUT ? "its file system does not answer" : strerror(errno);
}
