/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHAIN_H
#define CHAIN_H
/*
 * The wait chain that a finding shows: the client-facing threads, the hops between, the
 * thread where the waiting ends and what it ends on.
 *
 *	chain_begin, then steps that a finding adds, then functions_add
 */
#include "verdict/context/context.h"

/* Fills f->chain from c's largest cause; false: there is none, or nobody met it. */
bool chain_begin(struct context *k, struct finding *f, const struct cand *c);
/* Adds a step, with a thread or without, that has this share of the demand. */
struct step *step_add(struct context *k, struct finding *f, double share);
struct step *step_thread(struct context *k, struct finding *f, uint32_t thread, double share);
/* Sets the step's resource; NO_IDX none. */
void step_res(const struct context *k, struct step *s, uint32_t res);
/* Threads that one step of a chain stands for. */
bool chain_alike(const struct context *k, uint32_t a, uint32_t b);

#endif /* CHAIN_H */
