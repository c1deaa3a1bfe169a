/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLAIN_H
#define EXPLAIN_H
/* Candidate to finding: its words, its chain, what is missing, what to do. */
#include "verdict/context/context.h"

/* Sets all of f but confidence and doubts. */
void explain(struct context *k, struct finding *f, const struct cand *c);
/* Adds the finding that the threads themselves show to v; class of it, FIND_CNT none. */
unsigned explain_certain(struct context *k, struct verdict *v);
/* Sets f->next_step; c NULL: it was made of no candidate. */
void next_step(struct context *k, struct finding *f, const struct cand *c);

#endif /* EXPLAIN_H */
