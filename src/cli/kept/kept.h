/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KEPT_H
#define KEPT_H
/*
 * What `heldup serve` keeps, for the commands that read it: times and findings as
 * text.  serve/status.h has them as JSON.
 */
#include <stdint.h>

#include "cli/opts/options.h"

struct buf;
struct db;
struct db_finding;
struct err;
struct pen;

struct kept_opts {
	const char *state;	/* directory */
	struct output_opts output;
};

extern const struct opt kept_opt_table[]; /* --state, --json, --color */

/* The store; the message says how to begin where there is none. */
int kept_open(const char *state, struct db **ret, struct err *err);

/*
 * "03:10", "2026-11-26 03:10", "2026-11-26T03:10:00Z", "@1764000000.5" (seconds since 1970),
 * "90m" and "-5min" (so long ago): to CLOCK_REALTIME.
 */
int kept_time_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns, struct err *err);

/* "03:10:07", with the date where it is another day; returns out. */
enum { KEPT_TIME_LEN = 32 };
char *kept_time(uint64_t real_ns, uint64_t now_ns, char out[KEPT_TIME_LEN]);

/* One line and, indented, the verdict. */
void kept_finding_text(const struct db_finding *f, uint64_t now_ns, struct pen *pen);

#endif /* KEPT_H */
