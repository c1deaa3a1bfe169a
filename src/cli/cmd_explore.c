/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the function that holds the requests of a running server up, with tracepoints at
 * the entries of functions that it switches on and off by itself.
 */
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/opts/cmd.h"
#include "cli/opts/options.h"
#include "cli/opts/select_opts.h"
#include "cli/watch/explore_live.h"
#include "report/explore/explore_out.h"
#include "report/lines/pen.h"

extern const char embed_explore_schema_json[];

enum { COLUMNS = 100 };

struct explore_cmd_opts {
	struct select_opts select;
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

static int explore_run(struct cli *cli, int argc, char **argv)
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

static const struct opt explore_opt_table[] = {
	OPT_GROUP(select_running_opt_table, struct explore_cmd_opts, select),
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
		 "are disabled at the end, whatever ends it.  Ctrl-C: answer from what was seen.",
	.examples = "  heldup explore --port 6379          # of what listens there\n"
		    "  heldup explore -u postgresql -d 30s\n"
		    "  heldup explore -p 1234 --json | jq .held_up_by",
	.json_schema = embed_explore_schema_json,
	.opts = explore_opt_table,
	.opts_size = sizeof(struct explore_cmd_opts),
	.max_args = SELECT_WORDS_MAX,
	.run = explore_run,
};
