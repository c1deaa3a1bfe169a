/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/negligible.h"

/*
 * Below this many requests open at a time, waits of less than TINY_NS each
 * hold nobody up: the server rests nine tenths of the time.
 */
#define TINY_OPEN 0.10
#define TINY_NS 5e6

bool is_negligible(const struct context *k, const struct cand *top)
{
	double open = k->demand_ns / k->window_ns;
	double each = k->turns > 0 ? top->ns / k->turns : 0;

	if (k->demand_ns <= 0)
		return true;
	return open < TINY_OPEN && each < TINY_NS;
}
