/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kept/past.h"

#include <errno.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/kept/kept.h"
#include "cli/watch/run.h"
#include "verdict/not_covered.h"

/* Quantiles and rates of less say little of how it was. */
#define BEFORE_MIN_NS (5 * NS_PER_SEC)

/* Intervals are a second: what is missing of one is not worth a line. */
#define MISSING_MIN_NS (3 * NS_PER_SEC / 2)

const struct opt past_opt_table[] = {
	{.type = OPT_STRING, .long_name = "since", .metavar = "TIME",
	 .help = "answer for the past from then on: 03:10, -5min, a date",
	 OPT_AT(struct past_opts, since)},
	{.type = OPT_STRING, .long_name = "until", .metavar = "TIME",
	 .help = "with --since or -i: and until then", OPT_AT(struct past_opts, until)},
	OPT_END,
};

int past_time(const struct past_opts *o, struct cut_time *ret, struct err *err)
{
	uint64_t now = clock_real_ns();
	struct cut_time t = {0};
	int rc = o->since ? kept_time_parse(o->since, now, &t.from_ns, err) : 0;

	if (rc == 0 && o->until)
		rc = kept_time_parse(o->until, now, &t.until_ns, err);
	if (rc == 0 && t.until_ns && t.until_ns <= t.from_ns)
		rc = err_usage(err, "--until '%s' is not after --since '%s'", o->until, o->since);
	if (rc == 0)
		*ret = t;
	return rc;
}

bool past_is_long_before(const struct run *r)
{
	return r->span.from_ns > r->whole.from_ns + BEFORE_MIN_NS;
}

static void missing(const struct cut_time *t, struct verdict *v, struct arena *arena)
{
	char from[KEPT_TIME_LEN], until[KEPT_TIME_LEN];
	uint64_t now = clock_real_ns();

	if (t->until_ns > t->from_ns + MISSING_MIN_NS)
		verdict_unseen(v, arena_printf(arena, "%s to %s: nothing of that time is kept",
					       kept_time(t->from_ns, now, from),
					       kept_time(t->until_ns, now, until)), arena);
}

const char *past_say(const struct run *r, const struct cut_time *asked, struct verdict *v,
		     struct arena *arena)
{
	char from[KEPT_TIME_LEN], until[KEPT_TIME_LEN];
	uint64_t now = clock_real_ns();

	if (!r->span.until_ns)
		return NULL;
	if (asked->from_ns)
		missing(&(struct cut_time){asked->from_ns, r->span.from_ns}, v, arena);
	if (asked->until_ns)
		missing(&(struct cut_time){r->span.until_ns, asked->until_ns}, v, arena);
	return arena_printf(arena, "%s to %s", kept_time(r->span.from_ns, now, from),
			    kept_time(r->span.until_ns, now, until));
}
