/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/stats/sequential.h"

#include <math.h>

/*
 * Under so much more evidence the two looks are much the same one (their
 * correlation is over 0.8), and a share each would be wasted.
 */
#define LOOK_GROWTH 1.5

/*
 * Spent of the whole after so much evidence: 1 in the end, half of it after one
 * look's worth, and little on little (as O'Brien and Fleming have it), so that
 * many early looks leave enough for when there is something to see.
 */
static double spent(double looks)
{
	return looks * looks / (looks * looks + 1);
}

void sequential_add(struct sequential *s, double looks)
{
	s->seen += looks;
	if (s->seen < LOOK_GROWTH * s->at)
		return;
	s->part = spent(s->seen) - spent(s->at);
	s->at = s->seen;
}

double sequential_alpha(const struct sequential *s, double alpha)
{
	return alpha * s->part;
}

double sequential_p(double value, double error)
{
	if (!isfinite(error) || error < 0)
		return 1;
	if (error == 0)
		return value > 0 ? 0 : 1;
	return 0.5 * erfc(value / error / M_SQRT2);
}
