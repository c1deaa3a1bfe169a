/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIGH_H
#define WEIGH_H
/*
 * Demand by finding: each cause goes to the first finding that claims it, then findings move
 * demand as the rest of the evidence has it.  All in the order of findings/findings.c.
 */
#include "verdict/context/context.h"

struct stall_group;

/* Fills k->cand, k->more, k->demand_ns. */
void weigh(struct context *k);
/* Fills k->cand from the requests of a group of stalls, which k was made of. */
void weigh_stalls(struct context *k, const struct stall_group *g);

#endif /* WEIGH_H */
