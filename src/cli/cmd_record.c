/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches and writes what it sees to a capture file.  -i copies a capture,
 * which mends one that was cut: the copy is complete.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/stop.h"
#include "base/path_limit.h"
#include "cli/opts/cmd.h"
#include "cli/files/file_kind.h"
#include "cli/opts/file_rights.h"
#include "cli/opts/names_opts.h"
#include "cli/opts/options.h"
#include "cli/watch/record_calls.h"
#include "cli/opts/select_opts.h"
#include "cli/watch/watching.h"
#include "collect/source.h"
#include "store/capture.h"

#define DURATION_NS (10 * NS_PER_SEC)
#define FILES_MAX 100 /* of --keep-going: a trigger may fire each minute all night */

struct record_opts {
	struct select_opts select;
	uint64_t duration_ns; /* 0: not given */
	struct input_opts input;
	const char *output;
	bool force;
	bool no_stacks;
	bool no_runtimes;
	struct calls_opts calls;
};

static void print_summary(const char *path, const struct capture_stats *s)
{
	char span[FMT_MAX], bytes[FMT_MAX], cnt[FMT_MAX], lost[FMT_MAX];
	bool to_stdout = strcmp(path, "-") == 0;
	CLEANUP(buf_release) struct buf out = {0};

	buf_printf(&out, "%s: %s, %s events, %s, %s lost\n", to_stdout ? "standard output" : path,
		   fmt_ns(span, s->end_ns > s->begin_ns ? s->end_ns - s->begin_ns : 0),
		   fmt_count(cnt, s->event_cnt), fmt_bytes(bytes, s->stored_bytes),
		   fmt_count(lost, s->loss_cnt));
	if (to_stdout)
		fputs(buf_str(&out), stderr);
	else
		output_text(&out);
}

static void capture_close(struct capture **cap)
{
	capture_free(*cap);
}

static void source_close(struct source **src)
{
	source_free(*src);
}

/* 0: until somebody ends it. */
static uint64_t duration_ns(const struct record_opts *o)
{
	if (o->calls.calls)
		return o->calls.after_ns ? o->calls.after_ns : o->duration_ns;
	return o->duration_ns ? o->duration_ns : DURATION_NS;
}

extern const struct cmd cmd_record; /* below */

static int open_source(const struct record_opts *o, struct record_calls *calls,
		       const char *cmdline, struct source **ret_src, struct err *err)
{
	CLEANUP(path_limit_close) struct path_limit *writes =
		file_rights_writes(&cmd_record, o, NULL);
	struct watch_opts watch = {
		.select = &o->select,
		.duration_ns = duration_ns(o),
		.cmdline = cmdline,
		.stacks = !o->no_stacks,
		.no_runtime_names = o->no_runtimes,
		.blocking = 1,
		.keep = file_rights_of_outputs(&cmd_record, o),
		.writes = writes,
	};
	struct flight_opts flight;

	if (o->calls.calls) {
		flight = record_calls_flight(calls);
		watch.sample_hz = flight.stacks == FLIGHT_STACKS_ALL ? FLIGHT_LEARN_HZ : 0;
		watch.max_cost_ppm = flight.blocking ? (uint32_t)(calls->max_cost * 1e6) : 0;
		watch.loads_again = o->calls.keep_going;
		watch.unfiltered = calls->filtered;
		calls->filtered = true;
		return source_flight(&watch, &flight, ret_src, err);
	}
	return o->input.path ? file_kind_source(o->input.path, ret_src, err)
			     : source_live(&watch, ret_src, err);
}

static int record_check(const struct record_opts *o, struct err *err)
{
	if (!o->output)
		return err_usage(err, "give the file to write: -o FILE (- is standard output)");
	if (o->input.path && o->calls.calls)
		return err_usage(err, "--calls records: leave -i out");
	if (o->calls.keep_going && (!o->calls.calls || strcmp(o->output, "-") == 0 ||
				    o->select.command))
		return err_usage(err, "--keep-going goes with --calls, a file and -p or such");
	return watching_check(&o->select, o->input.path, NULL, err);
}

/* One capture.  The output first: a path that cannot be written costs no watching. */
static int record(const struct record_opts *o, struct record_calls *calls, const char *path,
		  struct err *err)
{
	const struct capture_opts opts = {.force = o->force};
	CLEANUP(buf_release) struct buf cmdline = {0};
	CLEANUP(capture_close) struct capture *cap = NULL;
	CLEANUP(source_close) struct source *src = NULL;
	struct watching w = {.verb = o->input.path ? NULL : "recording",
			     .ctrl_c = "end and complete the file",
			     .duration_ns = duration_ns(o)};
	int code = capture_create(path, &opts, &cap, err);

	if (o->calls.calls)
		w.ctrl_c = "freeze the window and write it";
	if (code < 0)
		return code;
	watching_cmdline(&cmdline);
	code = open_source(o, calls, buf_str(&cmdline), &src, err);
	if (code < 0)
		return code;
	w.sinks[0] = capture_sink(cap);
	code = watching_pump(&w, src, err);
	if (capture_finish(cap, err) < 0)
		return err->code; /* a full disk ends the source too: this is the reason */
	record_calls_summary(calls, strcmp(path, "-") == 0 ? stderr : stdout);
	print_summary(path, capture_stats(cap));
	return code < 0 ? err_prefix(err, "the watching ended early") : 0;
}

/* FILE.1, FILE.2 ... until a person or the end of what is watched ends it. */
static int record_on(const struct record_opts *o, struct record_calls *calls, struct err *err)
{
	int code = 0;

	for (unsigned i = 1; i <= FILES_MAX && code == 0; i++) {
		CLEANUP_FREE char *path = xasprintf("%s.%u", o->output, i);

		calls->report = (struct flight_report){0};
		code = record(o, calls, path, err);
		fflush(stdout);
		if (stop_requested() || calls->report.is_over)
			break;
	}
	return code;
}

static int record_run(struct cli *cli, int argc, char **argv)
{
	struct record_opts *o = cli->opts;
	CLEANUP(record_calls_release) struct record_calls calls = {0};
	struct err err = {0};
	int code;

	o->calls.calls |= o->calls.all_calls;
	code = select_words(&o->select, argc, argv, &cli->arena, &err);
	if (code == 0)
		code = record_check(o, &err);
	if (code == 0 && o->calls.calls)
		code = record_calls_begin(&calls, &o->calls, &o->select, &err);
	if (code == 0)
		code = o->calls.keep_going ? record_on(o, &calls, &err)
					   : record(o, &calls, o->output, &err);
	return code < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt record_opt_table[] = {
	OPT_GROUP(select_opt_table, struct record_opts, select),
	{.type = OPT_DURATION, .short_name = 'd', .long_name = "duration", .metavar = "TIME",
	 .help = "watch for so long: 500ms, 2m (10s; --calls: till Ctrl-C)",
	 .min = 10 * NS_PER_MS, OPT_AT(struct record_opts, duration_ns)},
	{.type = OPT_STRING, .short_name = 'o', .long_name = "output", .metavar = "FILE",
	 .help = "write the capture to FILE, -: standard output",
	 OPT_AT(struct record_opts, output)},
	{.type = OPT_FLAG, .long_name = "force", .help = "replace FILE even if it is no capture",
	 OPT_AT(struct record_opts, force)},
	{.type = OPT_FLAG, .long_name = "no-stacks", .help = "take no stacks, so name no functions",
	 OPT_AT(struct record_opts, no_stacks)},
	OPT_NO_RUNTIMES(struct record_opts, no_runtimes),
	OPT_GROUP(calls_opt_table, struct record_opts, calls),
	{.type = OPT_STRING, .short_name = 'i', .long_name = "input", .metavar = "FILE",
	 .help = "copy or mend a capture, or convert another program's trace",
	 OPT_AT(struct record_opts, input.path)},
	OPT_END,
};

const struct cmd cmd_record = {
	.name = "record",
	.help = "record a watch into a capture file",
	.args = "[PID | NAME | -- COMMAND ...]",
	.about = "Watches like the other commands and writes what it sees to a file, which\n"
		 "they all read with -i FILE. Ctrl-C ends the watching and completes the file.\n"
		 "A file that is there is replaced only when the new one is complete.",
	.examples = "  heldup record -p 1234 -o slow.cap   # ten seconds of a process\n"
		    "  heldup record --port 3306 -d 1m -o slow.cap\n"
		    "  heldup why -i slow.cap              # as often as you like",
	.opts = record_opt_table,
	.opts_size = sizeof(struct record_opts),
	.max_args = SELECT_WORDS_MAX,
	.run = record_run,
};
