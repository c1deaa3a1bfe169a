/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEXT_STEP_H
#define NEXT_STEP_H
/* Words that the next steps of findings share. */
#include "verdict/context/context.h"

/* "postgres (pid 12)", or what stands for nobody. */
const char *step_who(struct context *k, const struct finding *f, const char *nobody);
const char *step_what(const struct finding *f, const char *nothing);
/* " in read_row", where the stacks name the function that the chain ends in; else "". */
const char *step_place(struct context *k, const struct finding *f);

#endif /* NEXT_STEP_H */
