/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CARRIERS_H
#define CARRIERS_H
/* Which lock, conversation or peer the demand of a finding comes through. */
#include "verdict/context/context.h"

/* Sets the carrier of each candidate: its largest. */
void carriers_choose(struct context *k);
/* When all is weighed: the others that are worth a word, or hang, into k->more. */
void carriers_split(struct context *k);

#endif /* CARRIERS_H */
