/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPANS_H
#define SPANS_H
/*
 * Files of spans as people have them, read as a stream: spans go to a sink
 * one by one in the file's order, which says nothing.  Its first bytes, unpacked, show the
 * format; its name says nothing either.
 *
 *	struct strtab strings = {0};
 *	struct span_sink sink = {.ctx = x, .span = take};
 *	struct spans_stats stats;
 *	spans_read("traces.json.gz", NULL, &strings, &sink, &stats, &err);
 *
 * A bad span costs that span: it is counted, the first few with where and why.
 * Memory is bounded by named limits in spans_input.h and in the readers; what a limit
 * drops is counted.  To add a format: see reading.h.
 */
#include <stddef.h>
#include <stdint.h>

#include "spans/span_sink.h"

struct err;
struct strtab;

/* "OTLP JSON", "Jaeger JSON", ... */
const char *spans_format_name(enum spans_format format);

/*
 * Reads one file ("-": standard input).  opts may be NULL.  0 also when only a
 * part of it could be read (ret->cut).  -errno with err "FILE: offset N: expected
 * X" when nothing of it could, or what the sink returned.  *ret is always set.
 */
int spans_read(const char *path, const struct spans_opts *opts, struct strtab *strings,
	       const struct span_sink *sink, struct spans_stats *ret, struct err *err);

/* The same of bytes in memory; name stands for the file in messages. */
int spans_read_bytes(const void *data, size_t len, const char *name,
		     const struct spans_opts *opts, struct strtab *strings,
		     const struct span_sink *sink, struct spans_stats *ret, struct err *err);

struct spans_body {		/* one request of OTLP as it was received, packed or not */
	const void *data;
	size_t len;
	enum spans_format format;	/* SPANS_OTLP_PROTO or SPANS_OTLP_JSON */
	uint64_t plain_max;		/* bytes of it that are read, unpacked */
	struct spans_opts opts;
};

/* As spans_read_bytes, but none in it is fine; -E2BIG: over plain_max, which was read. */
int spans_read_body(const struct spans_body *body, struct strtab *strings,
		    const struct span_sink *sink, struct spans_stats *ret, struct err *err);

/* Which format the beginning of a file shows; -EBADMSG where it is none of these, or -errno. */
int spans_look(const char *path, enum spans_format *ret_format);

#endif /* SPANS_H */
