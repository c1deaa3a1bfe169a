/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what holds the requests of a running server up, with tracepoints that it switches on and
 * off by itself: at the entries of functions, or (--type) the program's own.
 */
#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/files/packed_file.h"
#include "cli/opts/cmd.h"
#include "cli/opts/options.h"
#include "cli/opts/select_opts.h"
#include "cli/watch/explore_live.h"
#include "cli/watch/explore_traced.h"
#include "report/explore/explore_out.h"
#include "report/explore/traced_out.h"
#include "report/forest/forest_out.h"
#include "report/lines/pen.h"
#include "requests/forest/forest_file.h"
#include "requests/forest/space_file.h"

extern const char embed_explore_schema_json[];

enum { COLUMNS = 100 };

struct explore_cmd_opts {
	struct select_opts select;
	const char *type, *listen, *forest_path, *space_path;
	uint64_t duration_ns;
	struct cost_opts cost;
	struct output_opts output;
};

static void print_view(const struct explore_cmd_opts *o, const struct explore_view *v)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct pen pen;

	if (o->output.json) {
		explore_json(v, &out);
	} else {
		pen = output_pen(&o->output, &out, COLUMNS);
		explore_text(v, &pen);
	}
	output_print(&o->output, &out);
}

/* ---- tracepoints of the programs' own */

static void print_traced(const struct explore_cmd_opts *o, const struct traced_view *v)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct pen pen;

	if (o->output.json) {
		traced_json(v, &out);
	} else {
		pen = output_pen(&o->output, &out, COLUMNS);
		traced_text(v, &pen);
	}
	output_print(&o->output, &out);
}

static int forest_keep(const char *path, const struct explore_traced *t, struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = {0};

	if (!path)
		return 0;
	if (!t->result.forest)
		return err_set(err, -ENODATA, "write '%s': the search did not begin", path);
	forest_write(t->result.forest, &t->points, &t->strings, &bytes);
	return packed_file_write(path, FOREST_FILE_WHAT, &bytes, err);
}

static int explore_type(struct cli *cli, struct err *err)
{
	const struct explore_cmd_opts *o = cli->opts;
	CLEANUP(explore_traced_release) struct explore_traced t = {0};
	const struct explore_traced_opts opts = {
		.cmd = cli->cmd, .cmd_opts = o, .type = o->type, .listen = o->listen,
		.duration_ns = o->duration_ns, .max_cost = o->cost.max_ppm / 1e6,
		.space_path = o->space_path, .progress = isatty(STDERR_FILENO)};
	struct forest_view forest = {.points = &t.points, .strings = &t.strings};
	struct traced_view v = {.type = o->type, .listen = o->listen, .r = &t.result,
				.forest = &forest, .agents = &t.after,
				.max_cost = opts.max_cost};
	int code = o->forest_path
			   ? packed_file_check(o->forest_path, FOREST_FILE_WHAT, err) : 0;

	if (code == 0 && o->space_path && access(o->space_path, F_OK) < 0)
		code = packed_file_check(o->space_path, SPACE_FILE_WHAT, err);
	if (code == 0)
		code = explore_traced(&opts, &cli->arena, &t, err);
	if (code < 0)
		return code;
	forest.f = t.result.forest;
	v.spans = gather_stats(t.gather);
	v.refused_span_cnt = intake_stats(t.intake)->refused_span_cnt;
	v.took_ns = t.took_ns;
	v.off_ns = t.off_ns;
	print_traced(o, &v);
	return forest_keep(o->forest_path, &t, err);
}

/* ---- entries of functions */

static int explore_processes(struct cli *cli, int argc, char **argv)
{
	const struct explore_cmd_opts *o = cli->opts;
	struct explore_cmd_opts *mine = cli->opts;
	CLEANUP(explore_live_release) struct explore_live live = {0};
	const struct explore_live_opts opts = {
		.cmd = cli->cmd, .cmd_opts = o, .select = &o->select,
		.duration_ns = o->duration_ns, .max_cost_ppm = o->cost.max_ppm,
		.progress = isatty(STDERR_FILENO)};
	struct explore_view view;
	struct err err = {0};
	int code = select_words(&mine->select, argc, argv, &cli->arena, &err);

	if (code == 0)
		code = select_check(&o->select, &err);
	if (code == 0)
		code = explore_live(&opts, &cli->arena, &live, &err);
	if (code < 0)
		return cli_fail(cli, &err);
	explore_live_view(&live, o->cost.max_ppm, &cli->arena, &view);
	print_view(o, &view);
	return CLI_OK;
}

static int explore_run(struct cli *cli, int argc, char **argv)
{
	const struct explore_cmd_opts *o = cli->opts;
	struct err err = {0};
	int code;

	if (!o->type && (o->forest_path || o->space_path))
		code = err_usage(&err, "--forest and --space: only with --type");
	else if (!o->type)
		return explore_processes(cli, argc, argv);
	else if (argc || !select_is_empty(&o->select))
		code = err_usage(&err, "--type: programs ask by themselves, none is chosen");
	else
		code = explore_type(cli, &err);
	return code < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt explore_opt_table[] = {
	OPT_GROUP(select_running_opt_table, struct explore_cmd_opts, select),
	{.type = OPT_STRING, .long_name = "type", .metavar = "NAME",
	 .help = "explore this type of requests of programs with tracepoints",
	 OPT_AT(struct explore_cmd_opts, type)},
	{.type = OPT_STRING, .long_name = "listen", .metavar = "ADDR:PORT", .def = INTAKE_HTTP,
	 .help = "take their spans and questions in here",
	 OPT_AT(struct explore_cmd_opts, listen)},
	{.type = OPT_STRING, .long_name = "space", .metavar = "FILE",
	 .help = "keep what was learnt in FILE, and use it if it is there",
	 OPT_AT(struct explore_cmd_opts, space_path)},
	{.type = OPT_STRING, .long_name = "forest", .metavar = "FILE",
	 .help = "write what was tried and found, for heldup forest",
	 OPT_AT(struct explore_cmd_opts, forest_path)},
	{.type = OPT_DURATION, .short_name = 'd', .long_name = "duration", .metavar = "TIME",
	 .help = "end the search after so long", .def = "60s", .min = 1,
	 OPT_AT(struct explore_cmd_opts, duration_ns)},
	{.type = OPT_CUSTOM, .long_name = "max-overhead", .metavar = "PCT", .def = "2",
	 .help = "cost at most this share of the CPU time in use; 0: any", .parse = cost_parse,
	 OPT_AT(struct explore_cmd_opts, cost.max_ppm)},
	OPT_GROUP(json_opt_table, struct explore_cmd_opts, output),
	OPT_GROUP(color_opt_table, struct explore_cmd_opts, output),
	OPT_END,
};

const struct cmd cmd_explore = {
	.name = "explore",
	.help = "find the function that holds requests up, by tracepoints",
	.args = "[PID | NAME]",
	.about = "Reads stacks for some seconds, then follows the requests of a running server\n"
		 "and enables tracepoints at the entries of its functions, round by round, until\n"
		 "it knows in which function slow requests take longer than others, and which\n"
		 "values explain it.  The server needs no restart and no symbols.  Tracepoints\n"
		 "are disabled at the end, whatever ends it.  Ctrl-C: answer from what was seen.\n"
		 "\n"
		 "With --type it drives tracepoints that programs have themselves, by heldup's\n"
		 "library or its package for OpenTelemetry: over all services that a request\n"
		 "comes to.  No rights are needed for that.",
	.examples = "  heldup explore --port 6379          # of what listens there\n"
		    "  heldup explore -u postgresql -d 30s\n"
		    "  heldup explore -p 1234 --json | jq .held_up_by\n"
		    "  heldup explore --type 'GET /checkout' --forest checkout.forest",
	.json_schema = embed_explore_schema_json,
	.opts = explore_opt_table,
	.opts_size = sizeof(struct explore_cmd_opts),
	.max_args = SELECT_WORDS_MAX,
	.run = explore_run,
};
