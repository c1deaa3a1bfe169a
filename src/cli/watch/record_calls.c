/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch/record_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "cli/opts/options.h"
#include "cli/opts/triggers.h"

#define SHORT_NS (2 * NS_PER_SEC) /* a window of waits begins with a tick */
#define ASK_NS (100 * NS_PER_MS)

/*
 * A recorder may run for days, so it bounds itself: by detail, or with all calls
 * by time that it leaves out.  Not where all of something more was asked for,
 * and not for the detector: what is left out looks like silence.
 */
#define MAX_COST 0.01

/* All calls all the time: asked for, or by what needs them. */
static bool record_calls_all(const struct calls_opts *o)
{
	return o->all_calls || o->anomaly || o->with_waits || o->stacks == FLIGHT_STACKS_ALL;
}

static double max_cost_default(const struct calls_opts *o)
{
	return o->anomaly || o->with_waits || o->stacks == FLIGHT_STACKS_ALL ? 0 : MAX_COST;
}

/* "1%", "0.5": of a CPU. */
static int percent_parse(const char *text, double *ret_share)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%") != 0) || !(n == 0 || (n >= 0.01 && n <= 100)))
		return -EINVAL;
	*ret_share = n / 100;
	return 0;
}

int record_calls_begin(struct record_calls *r, const struct calls_opts *opts,
		       const struct select_opts *select, struct err *err)
{
	struct triggers_opts t = {.until_fails = opts->until_fails, .every_ns = opts->every_ns,
				  .when = opts->when, .select = select};
	int rc;

	*r = (struct record_calls){.opts = opts, .max_cost = max_cost_default(opts)};
	if (opts->memory && size_parse(opts->memory, &r->memory_bytes) < 0)
		return err_usage(err, "--memory %s: give a size such as 64M or 1G", opts->memory);
	if (opts->max_cost && percent_parse(opts->max_cost, &r->max_cost) < 0)
		return err_usage(err, "--max-cost %s: give a percentage such as 1%%, or 0",
				 opts->max_cost);
	rc = triggers_new(&t, &r->triggers, err);
	if (rc < 0)
		return rc;
	r->trigger = (struct flight_trigger){.fired = triggers_fired, .ctx = r->triggers,
					     .every_ns = ASK_NS};
	return 0;
}

void record_calls_release(struct record_calls *r)
{
	triggers_free(r->triggers);
	r->triggers = NULL;
}

struct flight_opts record_calls_flight(struct record_calls *r)
{
	return (struct flight_opts){
		.window_ns = r->opts->window_ns,
		.memory_bytes = r->memory_bytes,
		.then_ns = r->opts->then_ns ? r->opts->then_ns : FLIGHT_NO_THEN,
		.with_waits = r->opts->with_waits,
		.stacks = (enum flight_stacks)r->opts->stacks,
		.blocking = !record_calls_all(r->opts),
		.anomaly = r->opts->anomaly,
		.max_cost = record_calls_all(r->opts) ? r->max_cost : 0,
		.trigger = &r->trigger,
		.report = &r->report,
	};
}

void record_calls_summary(const struct record_calls *r, FILE *out)
{
	const struct flight_report *p = &r->report;
	char window[FMT_MAX], calls[FMT_MAX], open[FMT_MAX], bytes[FMT_MAX], n[FMT_MAX];

	if (!*p->reason)
		return;
	fprintf(out, "frozen: %s\n", p->reason);
	fprintf(out, "window: the last %s", fmt_ns(window, p->window_ns));
	if (p->window_ns + SHORT_NS < p->wanted_ns)
		fprintf(out, " (of %s: the memory holds no more, see --memory)",
			fmt_ns(window, p->wanted_ns));
	if (p->part_ns)
		fprintf(out, ", %s of it blocking calls only; in %s of all calls",
			fmt_ns(window, p->part_ns), fmt_ns(n, p->window_ns - p->part_ns));
	fprintf(out, ", %s calls of %s threads, %s not returned\n", fmt_count(calls, p->call_cnt),
		fmt_count(n, p->thread_cnt), fmt_count(open, p->unfinished_cnt));
	fprintf(out, "memory: %s", fmt_bytes(bytes, p->memory_bytes));
	fprintf(out, "; overwritten: %s calls older than the window",
		fmt_count(n, p->all_cnt > p->call_cnt ? p->all_cnt - p->call_cnt : 0));
	fprintf(out, "; lost: %s calls", fmt_count(n, p->lost_cnt));
	if (p->away_ns)
		fprintf(out, ", about, in %s left out for --max-cost",
			fmt_ns(window, p->away_ns));
	if (p->no_slot_cnt)
		fprintf(out, " and those of %s threads", fmt_count(n, p->no_slot_cnt));
	fputc('\n', out);
}

/* In the order of enum flight_stacks. */
static const char *const stacks_names[] = {"slow", "none", "all", NULL};

const struct opt calls_opt_table[] = {
	{.type = OPT_FLAG, .long_name = "calls",
	 .help = "keep calls that block in memory until a freeze",
	 OPT_AT(struct calls_opts, calls)},
	{.type = OPT_FLAG, .long_name = "all-calls",
	 .help = "keep all calls; pause to keep to --max-cost",
	 OPT_AT(struct calls_opts, all_calls)},
	{.type = OPT_DURATION, .long_name = "window", .metavar = "TIME",
	 .help = "with --calls: keep them so far back", .def = "5m", .min = NS_PER_SEC,
	 .max = FLIGHT_WINDOW_MAX_NS, OPT_AT(struct calls_opts, window_ns)},
	{.type = OPT_STRING, .long_name = "memory", .metavar = "SIZE",
	 .help = "with --calls: use so much memory (default 1/32 of all)",
	 OPT_AT(struct calls_opts, memory)},
	{.type = OPT_DURATION, .long_name = "after", .metavar = "TIME",
	 .help = "with --calls: freeze after so long (or Ctrl-C, SIGUSR1)",
	 .min = 10 * NS_PER_MS, OPT_AT(struct calls_opts, after_ns)},
	{.type = OPT_DURATION, .long_name = "then", .metavar = "TIME",
	 .help = "with --calls: record so long after the freeze; 0: not", .def = "3s",
	 OPT_AT(struct calls_opts, then_ns)},
	{.type = OPT_STRING, .long_name = "until-fails", .metavar = "CMD",
	 .help = "with --calls: freeze when this command fails or hangs",
	 OPT_AT(struct calls_opts, until_fails)},
	{.type = OPT_DURATION, .long_name = "every", .metavar = "TIME",
	 .help = "run that command so often, and for at most so long", .def = "5s",
	 .min = 100 * NS_PER_MS, OPT_AT(struct calls_opts, every_ns)},
	{.type = OPT_STRING, .long_name = "when", .metavar = "METRIC>N",
	 .help = "with --calls: freeze when this metric's sum is over N",
	 OPT_AT(struct calls_opts, when)},
	{.type = OPT_FLAG, .long_name = "anomaly",
	 .help = "with --all-calls: freeze when answers stop or calls hang",
	 OPT_AT(struct calls_opts, anomaly)},
	{.type = OPT_STRING, .long_name = "max-cost", .metavar = "PERCENT",
	 .help = "with --calls: keep to this share of the CPU; 0: no bound",
	 OPT_AT(struct calls_opts, max_cost)},
	{.type = OPT_FLAG, .long_name = "keep-going",
	 .help = "with --calls: go on after a freeze, to FILE.1, FILE.2 ...",
	 OPT_AT(struct calls_opts, keep_going)},
	{.type = OPT_CHOICE, .long_name = "call-stacks", .metavar = "WHICH",
	 .choices = stacks_names, .def = "slow",
	 .help = "with --calls: take stacks of slow calls, none or all",
	 OPT_AT(struct calls_opts, stacks)},
	{.type = OPT_FLAG, .long_name = "with-waits",
	 .help = "with --all-calls: watch waits all the time, too",
	 OPT_AT(struct calls_opts, with_waits)},
	OPT_END,
};
