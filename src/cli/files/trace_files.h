/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_FILES_H
#define TRACE_FILES_H
/*
 * Files of spans, read as one set and handed on as whole traces, with a line
 * of progress on stderr where that is a terminal.  Ctrl-C ends the reading:
 * what was read until then is handed on.
 */
#include <stddef.h>
#include <stdint.h>

#include "report/requests/requests_out.h"

struct arena;
struct err;
struct fold_opts;
struct strtab;
struct trace;

struct trace_files_opts {
	uint64_t max_bytes;	/* of memory for spans, the rest is on disk; 0: the default */
	bool no_events;		/* events and log lines inside of spans are left out */
	const struct fold_opts *fold;	/* how ids in names are folded; NULL: as is usual */
};

struct trace_files_sink {
	void *ctx;
	int (*trace)(void *ctx, const struct trace *t);	/* 0, or < 0 to end with that */
};

/*
 * paths: cnt of them, "-" is standard input.  0 when at least something of
 * each could be read; *ret lives in arena.
 */
int trace_files_read(char **paths, size_t cnt, const struct trace_files_opts *opts,
		     struct strtab *strings, const struct trace_files_sink *sink,
		     struct arena *arena, struct requests_input *ret, struct err *err);

/*
 * Lines to stderr of what in them could not be read, for commands whose report
 * has no place for it.
 */
void trace_files_warn(const struct requests_input *in);

#endif /* TRACE_FILES_H */
