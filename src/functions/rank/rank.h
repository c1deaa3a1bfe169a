/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_RANK_H
#define FUNCTIONS_RANK_H
/*
 * Functions by how much of the harm, and how little of the usual work, went
 * through them: spectrum-based fault localisation with time in place of test
 * cases.
 *
 * Of a function let e be the part of all harm that passed through it, p that
 * of all usual time, both 0 to 1.  Ochiai's coefficient is e / sqrt(e + w p),
 * where w is the usual time of a unit against the harm of an abnormal one, at
 * most 1: what takes a thousand times as long as usual is not excused by what
 * it usually takes.  That holds for a function's own calls; usual time of what
 * it called counts in full, since it tells the one who called the slow one from
 * those who call everything.  Ochiai's is what stays best when several functions
 * are at fault at once (formulas that are optimal for one, as Op2, drop the
 * second), and does not fall to 0 for a function that also does healthy work, as
 * the difference that PASD ranks by does.
 *
 * Callers count too, since the function at fault is often not the one that makes the
 * call: each step outwards weighs CALLER_WEIGHT of the step before, so main
 * does not win by being on every stack.  A library is one step for its caller
 * (rank_weight_at): of a database in the process it is the function that was
 * called that says what was asked of it.  That holds for calls, which somebody
 * made.  A sample of a clock falls into whatever helper just ran: there a step
 * to a function that gathers more than what it called (GATHERS) weighs all, and
 * one to a function that only passes on weighs PASSES_ON.
 *
 * Where little harm was found, where time goes counts instead: by the ratio of
 * harm to all time, see HARM_SHARE.  Where the requests' time is known, it is
 * that time (function_requests.h), for its part of all time.
 */
#include "functions/rank/attribute.h"
#include "functions/units/caller_weight.h"

struct app_stack;
struct appfns;
struct arena;
struct functions_result;
struct held;
struct sigs;

/* Harm of this part of all time counts as much as the plain cost of functions. */
#define HARM_SHARE 0.1
/* Time spent is no deviation: it adds at most so much to a score. */
#define COST_WEIGHT 0.8
/* Lower scores than this part of the best are not listed, and never more than so many. */
#define LISTED_SHARE 0.1
enum { LISTED_MAX = 25 };

struct ranking {
	const struct blame *b;
	const struct sigs *sigs; /* NULL: none */
	const struct held *held; /* NULL: not known */
};

/* Fills r->fns and what counts them; by stacks where there are some, else by signatures. */
void rank_make(const struct ranking *by, struct functions_result *r, struct arena *arena);

/*
 * Sorts by score (then self, module, name), cuts, gives ranks and ties.  What
 * has the same group (0: none) is indistinguishable: it stands at the rank of
 * its best.
 */
void rank_sort(struct functions_result *r);
/* Ranks and ties of a list that is in order: rank_sort does it, and who changes the order. */
void rank_ties(struct functions_result *r);

#endif /* FUNCTIONS_RANK_H */
