/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TROUBLE_H
#define TROUBLE_H
/*
 * The findings of all services, one for each trouble, opened when a rule fires,
 * judged from a capture, updated while it lasts, closed when it ends, taken up
 * again when the same service is in trouble again soon.
 *
 *	findings_new, findings_service, _second, _captured for each message,
 *	findings_step often, findings_tell now and then, findings_free
 */
#include <stdint.h>

#include "serve/link.h"

struct db;
struct db_finding;
struct findings;
struct settings;

typedef void (*findings_order_fn)(void *ctx, uint32_t service, const struct link_order *order);

/* settings and db are borrowed; order is called when a capture is wanted. */
struct findings *findings_new(const struct settings *settings, struct db *db,
			      findings_order_fn order, void *ctx);
void findings_free(struct findings *f);

void findings_service(struct findings *f, uint32_t at, const struct link_service *s);
void findings_second(struct findings *f, uint32_t at, const struct second *s, uint64_t real_ns);
void findings_captured(struct findings *f, const struct link_captured *c);

/* The name of a service, "" where it is not known. */
const char *findings_name(const struct findings *f, uint32_t at);

/*
 * The wall clock was set, by so much: times of troubles that are not over, and of those
 * just over, are as the new one has them, so that they last as long as they did.  For a
 * while nothing is forgotten for its age: the new time may be wrong.
 */
void findings_clock_set(struct findings *f, int64_t by_ns);

/* Judgements that were finished go into the store. */
void findings_step(struct findings *f);

/* Announces a finding that is another's, as its own: event is announce's. */
void findings_say(struct findings *f, const char *event, const struct db_finding *it);

/* Adds to a finding's reason what else was noticed of its trouble. */
void findings_join(struct findings *f, uint64_t id, const char *reason);

/* Puts what is known of each service, and the finding that lasts, into the store. */
void findings_tell(struct findings *f);

/* Forgets what is older, and captures over the bound, the oldest first. */
void findings_tidy(struct findings *f, uint64_t keep_bytes, uint64_t keep_ns);

/* Troubles for which no finding or verdict could be had: too many at once. */
uint64_t findings_refused(const struct findings *f);
/* Times that the command of on-finding was not run, or failed. */
uint64_t findings_unannounced(const struct findings *f);

/* Posts to the webhook that were taken, and those that were lost. */
uint64_t findings_posted(const struct findings *f, uint64_t *ret_lost);

#endif /* TROUBLE_H */
