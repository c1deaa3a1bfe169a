/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_H
#define TRACE_H
/*
 * A request as tracing saw it: spans, points in time, and what is known of
 * their order.  One shape for what span formats (OTLP, Jaeger, Zipkin,
 * OSProfiler, tables) and event graphs (X-Trace) tell; who reads a format
 * makes it (src/spans), who analyses requests gets it (src/requests).
 *
 * Values only: all strings are ids of one struct strtab that the reader and
 * the analysis share.  Times are what the writing host's clock said, in
 * nanoseconds since 1970 (or since any one instant, for sources that know no
 * better); nothing here has been corrected.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_id {
	uint64_t hi, lo;	/* hi is 0 for ids of 64 bits */
};

/* The numbers are OTLP's. */
enum span_kind {
	SPAN_UNKNOWN = 0,
	SPAN_INTERNAL = 1,
	SPAN_SERVER = 2,
	SPAN_CLIENT = 3,
	SPAN_PRODUCER = 4,
	SPAN_CONSUMER = 5,
};

enum span_flags {
	SPANF_ERROR = 1 << 0,	/* said to have failed */
	SPANF_OPEN = 1 << 1,	/* its end was not recorded: end_ns is begin_ns */
	SPANF_POINT = 1 << 2,	/* an instant (event, annotation, log line), no stretch */
	SPANF_SHARED = 1 << 3,	/* Zipkin: the server's half under the client's id */
	SPANF_READ = (1 << 4) - 1, /* those above: what was recorded; those below: seen of it */
	SPANF_BEGIN = 1 << 4,	/* with SPANF_POINT: a span's begin, its end was not seen */
	SPANF_END = 1 << 5,	/* with SPANF_POINT: a span's end, its begin was not seen */
};

/* How one span is ordered after another.  The parent is not among these. */
enum span_ref_kind {
	SPAN_REF_LINK = 0,	/* said to be related: orders nothing inside one trace */
	SPAN_REF_FOLLOWS = 1,	/* begins after the other began, and nobody waits for it */
	SPAN_REF_AFTER = 2,	/* happened after the other had ended: an explicit edge */
};

struct span_ref {
	struct trace_id trace;
	uint64_t span;		/* struct span's id */
	uint32_t kind;		/* enum span_ref_kind */
	uint32_t pad;
};

enum attr_type {
	ATTR_STR = 0,		/* str */
	ATTR_NUM = 1,		/* num; str is 0 */
	ATTR_BOOL = 2,		/* num is 0 or 1 */
};

struct attr {
	uint32_t key;		/* string id */
	uint16_t type;		/* enum attr_type */
	uint16_t decimals;	/* of a number that came as a text: behind its point */
	union {
		uint64_t str;	/* string id */
		double num;
	};
};

struct span {			/* 64 bytes */
	uint64_t id;		/* within its trace; never 0 */
	uint64_t parent;	/* 0: none */
	int64_t begin_ns, end_ns;
	uint32_t service, name;	/* string ids: together the tracepoint */
	uint32_t host;		/* string id: whose clock it is; 0: the service's own */
	uint8_t kind;		/* enum span_kind */
	uint8_t flags;		/* enum span_flags */
	uint16_t rank;		/* of siblings that begin at the same instant: their order */
	uint32_t attr_idx, attr_cnt;	/* in struct trace's attrs */
	uint32_t ref_idx, ref_cnt;	/* in struct trace's refs */
};
_Static_assert(sizeof(struct span) == 64, "written to disk by the assembler");

/*
 * All that came of one request.  Spans are in no order a reader may rely on.
 * Attributes are found by way of their spans alone: between those of two spans
 * there may lie what is no attribute.
 */
struct trace {
	struct trace_id id;
	const struct span *spans;
	const struct attr *attrs;
	const struct span_ref *refs;
	uint32_t span_cnt;
	uint32_t attr_cnt;	/* of all spans */
	uint32_t ref_cnt;
};

/* Bytes of a copy. */
size_t trace_copy_bytes(const struct trace *t);

/* A copy with all that is its own in block, which has room for trace_copy_bytes; returns block. */
struct trace *trace_copy_to(void *block, const struct trace *t);

static inline int trace_id_cmp(const struct trace_id *a, const struct trace_id *b)
{
	return a->hi != b->hi ? (a->hi < b->hi ? -1 : 1) : (a->lo > b->lo) - (a->lo < b->lo);
}

#endif /* TRACE_H */
