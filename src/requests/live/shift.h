/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIFT_H
#define SHIFT_H
/*
 * Has a request type become slower than it was?  Judged slice by slice against
 * its own past hour; shift.c has the two rules with their reasons.  No baseline
 * is needed, nothing is to be tuned; nothing is judged before two minutes of it.
 *
 *	struct shift s = {0};
 *	shift_slice for each slice that has requests
 *
 * Bounded: what is below, 15 kB.  No clock: a slice is SHIFT_SLICE_S long.
 */
#include <stdbool.h>
#include <stdint.h>

#include "requests/live/live_sums.h"

enum {
	SHIFT_SLICE_S = 5,
	SHIFT_SLICES = 6,	/* of a window at most, for types with few requests */
	SHIFT_LEARNT = 240,	/* windows of 15 s: an hour */
};

struct shift {
	struct live_sums slices[SHIFT_SLICES]; /* a ring */
	struct live_sums before[2];	/* sound slices: of ten minutes, and of the ten before */
	uint64_t learnt[SHIFT_LEARNT][2]; /* p50 and p99 of sound windows, a ring */
	uint32_t slice_cnt, learnt_cnt;	/* so far */
	uint32_t before_cnt;		/* slices in before[0] */
	uint32_t bad_slices, calm_slices; /* in a row */
	uint32_t lasted_slices;		/* since it began; 0: it is sound */
};

enum shift_step {
	SHIFT_SOUND = 0,
	SHIFT_BEGINS,
	SHIFT_LASTS,
	SHIFT_ENDS,
};

struct shift_found {		/* with SHIFT_BEGINS and SHIFT_LASTS */
	bool tail;		/* the slow ones alone: p99; else p50 */
	uint64_t now_ns, usual_ns;
	struct live_share edge;	/* that takes longer; share of what requests take longer */
};

enum shift_step shift_slice(struct shift *s, const struct live_sums *slice,
			    const struct live_edges *edges, struct shift_found *ret);

#endif /* SHIFT_H */
