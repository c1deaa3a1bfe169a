/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALL_COUNTS_H
#define CALL_COUNTS_H
/*
 * Who calls what how often in the requests of a type, on their critical paths
 * or beside them: a span is a call by its parent's tracepoint.
 *
 *	struct call_counts c = {0};  call_counts_add ...  call_counts_release
 *
 * Sums are exact, so the order of requests is no matter; but over CALLS_MAX the
 * first that come are kept, and calls of others are counted.
 */
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "requests/stats/moments.h"

struct arena;
struct points;
struct request_type;
struct tnode;

enum {
	CALLS_MAX = 4096,	/* of one type: as many as there are leaves */
	CALLS_OF_ONE_MAX = 1 << 20,	/* in one request: more are taken for so many */
};

struct call_level_sums {
	uint64_t cnt;
	u128 total;
};

struct call_sums {
	uint32_t point, parent;
	uint32_t now;		/* in the request that is being added */
	uint64_t cnt;
	u128 squares;
	uint64_t took_cnt;	/* calls in the next two: up to MOMENTS_CNT_MAX */
	u128 took, took_squares; /* from their begins to their ends */
	VEC(struct call_level_sums) levels;
};

struct call_counts {
	VEC(struct call_sums) items;
	struct hmap by_pair;	/* index, plus one */
	uint64_t request_cnt;
	uint64_t over_cnt;	/* calls over CALLS_MAX */
	VEC(uint32_t) met;	/* in one request */
};

struct call_level {		/* requests that have the call so many times or more */
	uint64_t cnt;
	double mean_ns;		/* what they take */
};

struct call_count {
	uint32_t point, parent;
	uint64_t hash;		/* of both, by texts */
	uint64_t cnt;		/* calls */
	double variance;	/* of the calls in one request */
	double took_ns, took_variance; /* of one call: mean, and its variance */
	const struct call_level *levels;	/* once, twice, 4, 8 ... times */
	uint32_t level_cnt;	/* 1 at least */
};

void call_counts_release(struct call_counts *c);

/* One request of span_cnt spans that takes total_ns; nodes by span. */
void call_counts_add(struct call_counts *c, const struct tnode *nodes, uint32_t span_cnt,
		     int64_t total_ns);

/* By hash; *ret_cnt of them, in arena. */
const struct call_count *call_counts_make(const struct call_counts *c,
					  const struct points *points, struct arena *arena,
					  uint32_t *ret_cnt);

/* Calls of a tracepoint in one request of a type: mean, and its variance. */
struct call_times {
	double mean, variance;
	uint32_t parent;	/* who calls it most; REQUEST_POINT_NONE: nobody */
};
struct call_times call_times_of(const struct request_type *type, uint32_t point);

#endif /* CALL_COUNTS_H */
