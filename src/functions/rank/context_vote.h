/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTEXT_VOTE_H
#define CONTEXT_VOTE_H
/*
 * Which functions are on the stack of a call, or run in a gap between two, as
 * signatures know its place.
 *
 *	place_index_make;  place_ask for each;  place_index_release
 *
 * Each function that was seen there votes by the part of the stacks that it
 * was on, and by how far out.  Where the very place was not seen often enough,
 * places that agree in fewer of the calls around it stand in; where the call
 * was never seen after the one before it, what runs after that one does.
 *
 * Of a gap a vote also weighs by how rare the function is elsewhere: what runs
 * in all gaps tells nothing of this one.  Gaps that lasted as long as this
 * one, or came nearest to it, count most.
 */
#include <stdbool.h>

#include "base/hash.h"
#include "base/vec.h"
#include "functions/sig/sig.h"

struct place_voter {
	uint32_t fn;
	float share;		/* of the stacks there, 0 to 1 */
	float near;		/* the same, each step outwards weighing less */
};

struct place_entry {		/* one function at all places that agree in a key */
	uint64_t key;
	uint32_t fn;
	uint8_t bin;
	bool home;		/* as waits for work */
	float cnt, self_cnt, near;
};
struct place_sum { double share, near; };

/* How sure an answer is. */
enum place_told {
	TOLD_SEEN = 0,		/* it was seen there */
	TOLD_NEARBY,		/* as if this call were not there, or all that are new here */
	TOLD_LONG,		/* there, but nothing took nearly so long */
	TOLD_GUESS,		/* elsewhere */
};

struct place_answer {
	uint32_t first, cnt;	/* in voters, most share first; cnt 0: nobody knows */
	bool home;		/* it is a wait for work: none votes */
	uint8_t told;		/* enum place_told */
};

struct place_index {
	const struct sigs *sigs;
	VEC(struct place_entry) entries; /* by key, bin, function */
	struct hmap by_key;	/* to the first of its entries, plus one */
	double *specific;	/* by function of sigs, in gaps */
	struct place_sum *sums;	/* the same, for the answer being made; 0 between two */
	VEC(struct place_voter) voters;
	VEC(struct place_answer) answers;
	struct hmap asked;	/* to the answer, plus one */
	struct sig_place last;	/* asked for, once there are answers */
	struct place_answer last_answer;
};

/* At most so many functions answer for one place, the strongest. */
enum { PLACE_VOTERS_MAX = 48 };

/* nr_of: by symbol of the signatures, as sig_bind gives it. */
void place_index_make(struct place_index *x, const struct sigs *sigs, const uint16_t *nr_of);
void place_index_release(struct place_index *x);

/* The votes at a place, by numbers of calls. They are good until the next question. */
struct place_answer place_ask(struct place_index *x, const struct sig_place *place);

/* Was the call ever seen after the one before it, or before the one after it? */
bool place_is_known(const struct place_index *x, const struct sig_place *place);

#endif /* CONTEXT_VOTE_H */
