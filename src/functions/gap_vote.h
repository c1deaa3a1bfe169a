/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GAP_VOTE_H
#define GAP_VOTE_H
/*
 * Which functions run in a gap between two calls, as signatures know it.
 *
 *	gap_index_make;  gap_ask for each gap;  gap_index_release
 *
 * Of the functions that were seen in gaps of that place each votes by the
 * share of the samples that it was on, and by how rare it is elsewhere: what
 * runs in all gaps tells nothing of this one.  Gaps that lasted as long as
 * this one, or came nearest to it, count most.  Where the place was not seen
 * often enough, one that agrees in fewer calls stands in.
 */
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "functions/sig.h"

struct gap_voter { uint32_t fn; float weight; };

struct gap_place { uint16_t before2, before, after; uint8_t bin; }; /* numbers of calls */

struct gap_entry {		/* samples of one function in gaps of one place and bin */
	uint64_t place;
	uint32_t fn;
	uint8_t bin;
	double cnt;
};
struct gap_answer { uint32_t first, cnt; };

struct gap_index {
	const struct sigs *sigs;
	VEC(struct gap_entry) entries; /* by place, bin, function */
	struct hmap by_place;	/* to the first of its entries, plus one */
	double *specific;	/* by function of sigs */
	double *sums;		/* the same, for the answer being made */
	VEC(struct gap_voter) voters;
	VEC(struct gap_answer) answers;
	struct hmap asked;	/* place and bin, to the answer, plus one */
};

/* At most so many functions answer for one gap, the strongest. */
enum { GAP_VOTERS_MAX = 48 };

/* nr_of: by symbol of the signatures, as sig_bind gives it. */
void gap_index_make(struct gap_index *x, const struct sigs *sigs, const uint16_t *nr_of);
void gap_index_release(struct gap_index *x);

/* Most weight first; good until the next question.  0: nothing is known of such a gap. */
uint32_t gap_ask(struct gap_index *x, const struct gap_place *place,
		 const struct gap_voter **ret_voters);

#endif /* GAP_VOTE_H */
