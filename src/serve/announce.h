/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANNOUNCE_H
#define ANNOUNCE_H
/*
 * Says that a finding begins, is judged or ends: a line to the log, and a command of
 * the user's (`on-finding`), with the finding as JSON on its standard input.
 *
 *	announce_new, announce for each, announce_step often, announce_free
 *
 * Bounded: ANNOUNCE_QUEUE wait, more are dropped and counted; ANNOUNCE_NS for one.
 */
#include <stdint.h>

struct announce;
struct db_finding;

enum { ANNOUNCE_QUEUE = 32 };

#define ANNOUNCE_NS UINT64_C(30000000000)

/* command: for sh -c, NULL for none.  Borrowed. */
struct announce *announce_new(const char *command);
/* A command that runs is ended. */
void announce_free(struct announce *a);

/* event: "begins", "judged", "ends". */
void announce(struct announce *a, const char *event, const struct db_finding *f);
void announce_step(struct announce *a);

/* Not said to the command: too many at once, or it failed or took too long. */
uint64_t announce_lost(const struct announce *a);

#endif /* ANNOUNCE_H */
