/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTR_SAMPLES_H
#define ATTR_SAMPLES_H
/*
 * For what sums cannot tell beforehand (which keys explain which edge): of
 * each set of requests the SAMPLES_MAX whose trace ids hash lowest, with their
 * edges and the values of their keys.  The sample of a union is that of the
 * samples, whatever came first.
 *
 * A *variable* is a key at a tracepoint.  Where several spans of one trace
 * have it, the value is that of the longest of them (then of the lowest id):
 * it is time that is to be explained.  Besides what spans carry, each has
 * "host" (where the trace says so) and "error"; its type's tracepoint has
 * the request's "start time (s)".
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "trace/trace.h"

struct points;
struct path;

/* Key under which the start of a request is listed. */
#define SAMPLES_START_KEY "start time (s)"

enum {
	SAMPLES_MAX = 1024,	/* a correlation of 0.1 then has p = 0.001 */
	SAMPLES_ALL_MAX = 1 << 16,	/* over all sets; above, half of the hashes are given up */
	SAMPLE_VALUES_MAX = 512,	/* of one request; further ones are left out */
	KEY_VARS_MAX = 1 << 16,
};

struct key_var {
	uint32_t point, key;
	uint64_t seen_no;	/* the request it was last seen in, and where there */
	uint32_t seen_idx;
	int64_t seen_ns;
	uint64_t seen_span;
};

enum { KEY_VARS_NEAR = 1024 };

struct key_var_near {
	uint64_t pair;		/* as in by_pair */
	uint64_t idx;		/* of the variable, and 1; 0: none */
};

struct key_vars {
	VEC(struct key_var) items;
	struct key_var_near near[KEY_VARS_NEAR];
	struct hmap by_pair;
	uint64_t request_no;
	uint32_t host_key, error_key, start_key;	/* string ids */
	uint64_t refused_cnt;		/* values over a bound */
};

struct sample_value {
	uint32_t var;
	uint16_t type;		/* enum attr_type */
	uint16_t decimals;	/* struct attr's */
	union {
		uint64_t str;
		double num;
	};
};

struct sample {			/* one block of memory */
	uint64_t hash;
	struct trace_id id;
	int64_t total_ns;
	const int64_t *took_ns;
	const uint64_t *edges;	/* by what the edges are known: struct path's hashes */
	const struct sample_value *values;	/* each var once, in no order */
	uint32_t edge_cnt, value_cnt;
};

struct samples {
	VEC(struct sample *) heap;	/* the greatest hash first */
};

void key_vars_release(struct key_vars *v);
void samples_release(struct samples *s);

bool samples_want(const struct samples *s, const struct path *path);

/* If wanted; the path's edges must be named.  Returns how many more there are now: 0 or 1. */
uint32_t samples_add(struct samples *s, const struct trace *trace, const struct path *path,
		     struct key_vars *vars, struct points *points, const struct strtab *strings);

/*
 * The value of a variable that samples_add would put down of the trace; type_point is the
 * tracepoint of its type.  False: it has none.
 */
bool samples_value(const struct trace *trace, const struct key_vars *vars, struct points *points,
		   const struct strtab *strings, uint32_t type_point, uint32_t point,
		   uint32_t key, struct attr *ret);

/* Gives up those over limit; returns how many. */
uint32_t samples_drop(struct samples *s, uint64_t limit);

/* Moves out of from what belongs among to's; returns how many are gone. */
uint32_t samples_move(struct samples *to, struct samples *from);

#endif /* ATTR_SAMPLES_H */
