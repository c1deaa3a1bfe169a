/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHANGES_INT_H
#define CHANGES_INT_H
/*
 * What of the structure of requests changed between good ones and bad: a call
 * that is not made any more (they end early, or have a better way), one that is
 * new, and, in changes.h, what is called more often.  Weighed by what it makes
 * of the time, so that it can be held against the edges that got slower.
 *
 * Only the call nearest to the root is listed: what its callee would have called
 * is gone with it.
 */
#include <stdint.h>

struct arena;
struct call_count;
struct request_type;
struct requests_diff;

/* The call of a type by its hash; NULL: its requests have none. */
const struct call_count *call_find(const struct request_type *type, uint64_t hash);

/* Fills in diff's structure, costliest first, in arena. */
void call_changes_find(struct requests_diff *diff, struct arena *arena);

/* Fills in diff's aside. */
void aside_changes_find(struct requests_diff *diff, struct arena *arena);

#endif /* CHANGES_INT_H */
