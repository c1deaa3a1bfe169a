/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STEP_FUNCTIONS_H
#define STEP_FUNCTIONS_H
/* Functions that run, wait or end waits at each step of a chain, from stacks. */
#include "verdict/context/context.h"

/* Nothing where no stacks were taken. */
void functions_add(struct context *k, struct finding *f);

#endif /* STEP_FUNCTIONS_H */
