/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TAIL_INT_H
#define TAIL_INT_H
/* Private to verdict/: the steps of tail_judge. */
#include "verdict/context/context.h"
#include "verdict/context/tail.h"
#include "waits/tail.h"

struct appfns;

/* tail_words.c: summary, evidence and refutation of s->f, in place of those of the mean. */
void tail_words(struct context *k, const struct appfns *a, const struct waits_tail *t,
		const struct cand *c, struct stall_finding *s);

/*
 * tail_function.c: where in the program the stalls were spent: s->function, and in the
 * chain.  a NULL: no stacks were taken.
 */
void tail_function(struct context *k, const struct appfns *a, const struct stall_group *g,
		   struct stall_finding *s);
/* The function in which thread was when it ran, all its life; "" not known. */
const char *tail_runs_in(const struct context *k, const struct appfns *a, uint32_t thread);

/*
 * tail_self.c: moves what waits for an answer of its own process to what that one does
 * in the stalls and hardly outside: a lock is presumed.  function "" where none is.
 */
struct self_run { const char *function; double in, out; }; /* parts of its run time */
struct self_run tail_self(struct context *k, const struct appfns *a, const struct stall_group *g);

#endif /* TAIL_INT_H */
