/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLAIMS_H
#define CLAIMS_H
/*
 * The time of threads that others of the watched wait for: it is theirs, and not to be
 * counted twice.  Who lets go of a lock does work of its own, and is not claimed.
 *
 *	claims_new, claims_add in any order, claims_rest, claims_free
 */
#include <stdbool.h>
#include <stdint.h>

struct claims;

struct claims *claims_new(uint32_t thread_cnt);
void claims_free(struct claims *c); /* NULL is fine */
void claims_add(struct claims *c, uint32_t thread, uint64_t a, uint64_t b);

/*
 * The first part of [*a, *b) of thread that nobody claims, from *a on: true with its
 * bounds in *a and *b.
 */
bool claims_rest(struct claims *c, uint32_t thread, uint64_t *a, uint64_t *b);

#endif /* CLAIMS_H */
