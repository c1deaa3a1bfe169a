/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIG_GAPS_H
#define SIG_GAPS_H
/*
 * The gaps of all functions while a struct sigs is made: joined by the larger
 * count, renumbered as functions and symbols get their sorted places, then cut
 * to SIG_GAPS_MAX of each function.
 *
 *	struct sig_gap_set set = {0};  sig_gaps_add ...
 *	sig_gaps_renumber, sig_gaps_finish;  sig_gaps_release
 */
#include <stdbool.h>

#include "base/hash.h"
#include "base/vec.h"
#include "functions/sig.h"

struct fn_gap { uint32_t fn; struct sig_gap gap; };

struct sig_gap_set {
	VEC(struct fn_gap) gaps;
	struct hmap by_hash;	/* to place plus one; as functions were numbered when added */
};

void sig_gaps_add(struct sig_gap_set *set, uint32_t fn, const struct sig_gap *gap);
/* The same for a learner: what is there already is added to. */
void sig_gaps_count(struct sig_gap_set *set, uint32_t fn, const struct sig_gap *gap);
void sig_gaps_release(struct sig_gap_set *set);

/* false: a symbol has no place in map. */
bool sig_gap_into(struct sig_gap *gap, const uint16_t *map);

/* By the old number of a function the new one.  Nothing is added after it. */
void sig_gaps_renumber(struct sig_gap_set *set, const uint32_t *map);

/* Gives s->fns their gaps, with map's symbols; returns how many were over the limits. */
uint64_t sig_gaps_finish(struct sig_gap_set *set, const uint16_t *map, struct sigs *s,
			 struct arena *arena);

#endif /* SIG_GAPS_H */
