/* SPDX-License-Identifier: Apache-2.0 */
/* A text trace as a source, and which format a text is. */
#include "collect/import/import.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "collect/import/import_int.h"
#include "collect/import/import_lines.h"
#include "collect/source.h"

enum {
	LOOK_LINES = 400,	/* at the beginning of a text: the format must show by then */
	LOOK_SHARE = 4,		/* one line of so many that could be of a format */
	STEP_LINES = 1 << 16,	/* then the signal to stop is looked at */
};

struct text_source {
	const struct import_format *format;
	struct lines_reader *lines;
	struct import *import;
	void *ctx;		/* of the format */
	char *path;
	volatile sig_atomic_t stopping;
};

static const struct import_format *const formats[] = {
	&import_perf_script, &import_perf_trace, &import_strace,
};

/* The format that most of the first lines look like; NULL when hardly any do. */
static const struct import_format *format_of(struct text peek)
{
	enum { CNT = sizeof(formats) / sizeof(formats[0]) };
	unsigned lines = 0, could[CNT] = {0}, must[CNT] = {0}, best = 0;

	for (; peek.at < peek.end && lines < LOOK_LINES;) {
		const char *nl = memchr(peek.at, '\n', text_len(&peek));
		struct text line = text_to(&peek, nl ? nl : peek.end);

		peek.at = nl ? nl + 1 : peek.end;
		lines += text_len(&line) > 0;
		for (unsigned i = 0; i < CNT; i++) {
			int looks = formats[i]->looks(line);

			could[i] += looks == 1;
			must[i] += looks == 2;
		}
	}
	for (unsigned i = 1; i < CNT; i++)
		if (must[i] > must[best] || (must[i] == must[best] && could[i] > could[best]))
			best = i;
	if (must[best] == 0 && (could[best] == 0 || could[best] < lines / LOOK_SHARE))
		return NULL;
	return formats[best];
}

static void text_source_free(void *ctx)
{
	struct text_source *s = ctx;

	if (s->ctx)
		s->format->free(s->ctx);
	lines_reader_free(s->lines);
	import_free(s->import);
	free(s->path);
	free(s);
}

static void text_source_stop(void *ctx)
{
	((struct text_source *)ctx)->stopping = 1;
}

static int finish(struct text_source *s, int rc)
{
	struct err early = {0};

	s->format->end(s->ctx);
	if (s->stopping)
		err_set(&early, -EINTR, "reading '%s' was stopped early", s->path);
	else if (rc < 0)
		err_errno(&early, rc, "'%s': read to line %llu", s->path,
			  (unsigned long long)lines_number(s->lines));
	else if (lines_ended_early(s->lines))
		err_set(&early, -EBADMSG, "'%s' is packed and damaged or cut: read to line %llu",
			s->path, (unsigned long long)lines_number(s->lines));
	import_finish(s->import, early.code ? early.msg : NULL);
	return s->import->emit.error;
}

static int text_source_step(void *ctx, struct event_sink *sink, struct err *err)
{
	struct text_source *s = ctx;
	struct text line;
	int rc = 1;

	import_begin(s->import, sink);
	for (int i = 0; !s->stopping && s->import->emit.error == 0; i++) {
		rc = lines_next(s->lines, &line);
		if (rc <= 0)
			break;
		s->format->line(s->ctx, line, lines_number(s->lines));
		if (i >= STEP_LINES || import_tick(s->import))
			return s->import->emit.error < 0 ? s->import->emit.error : 1;
	}
	rc = finish(s, rc);
	return rc < 0 ? err_errno(err, rc, "take line %llu of '%s'",
				  (unsigned long long)lines_number(s->lines), s->path) : 0;
}

/* A binary that one of these programs wrote; what to do with it. */
static int refuse(const char *path, struct text peek, struct err *err)
{
	if (text_len(&peek) == 0)
		return err_set(err, -EBADMSG, "'%s' is not a heldup capture: it is empty", path);
	if (take_word(&peek, "PERFILE2"))
		return err_set(err, -EBADMSG, "'%s' is not a heldup capture: it is of perf record; "
			       "write its text with perf script -i '%s' and give that", path, path);
	return err_set(err, -EBADMSG, "'%s' is not a heldup capture, and no trace of strace, "
		       "perf trace, perf script or LTTng", path);
}

int import_open(int fd, const char *path, const void *first, size_t first_len,
		struct source **ret_src, struct err *err)
{
	static const struct source_ops ops = {
		.step = text_source_step,
		.stop = text_source_stop,
		.free = text_source_free,
	};
	struct text_source *s = xcalloc(1, sizeof(*s));
	struct text peek;
	int rc;

	s->lines = lines_reader_new(fd, first, first_len);
	s->path = xstrdup(path);
	peek = lines_peek(s->lines);
	s->format = format_of(peek);
	if (!s->format) {
		rc = refuse(path, peek, err);
		text_source_free(s);
		return rc;
	}
	s->import = import_new(s->format->name, s->path);
	s->ctx = s->format->open(s->import, peek);
	*ret_src = source_new(&ops, s);
	return 0;
}
