/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATH_TRACES_H
#define PATH_TRACES_H
/*
 * Followed requests as traces (trace/trace.h), for src/requests: a span for the
 * request, and inside one for its time in a queue, each known call, what the called
 * process did where that is followed too, and each wait of its threads.
 *
 * Tracepoints: the process' name, and ":80" (a request on this port), ":80 several at
 * once" (those that shared a connection), "ask ADDRESS", "queue for a worker", "lock",
 * "fsync" and other names of system calls.  Requests
 * that began before the recording, or were not answered within it, are left out.
 */
#include <stdint.h>

struct paths;
struct strtab;
struct trace;

struct path_traces_opts {
	struct strtab *strings;
	/* "nginx"; borrowed until the next call. */
	const char *(*comm)(void *ctx, uint32_t tgid);
	/* String id of the host; NULL: all are of one. */
	uint32_t (*host)(void *ctx, uint32_t id); /* of a process or thread */
	int (*trace)(void *ctx, const struct trace *t);	/* 0, or < 0 to end with that */
	void *ctx;
	int64_t offset_ns;	/* added to each time: from CLOCK_MONOTONIC to since 1970 */
};

struct path_traces_cnt {
	uint64_t trace_cnt, span_cnt;
	uint64_t shared_cnt;	/* of these traces: several requests at once */
	uint64_t cut_cnt;	/* requests left out, see above */
};

/* After paths_finish.  Adds to *cnt. */
int path_traces(const struct paths *p, const struct path_traces_opts *opts,
		struct path_traces_cnt *cnt);

#endif /* PATH_TRACES_H */
