/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_H
#define INJECT_H
/*
 * A trace as it would have been had the code at some tracepoints been slower.
 * For judging analyses on real traces with a problem that is known.
 *
 *	inject_trace(trace, &plan, arena, &slower, &hits);
 *
 * A delay sits right after a span's beginning or right before its end (for a
 * point: right after it).  What happens later because of that moves: the rest
 * of the span, the ends of those who wait for it, and what was begun after it
 * had ended.  What ran beside it stays where it was, and who waits for both
 * waits for the later one.  So a delay beside the critical path is swallowed
 * by the slack it has there.
 *
 * What a trace tells of waiting, and how it is read:
 * - a child that ends inside its parent is waited for; one that outlives it is
 *   not, unless it is the server's half of a call or outlives it by less than
 *   an eighth of its length (clocks of that precision);
 * - a child begins after those of its siblings that had ended by then;
 * - SPAN_REF_FOLLOWS: begins after the other began and nobody waits for it;
 * - SPAN_REF_AFTER: begins after the other ended;
 * - a child whose parent is missing belongs to the root.
 *
 * Draws are functions of the trace's id, the seed and the place: the same
 * input gives the same delays in any order and any process.
 */
#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

struct arena;

enum {
	INJECT_KEY_LEVELS = 10,	/* a made value is one of 0 .. 9 */
	INJECT_MAX_CNT = 16,	/* places in one plan */
};

#define INJECT_MAX_NS (3600 * INT64_C(1000000000)) /* of one delay */

enum inject_where { INJECT_ENTRY, INJECT_EXIT };

enum inject_law {
	INJECT_UNIFORM,		/* 0 .. ns, drawn for each span */
	INJECT_CONSTANT,	/* ns */
	INJECT_BY_KEY,		/* ns times the key's value, or ns where the value is the text */
};

struct injection {
	uint32_t service, name;	/* string ids: the tracepoint */
	uint8_t where;		/* enum inject_where */
	uint8_t law;		/* enum inject_law */
	bool make_key;		/* BY_KEY: give the span the key, a number drawn for it */
	uint8_t together;	/* not 0: injections of one number share one draw a request */
	uint32_t share_ppm;	/* of the requests, drawn by id; 0: all */
	uint32_t key;		/* string id, of the span or its nearest ancestor that has it */
	uint32_t text;		/* string id; 0: the value is a number */
	int64_t ns;		/* 0 .. INJECT_MAX_NS */
};

struct inject_plan {
	const struct injection *items;
	uint32_t cnt;		/* at most INJECT_MAX_CNT */
	uint64_t seed;
};

struct inject_hit {		/* one delay over 0 */
	uint32_t item;		/* of the plan */
	uint32_t span;		/* index in the trace */
	bool late;		/* before its end, or after the point */
	int64_t ns;
};

struct inject_hits {
	uint64_t trace_cnt;	/* added to: traces with at least one delay over 0 */
	uint64_t span_cnt;	/* added to */
	uint64_t delay_ns;	/* added to */
	const struct inject_hit *last; /* of the last trace alone; in its arena */
	uint32_t last_cnt;
};

/* *ret has its own spans, attrs and refs in arena.  ret_hits may be NULL. */
void inject_trace(const struct trace *trace, const struct inject_plan *plan, struct arena *arena,
		  struct trace *ret, struct inject_hits *ret_hits);

#endif /* INJECT_H */
