/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPAN_ENDS_H
#define SPAN_ENDS_H
/*
 * The two tracepoints of a span, its begin and its end, as bits: what of an
 * operation is on.  An instant has the first alone.
 */
#include <stdint.h>

#include "trace/trace.h"
#include "requests/graph/graph.h"

enum sides {
	SIDE_BEGIN = 1 << 0,
	SIDE_END = 1 << 1,
	SIDES_BOTH = SIDE_BEGIN | SIDE_END,
};

/* A tracepoint, or both of a span. */
struct sided {
	uint32_t point;
	uint8_t sides;
};

/* Side of an event: kind is enum node_kind. */
static inline uint8_t side_of(uint32_t kind)
{
	return kind == NODE_EXIT ? SIDE_END : SIDE_BEGIN;
}

/* That a span of a trace shows. */
static inline uint8_t sides_of_span(const struct span *s)
{
	if (!(s->flags & SPANF_POINT))
		return SIDES_BOTH;
	return s->flags & SPANF_END ? SIDE_END : SIDE_BEGIN;
}

static inline uint32_t sides_cnt(uint8_t sides)
{
	return (uint32_t)__builtin_popcount(sides);
}

#endif /* SPAN_ENDS_H */
