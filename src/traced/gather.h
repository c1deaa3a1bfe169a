/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GATHER_H
#define GATHER_H
/*
 * Spans as running programs export them, put together to requests while more come.
 *
 *	gather_new; gather_span for each; gather_take now and then; gather_free
 *
 * Processes export at times of their own, so a parent may come after its children.  A request
 * is whole when its root and all parents are there and nothing came for GATHER_SETTLE_NS; one
 * that lacks some is waited for until GATHER_WAIT_NS after the last span, and then given out as
 * incomplete.  Spans of requests that were given out already are counted.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/hash.h"
#include "trace/trace.h"

struct gather;

/* An agent sends a span within 500 ms; as much again for a busy host. */
#define GATHER_SETTLE_NS (1000 * NS_PER_MS)
#define GATHER_WAIT_NS (6 * NS_PER_SEC)

enum {
	GATHER_TRACES_MAX = 16384,	/* that are incomplete at a time */
	GATHER_SPANS_MAX = 4096,	/* of one request */
	GATHER_BYTES_MAX = 256 << 20,	/* of all that wait */
	GATHER_GONE_MAX = 65536,	/* requests given out that late spans are known for */
};

struct gathered {
	struct trace trace;	/* borrowed during the call; without heldup's own attributes */
	uint64_t epoch;		/* lowest of its spans; 0: none has one */
	bool is_whole;		/* a root, and no parent is missing */
};

struct gather_stats {
	uint64_t late_cnt;	/* spans of requests given out before */
	uint64_t dropped_cnt;	/* spans over a limit */
};

struct gather *gather_new(struct strtab *strings);
void gather_free(struct gather *g);

/* All is copied.  False: over a limit, counted. */
bool gather_span(struct gather *g, uint64_t now_ns, const struct trace_id *id,
		 const struct span *span, const struct attr *attrs, const struct span_ref *refs);

/* Gives out what is whole or was waited for long enough. */
void gather_take(struct gather *g, uint64_t now_ns,
		 void (*take)(void *ctx, const struct gathered *t), void *ctx);

const struct gather_stats *gather_stats(const struct gather *g);

#endif /* GATHER_H */
