/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_H
#define WEBHOOK_H
/*
 * Posts that a finding begins, is judged or ends to an address of http or https, as
 * heldup's own JSON or as Alertmanager sends it to a receiver.
 *
 *	webhook_new, webhook_add for each, webhook_step often, webhook_free
 *
 * A child without rights posts (webhook_post.h), one at a time, in order.  Bounded:
 * WEBHOOK_QUEUE wait, WEBHOOK_PER_HOUR are taken, each is tried WEBHOOK_TRIES times; more
 * are dropped and counted.
 */
#include <stdint.h>

struct buf;
struct db_finding;
struct webhook;

enum { WEBHOOK_QUEUE = 32, WEBHOOK_PER_HOUR = 120, WEBHOOK_TRIES = 6 };

enum webhook_format { WEBHOOK_PLAIN = 0, WEBHOOK_ALERTMANAGER };

/* The first try again; twice as long each time, up to a minute. */
#define WEBHOOK_AGAIN_NS UINT64_C(1000000000)

/* url NULL: does nothing.  Borrowed. */
struct webhook *webhook_new(const char *url, enum webhook_format format);
/* A post in progress is ended. */
void webhook_free(struct webhook *w);

/* event: "begins", "judged", "ends". */
void webhook_add(struct webhook *w, const char *event, const struct db_finding *f);
void webhook_step(struct webhook *w);

uint64_t webhook_sent(const struct webhook *w);
/* Over a bound, or not taken by the receiver. */
uint64_t webhook_lost(const struct webhook *w);

/* Appends the JSON that is posted. */
void webhook_body(enum webhook_format format, const char *event, const struct db_finding *f,
		  struct buf *out);

#endif /* WEBHOOK_H */
