/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPAN_TROUBLE_H
#define SPAN_TROUBLE_H
/*
 * Findings from spans: a request type that became slower than it was (shift.h), one
 * finding for all types of one service that are slower at a time.
 *
 *	span_troubles_new; span_trouble_step for each step of a type's shift
 *
 * Where a finding of the kernel's side lasts for the same service, the two are one
 * trouble: that finding says so in its reason, and no other is opened.
 */
#include <stdint.h>

#include "requests/live/shift.h"

struct db;
struct db_finding;
struct span_troubles;

enum { SPAN_TROUBLES_MAX = 64 }; /* services with a finding of spans; over it: counted */

/*
 * event: "begins", "ends", as announce's; "joins": f's reason belongs to the finding of
 * f's number, which is the kernel's side's.
 */
typedef void (*span_say_fn)(void *ctx, const char *event, const struct db_finding *f);

struct span_troubles *span_troubles_new(struct db *db, span_say_fn say, void *ctx);
void span_troubles_free(struct span_troubles *t); /* NULL is fine */

struct span_trouble_type {	/* whose shift it is */
	uint64_t hash;
	const char *service, *name;
};

void span_trouble_step(struct span_troubles *t, const struct span_trouble_type *type,
		       enum shift_step step, const struct shift_found *found, uint64_t now_ns);

/* Troubles for which there was no room. */
uint64_t span_troubles_left_out(const struct span_troubles *t);

#endif /* SPAN_TROUBLE_H */
