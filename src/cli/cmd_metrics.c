/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers behind the verdict, second by second: source -> model ->
 * metrics -> report.  Needs no whole waits, so the model keeps few.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/path_limit.h"
#include "cli/opts/cmd.h"
#include "cli/files/file_kind.h"
#include "cli/opts/file_rights.h"
#include "cli/opts/options.h"
#include "cli/opts/select_opts.h"
#include "cli/watch/watching.h"
#include "collect/source.h"
#include "model/model.h"
#include "report/functions/metrics_out.h"
#include "report/lines/pen.h"
#include "waits/metrics/metrics.h"

enum { KEEP_WAITS = 1024, KEEP_TICKS = 8 };

extern const char embed_metrics_schema_json[];

struct metrics_opts {
	struct select_opts select;
	uint64_t duration_ns;
	struct input_opts input;
	int64_t rows;
	bool no_peers;
	struct output_opts output;
};

struct run {
	const struct metrics_opts *o;
	struct model *model;
	struct metrics *metrics;
	struct arena arena;	/* of one tick */
	struct pen pen;
	struct buf out;
	uint64_t shown_ns;	/* end of the last tick that was printed */
	size_t note_cnt;	/* printed so far */
	uint64_t tick_cnt;	/* delivered since the last finish */
};

static int run_put(void *ctx, const struct event_hdr *ev)
{
	struct run *r = ctx;

	model_add(r->model, ev);
	r->tick_cnt += ev->kind == EV_TICK;
	return 0;
}

/* Notes are ordered by kind and text, so new ones may come in between: their number shows it. */
static void tell_notes(struct run *r)
{
	const struct model *m = r->model;

	if (m->note_cnt == r->note_cnt)
		return;
	for (size_t i = r->note_cnt; i < m->note_cnt; i++)
		log_warn("%s", m->notes[i]);
	r->note_cnt = m->note_cnt;
}

static void print_tick(struct run *r)
{
	struct metrics_result res;

	model_finish(r->model);
	r->tick_cnt = 0;
	tell_notes(r);
	if (r->model->tick_end_ns == r->shown_ns)
		return;
	r->shown_ns = r->model->tick_end_ns;
	arena_clear(&r->arena);
	buf_clear(&r->out);
	res = metrics_tick(r->metrics, r->model, &r->arena);
	if (r->o->output.json)
		metrics_json(&res, r->model, &r->out);
	else
		metrics_text(&res, r->model, (size_t)r->o->rows, &r->pen);
	output_print(&r->o->output, &r->out);
	fflush(stdout);
}

static int pump(struct run *r, struct source *src, struct err *err)
{
	struct event_sink sink = {.put = run_put, .ctx = r};
	bool stopped = false;
	int more;

	do {
		if ((stop_requested() || ferror(stdout)) && !stopped) {
			source_stop(src);
			stopped = true;
		}
		more = source_step(src, &sink, err);
		if (more >= 0)
			print_tick(r);
	} while (more > 0);
	return more;
}

extern const struct cmd cmd_metrics; /* below */

static int open_source(const struct metrics_opts *o, struct source **ret_src, struct err *err)
{
	CLEANUP(path_limit_close) struct path_limit *writes =
		file_rights_writes(&cmd_metrics, o, NULL);
	struct watch_opts watch = {
		.arrivals = 1,
		.select = &o->select,
		.duration_ns = o->duration_ns,
		.only_target = o->no_peers,
		.keep = file_rights_of_outputs(&cmd_metrics, o),
		.writes = writes,
	};

	return o->input.path ? file_kind_source(o->input.path, ret_src, err)
			     : source_live(&watch, ret_src, err);
}

static void run_init(struct run *r, const struct metrics_opts *o)
{
	const struct model_opts keep = {.max_waits = KEEP_WAITS, .max_slices = KEEP_TICKS,
					.newest_waits = 1};

	*r = (struct run){
		.o = o,
		.model = model_new(&keep),
		.metrics = metrics_new(),
		.pen = output_pen(&o->output, &r->out, 140),
	};
}

static void run_release(struct run *r)
{
	metrics_free(r->metrics);
	model_free(r->model);
	arena_release(&r->arena);
	buf_release(&r->out);
}

static int metrics_run(struct cli *cli, int argc, char **argv)
{
	struct metrics_opts *o = cli->opts;
	CLEANUP(run_release) struct run r = {0};
	struct source *src = NULL;
	struct err err = {0};
	int code = select_words(&o->select, argc, argv, &cli->arena, &err);

	if (code == 0)
		code = watching_check(&o->select, o->input.path, NULL, &err);
	if (code == 0)
		code = open_source(o, &src, &err);
	if (code < 0)
		return cli_fail(cli, &err);
	run_init(&r, o);
	code = pump(&r, src, &err);
	source_free(src);
	return code < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt metrics_opt_table[] = {
	OPT_GROUP(select_opt_table, struct metrics_opts, select),
	{.type = OPT_FLAG, .long_name = "no-peers",
	 .help = "leave out peers of the selected processes",
	 OPT_AT(struct metrics_opts, no_peers)},
	{.type = OPT_DURATION, .short_name = 'd', .long_name = "duration", .metavar = "TIME",
	 .help = "watch for so long (default: until Ctrl-C)",
	 OPT_AT(struct metrics_opts, duration_ns)},
	OPT_GROUP(input_opt_table, struct metrics_opts, input),
	{.type = OPT_INT, .short_name = 'n', .long_name = "rows", .metavar = "N",
	 .help = "show N rows of each metric, 0: all", .def = "20",
	 OPT_AT(struct metrics_opts, rows)},
	OPT_GROUP(json_opt_table, struct metrics_opts, output),
	OPT_GROUP(color_opt_table, struct metrics_opts, output),
	OPT_END,
};

const struct cmd cmd_metrics = {
	.name = "metrics",
	.help = "print the metrics of each thread and resource once a second",
	.args = "[PID | NAME | -- COMMAND ...]",
	.about = "The sixteen metrics of run time, run queue, futexes, pipes, sockets, epoll and\n"
		 "disk, and more of the same kind, per thread and resource, once a second.\n"
		 "Rows that are zero are left out. --json prints one object a second.",
	.examples = "  heldup metrics -p 1234\n"
		    "  heldup metrics -p 1234 -d 5s --json | jq '.rows[] | select(.value > 0.5)'\n"
		    "  heldup metrics -i slow.cap -n 5      # the five largest of each",
	.json_schema = embed_metrics_schema_json,
	.opts = metrics_opt_table,
	.opts_size = sizeof(struct metrics_opts),
	.max_args = SELECT_WORDS_MAX,
	.run = metrics_run,
};
