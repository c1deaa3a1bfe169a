/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPAN_SINK_H
#define SPAN_SINK_H
/*
 * Spans on their way out of a file: who takes them, which are wanted, in which format
 * they came, and what was dropped.  For spans.h and the readers alike.
 */
#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

/* Takes one span; pointers are borrowed during the call; in span, attr_idx and ref_idx are 0. */
struct span_sink {
	void *ctx;
	/* 0, or < 0, which ends the reading with that error */
	int (*span)(void *ctx, const struct trace_id *trace, const struct span *span,
		    const struct attr *attrs, const struct span_ref *refs);
	/* may be NULL; all_bytes is 0 when unknown; false: stop, as if the file ended here */
	bool (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes);
};

struct spans_opts {
	bool no_events;		/* span events, logs and annotations are not made points */
	bool only_route;	/* OTLP: of the attributes only those that fold.h asks for */
};

enum spans_format {
	SPANS_OTLP_PROTO,
	SPANS_OTLP_JSON,
	SPANS_JAEGER,
	SPANS_ZIPKIN,
	SPANS_OSPROFILER,
	SPANS_OSPROFILER_REDIS,
	SPANS_XTRACE,
	SPANS_XTRACE_OLD,
	SPANS_CSV,
	SPANS_FORMAT_CNT,
};

enum { SPANS_BAD_SHOWN = 8, SPANS_WHY_MAX = 120 };

struct spans_bad {
	uint64_t off;		/* in the unpacked bytes */
	char why[SPANS_WHY_MAX];
};

struct spans_stats {
	enum spans_format format;
	const char *packed_as;		/* "gzip", "zstd" or NULL */
	uint64_t plain_bytes;		/* read, unpacked */
	uint64_t span_cnt;		/* given to the sink, points too */
	uint64_t point_cnt;		/* of these, instants: events, logs, annotations */
	uint64_t bad_cnt;		/* spans that could not be understood */
	uint64_t name_dropped_cnt;	/* of services, spans, keys: no room for more texts */
	uint64_t attr_dropped_cnt;	/* too many for one span, or no room for more texts */
	uint64_t attr_passed_cnt;	/* long texts, lists and maps: never kept */
	uint64_t ref_dropped_cnt;	/* too many for one span */
	uint64_t point_dropped_cnt;	/* too many for one span, or without a time */
	uint64_t backwards_cnt;		/* ended before they began: kept as open */
	uint64_t open_cnt;		/* without an end */
	uint64_t no_service_cnt;	/* named a process that the file does not describe */
	uint32_t bad_shown_cnt;
	struct spans_bad bad[SPANS_BAD_SHOWN];	/* the first of bad_cnt */
	bool stopped;			/* by progress */
	bool cut;			/* nothing after cut_at could be read, and why */
	struct spans_bad cut_at;
};

#endif /* SPAN_SINK_H */
