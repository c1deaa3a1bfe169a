/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIGGERS_H
#define TRIGGERS_H
/*
 * What may freeze a recording by itself: a command that fails, a metric over
 * a threshold.  A signal (SIGUSR1) always may.
 *
 *	triggers_new, triggers_fired as a flight_trigger's, triggers_free
 *
 * After it has fired each waits until it would not have: so a recording that
 * goes on is not frozen again for the same reason.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct select_opts;
struct triggers;

struct triggers_opts {
	const char *until_fails; /* for sh -c; NULL: none */
	uint64_t every_ns;	 /* between two runs, and the longest one may take */
	const char *when;	 /* "futex_wait_time>0.5"; NULL: none */
	const struct select_opts *select; /* whose metrics */
};

/* -EINVAL (ERR_USAGE): no such metric, no number; else what source_live says. */
int triggers_new(const struct triggers_opts *opts, struct triggers **ret, struct err *err);
void triggers_free(struct triggers *t);

/* ctx is a struct triggers.  With a metric it takes up to a second. */
bool triggers_fired(void *ctx, char *ret_reason, size_t size);

/* "name>number" or "<": 0 with the place of the metric in metrics_table. */
int triggers_parse(const char *text, uint32_t *ret_order, char *ret_op, double *ret_value);

#endif /* TRIGGERS_H */
