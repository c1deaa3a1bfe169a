/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_EXPORT_H
#define TRACE_EXPORT_H
/*
 * Traces in the formats of others: OTLP as lines of JSON, one export request a line, as
 * the collector's file exporter writes them, and the JSON that Jaeger's UI opens.
 *
 *	struct trace_export x = {.format = TRACE_EXPORT_OTLP, .strings = &strings};
 *	trace_export_add for each trace, trace_export_end, x.out
 *
 * Bounds: TRACE_EXPORT_MAX bytes; what comes later is counted.  All-zero but for format
 * and strings is valid; x.out is released by the caller.
 */
#include <stdint.h>

#include "base/buf.h"

struct strtab;
struct trace;

enum { TRACE_EXPORT_MAX = 256 << 20 };

enum trace_export_format { TRACE_EXPORT_OTLP, TRACE_EXPORT_JAEGER };

struct trace_export {
	enum trace_export_format format;
	const struct strtab *strings;	/* borrowed */
	struct buf out;
	uint64_t trace_cnt, left_cnt;	/* written; over the bound */
};

void trace_export_add(struct trace_export *x, const struct trace *t);

/* Makes out whole; once. */
void trace_export_end(struct trace_export *x);

#endif /* TRACE_EXPORT_H */
