/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_CALLER_WEIGHT_H
#define FUNCTIONS_CALLER_WEIGHT_H
/* How much less a caller counts than what it called, and Ochiai's coefficient: see rank.h. */
#include <stdint.h>

struct app_stack;
struct appfns;

#define CALLER_WEIGHT 0.7
#define GATHERS 1.1
#define PASSES_ON 0.95

/*
 * What frame i weighs by the steps to it.  *first is the weight of the
 * innermost function of the module, 1 to begin with: the function through
 * which a module was entered is one step from there, whatever lies between.
 */
double rank_weight_at(const struct appfns *fns, const struct app_stack *st, uint32_t i,
		      double weight, double *first);

/* The part below: e and weighted e of harm, p of usual time; see rank.h. */
double rank_score(double e_weighted, double e, double p);

#endif /* FUNCTIONS_CALLER_WEIGHT_H */
