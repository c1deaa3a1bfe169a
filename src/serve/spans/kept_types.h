/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KEPT_TYPES_H
#define KEPT_TYPES_H
/*
 * The request types that spans show, over the last five minutes, hour and day: a
 * minute is forgotten after an hour, an hour after a day.  Kept in the store, so
 * that they are there again after a restart.
 *
 *	kept_types_new, kept_types_slice for each, kept_types_put now and then
 *
 * Bounded: KEPT_TYPES_MAX types of about 130 kB each; one that is new when there
 * is no room takes the place of one not seen for an hour, or is counted.
 */
#include <stdint.h>

#include "requests/live/live_sums.h"

struct db;
struct kept_types;
struct live_slice;
struct span_troubles;

enum { KEPT_TYPES_MAX = 256 };

/* troubles, borrowed, is given the steps of each type's shift; NULL: none are looked for. */
struct kept_types *kept_types_new(struct db *db, struct span_troubles *troubles,
				  uint64_t now_ns);
void kept_types_free(struct kept_types *k); /* NULL is fine; puts what it has */

void kept_types_slice(struct kept_types *k, const struct live_slice *s, uint64_t now_ns);

/* Puts the windows that end now into the store. */
void kept_types_put(struct kept_types *k, uint64_t now_ns);

/* Slices of types for which there was no room. */
uint64_t kept_types_left_out(const struct kept_types *k);

#endif /* KEPT_TYPES_H */
