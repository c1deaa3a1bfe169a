/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORKS_H
#define FORKS_H
/* Stalls in which the thread that held requests up forked: its page tables were copied. */
#include "verdict/context/context.h"

struct stall_finding;

struct forks { const struct thread *last; uint32_t cnt; };

/* last NULL: fewer than half of the stalls had a fork. */
struct forks forks_in(const struct context *k, const struct cand *c,
		      const struct stall_finding *s);
/* "forking srv (pid 3)", or "computing" */
const char *computing_words(struct context *k, const struct cand *c,
			    const struct stall_finding *s);
/* " in f" where verb is " in" and the function is known, else "" */
const char *in_function(struct context *k, const struct stall_finding *s, const char *verb);

#endif /* FORKS_H */
