/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANNOUNCE_H
#define ANNOUNCE_H
/*
 * Says that a finding begins, is judged or ends: a line to the log, and a command of
 * the user's (`on-finding`), with the finding as JSON on its standard input, and a webhook.
 *
 *	announce_new, announce for each, announce_step often, announce_free
 *
 * Bounded: ANNOUNCE_QUEUE wait, more are dropped and counted; ANNOUNCE_NS for one.
 */
#include <stdint.h>

#include "serve/tell/webhook.h"

struct announce;
struct db_finding;

enum { ANNOUNCE_QUEUE = 32 };

struct announce_opts {
	const char *command;	/* for sh -c; NULL: none */
	const char *webhook;	/* http or https; NULL: none */
	enum webhook_format format;
};

#define ANNOUNCE_NS UINT64_C(30000000000)

/* opts is copied, its texts are borrowed. */
struct announce *announce_new(const struct announce_opts *opts);
/* A command that runs is ended. */
void announce_free(struct announce *a);

/* event: "begins", "judged", "ends". */
void announce(struct announce *a, const char *event, const struct db_finding *f);
void announce_step(struct announce *a);

/* Not said to the command: too many at once, or it failed or took too long. */
uint64_t announce_lost(const struct announce *a);

/* Posts to the webhook that were taken, and those that were lost. */
uint64_t announce_posted(const struct announce *a, uint64_t *ret_lost);

#endif /* ANNOUNCE_H */
