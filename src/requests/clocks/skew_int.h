/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEW_INT_H
#define SKEW_INT_H
/*
 * What bounds the clocks of two hosts, in one trace (skew.c) and over many
 * (skew_learn.c, skew_decide.c).
 */
#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "trace/points.h"
#include "requests/clocks/clock_fit.h"
#include "requests/clocks/offset_solve.h"
#include "requests/clocks/skew.h"
#include "requests/tree/tree.h"

struct skew_bound {
	uint32_t host, moved;	/* spans on the two clocks */
	int64_t low, high;	/* of what must be added to moved's times; OFFSET_NO_* */
	bool high_is_hard;	/* over it is impossible, as under low, and not only odd */
	bool impossible;	/* as they are, something that cannot be */
};

/* Whose clock it is: two spans with the same number share one. */
uint64_t skew_clock(const struct span *span);

/* Bound from a span with a parent; false when both are on one clock. */
bool skew_child_bound(const struct span_tree *tree, uint32_t child, struct skew_bound *ret);
bool skew_ref_bound(const struct span_tree *tree, const struct tref *ref, struct skew_bound *ret);

struct skew_pair {
	uint32_t a, b;		/* hosts by number, then by place */
	VEC(struct clock_sample) samples;
	struct clock_fit *fit;	/* NULL: the clocks agree at all times */
	bool poor, odd;		/* as clock_fit_is_poor, _is_odd say of it */
	bool tried;		/* whether pieces are of use */
	uint64_t asked_at;	/* trace for which the next was found, by s->trace_cnt */
	int64_t offset_ns, sure_ns;
};

/* Ticks of clocks, finest first: for others the next coarser is as good. */
enum { SKEW_TICKS = 4 };
extern const int64_t skew_ticks[SKEW_TICKS];

struct skew_host_sum {
	uint64_t clock;
	uint64_t span_cnt;
	uint64_t whole_cnt[2][SKEW_TICKS];	/* of begins, ends: those that are whole ticks */
	uint32_t place;		/* by name, of those that are in a pair; TREE_NONE */
};

struct skew {
	const struct strtab *strings;
	struct points points;
	struct arena arena;	/* of one trace, then of the result */
	VEC(struct skew_host_sum) hosts;
	struct hmap host_of;	/* clock: index + 1 */
	VEC(struct skew_pair) pairs;
	struct hmap pair_of;	/* a << 32 | b: index + 1 */
	uint64_t unseen_cnt;
	/* From here on by skew_decide.c; by place. */
	uint32_t *order;	/* host */
	uint32_t place_cnt;
	struct offset *offsets;	/* of the pairs, in their order */
	struct offsets found;
	bool *varies;		/* its offset is another at other times */
	uint64_t trace_cnt;	/* corrected */
	struct skew_host *rows;	/* the result's */
	struct skew_result result;
};

/* Keeps the fair draw. */
void skew_samples_cut(struct skew_pair *pair);

#endif /* SKEW_INT_H */
