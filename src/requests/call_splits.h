/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALL_SPLITS_H
#define CALL_SPLITS_H
/*
 * Which calls part the slow requests of a type from the quick ones, without good
 * requests to compare with: some end early, some try again, some ask one more.
 *
 * By the law of total variance that of a type's requests is what lies between
 * those that make a call so many times (once, twice, 4, 8 ...) and the others,
 * and what lies within the two, which is all that edges can have by taking
 * longer or shorter.  So a call with more than half has more than any edge.
 *
 * A call counts whether it is on the critical path or not: which of two branches
 * was the last is for the edges to tell.
 */
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct requests_result;

struct call_split {
	uint32_t type;			/* of the result's */
	uint32_t point, parent;		/* who is called, and by whom */
	uint32_t times;			/* so many times or more */
	uint32_t alias_cnt;		/* more calls that part the same requests, not listed */
	double share;			/* of the requests: those that do */
	double delta_ns;		/* what these take more than the others */
	double variance_share;		/* of the type's variance: what lies between */
	double squares;			/* that, as a sum of squares */
	double cost_ns;			/* delta's size, over all of whichever are fewer */
};

struct call_splits {
	const struct call_split *items;	/* by squares, greatest first */
	uint32_t cnt;
	double share;	/* of the variance in all types: what the best split of each has */
};

/* Looks at types that vary by more than the result's cv_min; all lives in arena. */
void call_splits_find(const struct requests_result *result, struct arena *arena,
		      struct call_splits *ret);

#endif /* CALL_SPLITS_H */
