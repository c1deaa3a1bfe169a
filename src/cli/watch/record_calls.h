/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_CALLS_H
#define RECORD_CALLS_H
/*
 * `heldup record --calls`: the flight recorder's options, and what freezes it
 * beside Ctrl-C (a signal, a time).  A part of cmd_record.c.
 *
 *	record_calls_begin; for each window record_calls_flight for the source, _summary;
 *	record_calls_release
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/opts/opt.h"
#include "collect/flight/flight.h"

struct err;
struct select_opts;
struct triggers;

struct calls_opts {
	bool calls, all_calls;
	uint64_t window_ns;
	const char *memory;
	uint64_t after_ns;
	uint64_t then_ns;
	bool with_waits;
	const char *until_fails;
	uint64_t every_ns;
	const char *when;
	bool anomaly;
	const char *max_cost;
	bool keep_going;
	int stacks; /* enum flight_stacks */
};

struct record_calls {
	const struct calls_opts *opts;
	uint64_t memory_bytes;
	double max_cost;
	struct triggers *triggers;
	struct flight_trigger trigger;
	struct flight_report report;
	bool filtered; /* since an earlier file; a filter stays */
};

extern const struct opt calls_opt_table[];

/* Checks the options; SIGUSR1 freezes from now on.  -EINVAL (ERR_USAGE). */
int record_calls_begin(struct record_calls *r, const struct calls_opts *opts,
		       const struct select_opts *select, struct err *err);
void record_calls_release(struct record_calls *r);
/* r lives as long as what is returned. */
struct flight_opts record_calls_flight(struct record_calls *r);
/* Prints the reason of the freeze, the length of the window, the losses. */
void record_calls_summary(const struct record_calls *r, FILE *out);

#endif /* RECORD_CALLS_H */
