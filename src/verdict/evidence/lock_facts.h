/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCK_FACTS_H
#define LOCK_FACTS_H
/* Locks: their names, who has them, and what holders do meanwhile. */
#include "verdict/context/context.h"

/* Several have it at once: no lock, but a limit on how many may pass. */
bool lock_is_limit(const struct context *k, uint32_t lock);
/*
 * The lock on the way is but a link: who has it waits itself for a thread that has no
 * requests, and that computes without a rest.
 */
bool computes_for_holders(const struct context *k, const struct cause *c);
/* In which state holders mostly were, of their time; NULL when not known. */
const char *holders_mostly(const struct lock *l, double *ret_share);
/* "computing 80 % of that time", NULL when not known */
const char *holders_did(struct context *k, const struct lock *l);
/* The holder of l is the last but one of the chain, and waits for the last by other means. */
bool holder_waits(const struct context *k, const struct cause *top, const struct lock *l);
/*
 * The thread at which a lock's chain ends, or who has the lock and waits for that one; who
 * held it longest where the chain ends in line.
 */
uint32_t end_of_line(const struct context *k, const struct cand *c);
/* A lock's function, and its caller where max is 2; "" not known. */
const char *site_text(struct context *k, const struct site *site, uint32_t max);
/* "lock in wait ← acquire of server"; "" where an address names it better. */
const char *lock_name(struct context *k, const struct lock *l);

#endif /* LOCK_FACTS_H */
