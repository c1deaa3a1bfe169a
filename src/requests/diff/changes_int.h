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
struct arena;
struct requests_diff;

/* Fills in diff's structure, costliest first, in arena. */
void call_changes_find(struct requests_diff *diff, struct arena *arena);

#endif /* CHANGES_INT_H */
