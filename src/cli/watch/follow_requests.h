/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FOLLOW_REQUESTS_H
#define FOLLOW_REQUESTS_H
/*
 * Requests of running servers, as traces: collect/paths watches, src/paths says which
 * call is of which request, and the traces go where those of files go.
 */
#include <stddef.h>
#include <stdint.h>

#include "cli/files/trace_files.h"

struct arena;
struct buf;
struct cmd;
struct err;
struct select_opts;
struct strtab;

struct follow_requests_opts {
	const struct cmd *cmd;		/* whose options name output files, */
	const void *cmd_opts;		/* parsed */
	const struct select_opts *select;
	uint64_t duration_ns;
	uint32_t max_cost_ppm;		/* 0: any */
	struct buf *record;		/* what is seen goes there, too (path_file.h); NULL: not */
};

/* As trace_files_read; *ret has .live.  -ENODATA where no request was seen. */
int follow_requests_read(const struct follow_requests_opts *opts, struct strtab *strings,
		       const struct trace_files_sink *sink, struct arena *arena,
		       struct requests_input *ret, struct err *err);

/* The same from files that were recorded so; those of several hosts are joined. */
int follow_requests_files(char **paths, size_t cnt, struct strtab *strings,
			  const struct trace_files_sink *sink, struct arena *arena,
			  struct requests_input *ret, struct err *err);

#endif /* FOLLOW_REQUESTS_H */
