/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/caller_weight.h"

#include <math.h>

#include "functions/units/app_frames.h"

double rank_weight_at(const struct appfns *fns, const struct app_stack *st, uint32_t i,
		      double weight, double *first)
{
	bool entry = appfn_is_entry(fns, st, i);

	if (entry && weight < CALLER_WEIGHT * *first)
		weight = CALLER_WEIGHT * *first;
	if (entry)
		*first = weight * CALLER_WEIGHT;
	return weight;
}

double rank_score(double e_weighted, double e, double p)
{
	return e > 0 ? e_weighted / sqrt(e + p) : 0;
}
