/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/file_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/files/file_answers.h"
#include "cli/files/path_file.h"
#include "collect/source.h"
#include "spans/spans.h"
#include "store/format.h"

enum { HEAD_BYTES = 64 };

/* By their first bytes alone. */
static const struct {
	enum file_kind kind;
	const char *begin;
} begins[] = {
	{FILE_CAPTURE, CAPTURE_MAGIC},
	{FILE_FOREST, "heldup-forest "},
	{FILE_PATHS, PATH_FILE_MAGIC},
	{FILE_SPACE, "heldup-space "},
	{FILE_SIGNATURES, "heldup-signatures "},
};

static const struct {
	const char *what;   /* "it is" these */
	const char *reader; /* stands before the path; NULL: nothing reads it */
} kinds[FILE_KIND_CNT] = {
	[FILE_CAPTURE] = {"a capture", "heldup why -i"},
	[FILE_CALLS] = {"a trace of calls", "heldup why -i"},
	[FILE_PATHS] = {"what heldup saw of running servers", "heldup requests -i"},
	[FILE_SPANS] = {"a trace of requests", "heldup requests"},
	[FILE_FOREST] = {"a forest of hypotheses", "heldup forest"},
	[FILE_SPACE] = {"what heldup replay has learnt", "heldup replay --space"},
	[FILE_SIGNATURES] = {"signatures of functions", "heldup learn --show"},
	[FILE_ANSWER] = {"JSON that heldup printed", NULL},
};

static enum file_kind kind_of_head(const char *path)
{
	char head[HEAD_BYTES + 1] = "";
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t len = fd < 0 ? -1 : read(fd, head, HEAD_BYTES);

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		size_t want = strlen(begins[i].begin);

		if (len >= (ssize_t)want && memcmp(head, begins[i].begin, want) == 0)
			return begins[i].kind;
	}
	return strstr(head, "\"schema\": \"heldup/") ? FILE_ANSWER : FILE_OTHER;
}

static bool is_trace_of_lttng(const char *path)
{
	CLEANUP_FREE char *metadata = xasprintf("%s/metadata", path);

	return access(metadata, F_OK) == 0;
}

/* Opens nothing but files and directories; FILE_OTHER also for "-" and what cannot be read. */
static enum file_kind file_kind_of(const char *path)
{
	struct source *src = NULL;
	struct err none = {0};
	enum spans_format format;
	enum file_kind kind;
	struct stat st;

	if (strcmp(path, "-") == 0 || stat(path, &st) < 0)
		return FILE_OTHER;
	if (S_ISDIR(st.st_mode))
		return is_trace_of_lttng(path) ? FILE_CALLS : FILE_OTHER;
	if (!S_ISREG(st.st_mode))
		return FILE_OTHER;
	kind = kind_of_head(path);
	if (kind != FILE_OTHER)
		return kind;
	if (spans_look(path, &format) == 0)
		return FILE_SPANS;
	if (source_file(path, &src, &none) < 0)
		return FILE_OTHER;
	source_free(src);
	return FILE_CALLS;
}

int file_kind_say(const char *path, enum file_kind wanted, struct err *err)
{
	enum file_kind kind;
	bool same;

	if (err->code == -ETIMEDOUT) /* it would not answer this either */
		return err->code;
	kind = file_kind_of(path);
	same = kind == wanted || (kind == FILE_CALLS && wanted == FILE_CAPTURE);
	if (kind == FILE_OTHER || same)
		return err->code;
	if (!kinds[kind].reader)
		return err_set(err, err->code, "'%s' is %s: no command reads that", path,
			       kinds[kind].what);
	return err_set(err, err->code, "'%s' is %s: %s %s reads it", path, kinds[kind].what,
		       kinds[kind].reader, path);
}

int file_kind_source(const char *path, struct source **ret_src, struct err *err)
{
	int code = file_answers(path, err);

	if (code < 0)
		return code;
	code = source_file(path, ret_src, err);
	return code < 0 ? file_kind_say(path, FILE_CAPTURE, err) : code;
}
