/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_EXTERNAL_H
#define FUNCTIONS_EXTERNAL_H
/*
 * Whether the cause lies outside of the program: another process on the disk
 * or on the CPUs, seen by the capture; or, from calls alone, most threads hit
 * at the same time in calls that have no function of the program in common.
 */
#include "functions/rank/attribute.h"

struct arena;

/* top_score: of the first function in the ranking. */
void outside_find(const struct blame *b, double top_score, struct outside_report *ret,
		  struct arena *arena);

/* The waits know better: what they tell stands in for what calls do. */
void outside_told(struct outside_report *r, const struct outside_report *told);

#endif /* FUNCTIONS_EXTERNAL_H */
