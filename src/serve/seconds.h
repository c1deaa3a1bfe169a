/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SECONDS_H
#define SECONDS_H
/*
 * From the events of a watch to a second of each service.
 *
 *	seconds_new, seconds_put for each event, at each EV_TICK seconds_take for
 *	each service, seconds_free
 *
 * Sums in events grow from the beginning, so the last one of each conversation is
 * kept: at most SECONDS_ENDS_MAX, more are left out and counted.
 */
#include <stddef.h>
#include <stdint.h>

#include "serve/second.h"

struct event_hdr;
struct seconds;
struct services;

enum { SECONDS_ENDS_MAX = 16384 };

/* services is borrowed; it learns of tasks by what is put here. */
struct seconds *seconds_new(struct services *services);
void seconds_free(struct seconds *s);
void seconds_put(struct seconds *s, const struct event_hdr *ev);

/* The second of a service since the last call for it. */
void seconds_take(struct seconds *s, uint32_t service, struct second *ret);

uint64_t seconds_left_out(const struct seconds *s);

#endif /* SECONDS_H */
