/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_FEATURES_H
#define FUNCTIONS_FEATURES_H
/*
 * What a unit did, as vectors over the dimensions (feature_kinds.h): which calls, how
 * many of each, and how long they took.  Made again from the calls whenever
 * they are needed, since that costs less than to keep them.
 *
 *	struct vectors *v = vectors_new(m, dims);
 *	vectors_of(v, unit): v->dims[0..v->cnt) ascending, v->at[dim]
 *	vectors_free(v)
 */
#include <stdbool.h>
#include <stdint.h>

#include "functions/units/bins.h"
#include "functions/units/feature_kinds.h"
#include "functions/units/units.h"

struct call;
struct model_calls;

struct feature {
	uint32_t cnt;		/* of DIM_OWN: calls that are no noise */
	uint64_t ns;		/* of DIM_OWN: own time between the calls, until the next unit */
};

struct vectors {
	const struct model *m;
	const struct dims *d;
	struct feature at[DIMS_MAX];
	uint16_t dims[DIMS_MAX]; /* those that are not zero, ascending; the first is DIM_OWN */
	uint32_t cnt;
	uint64_t bits[DIMS_MAX / 64]; /* of the calls and PART_BITS, DIM_OWN not in it */
	uint64_t busy_ns;	/* the sum of all ns: the wait for work is not in it */
	uint16_t stuck_dim;	/* of a call in it, not at home, that did not return; DIM_NONE */
};

struct vectors *vectors_new(const struct model *m, const struct dims *d);
void vectors_free(struct vectors *v);

/*
 * The thread's own time between the end of a call and its next one.  Where it
 * lost its CPU meanwhile (CALLF_SWITCHED) and was back soon, that was the wait
 * for a CPU and not its own.  Time that was not recorded is nobody's.
 */
#define OWN_SWITCHED_NS UINT64_C(5000000) /* longer than a scheduler's slice: it ran too */
uint64_t own_gap_ns(const struct model_calls *all, const struct call *c, const struct call *next);

void vectors_of(struct vectors *v, const struct unit *u);

/* Begin and end of the unit's time; the wait for work is before it. */
uint64_t unit_begin_ns(const struct model *m, const struct unit *u);
uint64_t unit_end_ns(const struct model *m, const struct unit *u);

#endif /* FUNCTIONS_FEATURES_H */
