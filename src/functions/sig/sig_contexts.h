/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIG_CONTEXTS_H
#define SIG_CONTEXTS_H
/*
 * The places of all functions while a struct sigs is made: joined by the
 * larger count, renumbered as functions and symbols get their sorted places,
 * then cut to SIG_PLACES_MAX of each function.
 *
 *	struct sig_place_set set = {0};  sig_places_add ...
 *	sig_places_renumber, sig_places_finish;  sig_places_release
 */
#include <stdbool.h>

#include "base/hash.h"
#include "base/vec.h"
#include "functions/sig/sig.h"

struct fn_place { uint32_t fn; struct sig_place place; };

struct sig_place_set {
	VEC(struct fn_place) places;
	struct hmap by_hash;	/* to idx plus one; as functions were numbered when added */
};

void sig_places_add(struct sig_place_set *set, uint32_t fn, const struct sig_place *place);
/* The same for a learner: what is there already is added to. */
void sig_places_count(struct sig_place_set *set, uint32_t fn, const struct sig_place *place);
void sig_places_release(struct sig_place_set *set);

/* false: a symbol has no place in map. */
bool sig_place_into(struct sig_place *place, const uint16_t *map);

/* Hash of the calls around it and their objects; not of how often. */
uint64_t sig_place_hash(const struct sig_place *place);
bool sig_place_same(const struct sig_place *a, const struct sig_place *b);

/* By the old number of a function the new one.  Nothing is added after it. */
void sig_places_renumber(struct sig_place_set *set, const uint32_t *map);

/* Gives s->fns their places, with map's symbols; returns how many were over the limits. */
uint64_t sig_places_finish(struct sig_place_set *set, const uint16_t *map, struct sigs *s,
			   struct arena *arena);

#endif /* SIG_CONTEXTS_H */
