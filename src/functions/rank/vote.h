/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_VOTE_H
#define FUNCTIONS_VOTE_H
/*
 * Functions from calls alone: where a call that carries harm has no stack,
 * the functions that were seen at its place among the thread's calls vote
 * (context_vote.h), and so do those seen in the time between calls.
 *
 * Where the signatures do not know the place,
 * the episodes that hold this very call decide.  A vote weighs as the episode is specific, as it is
 * typical of the function, and half where the function does not make its calls
 * itself.  The beginning of an episode votes by the part of it that was seen,
 * where no whole episode explains as much; so does one that a call which never
 * returned or the window's begin cuts.  Calls that nothing learnt has are left
 * out.
 *
 *	vote_make: votes by function of the signatures, in the arena
 *
 * Linear: each unit is run through the automaton once.  Of normal units at
 * most VOTE_NORMAL_MAX at equal steps are, which is enough to know what is
 * usual.
 */
#include "functions/rank/attribute.h"
#include "functions/sig/sig.h"

struct arena;

enum { VOTE_NORMAL_MAX = 20000, VOTE_EVIDENCE = 3 };

struct vote_evidence {
	uint16_t nr;		/* NR_OWN: time between calls */
	uint8_t kind;		/* enum dev_kind */
	uint32_t episode;	/* idx in sigs->episodes; NO_IDX: by the place */
	uint16_t before, after;	/* then the calls around it, by nr */
	double harm_ns;
	uint64_t cnt;
	uint32_t unit_cnt, last_unit;
};

struct votes {			/* of one function */
	double harm_ns;		/* weighed */
	double near_ns;		/* the same, each step outwards weighing less */
	double self_ns;		/* the part of it that it made itself, as learnt */
	double usual_ns, usual_near_ns;	/* the same two of normal units */
	double place_ns;	/* of harm_ns, the part that places named */
	struct vote_evidence ev[VOTE_EVIDENCE]; uint32_t ev_cnt;
};

struct vote_sums {
	double usual_ns;	/* of the normal units that were looked at, what votes were about */
	double home_ns;		/* harm that is none: known as waits for work when learnt */
	double guess_ns;	/* harm whose function is a guess */
	bool call_stacks;	/* some calls have one */
};

struct votes *vote_make(const struct blame *b, const struct sigs *sigs, struct arena *arena,
			struct vote_sums *ret_sums);

#endif /* FUNCTIONS_VOTE_H */
