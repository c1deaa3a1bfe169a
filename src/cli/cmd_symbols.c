/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names a stack of a process would have, file by file, before anybody
 * needs one.  Loads nothing into the kernel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/names/names_view.h"
#include "cli/opts/cmd.h"
#include "cli/opts/file_rights.h"
#include "cli/opts/names_opts.h"
#include "cli/opts/options.h"
#include "cli/opts/per_process.h"
#include "cli/opts/select_opts.h"
#include "collect/target/target.h"
#include "reads/reads.h"
#include "report/lines/pen.h"
#include "symbols/names/debuginfod.h"
#include "symbols/names/symbols.h"

enum { LINES_MS = 5000 };

extern const char embed_symbols_schema_json[];

static int addrs_parse(struct names_view *v, int argc, char **argv, struct err *err)
{
	for (int i = 0; i < argc; i++) {
		char *end;

		errno = 0;
		v->addrs[v->addr_cnt++] = strtoull(argv[i], &end, 16);
		if (errno || *end || end == argv[i] || argv[i][0] == '-')
			return err_usage(err, "'%s' is not an address (hexadecimal)", argv[i]);
	}
	return 0;
}

/* A view of one process is a copy of the one without. */
struct shown {
	const struct names_view *all;
	struct pen pen; /* for text */
};

static int show(void *ctx, uint32_t tgid, struct json *j, struct err *err)
{
	struct shown *shown = ctx;
	struct names_view v = *shown->all;
	int ret = names_view_make(&v, tgid, err);

	if (ret == 0 && j) {
		names_json(j, &v);
	} else if (ret == 0) {
		if (shown->pen.line_cnt)
			pen_nl(&shown->pen);
		names_text(&v, &shown->pen);
	}
	names_view_release(&v);
	return ret;
}

static void tail(void *ctx, struct json *j)
{
	const struct shown *shown = ctx;

	names_stats_json(j, shown->all->symbols);
}

static int print_all(const struct names_view *all, const struct target *t, struct err *err)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct shown shown = {.all = all};
	const struct per_process each = {.target = t, .show = show, .tail = tail, .ctx = &shown};
	int ret;

	if (all->o->output.json)
		return per_process_json(&each, "heldup/symbols/1", err);
	shown.pen = output_pen(&all->o->output, &out, 200);
	ret = per_process_text(&each, err);
	output_text(&out);
	return ret;
}

static int run(struct cli *cli, int argc, char **argv)
{
	const struct symbols_cmd_opts *o = cli->opts;
	struct symbols_opts how = {
		.debuginfod_ms = (uint32_t)(o->debuginfod_ns / NS_PER_MS),
		.lines_ms = argc ? LINES_MS : 0,
		.no_debug_files = o->no_debug_files,
		.max_bytes = UINT64_C(1) << 30, /* one look at all, then it ends */
	};
	struct names_view all = {.o = o};
	CLEANUP(target_release) struct target t = {0};
	struct err err = {0};
	int ret = select_check(&o->select, &err);

	reads_start();
	if (ret == 0)
		ret = addrs_parse(&all, argc, argv, &err);
	if (ret == 0)
		ret = target_resolve(&o->select, &t, &err);
	if (ret < 0)
		return cli_fail(cli, &err);
	names_opts_ask(&(struct names_opts){.jit = o->jit}, &o->select);
	all.symbols = symbols_new(&how);
	ret = file_rights_look(cli->cmd, o, &err);
	if (ret == 0)
		ret = print_all(&all, &t, &err);
	symbols_free(all.symbols);
	return ret < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt symbols_opt_table[] = {
	OPT_GROUP(select_running_opt_table, struct symbols_cmd_opts, select),
	{.type = OPT_DURATION, .long_name = "debuginfod", .metavar = "TIME",
	 .help = "wait for debuginfod so long in all, 0s: do not ask", .def = "5s",
	 .max = 3600 * (int64_t)NS_PER_SEC, OPT_AT(struct symbols_cmd_opts, debuginfod_ns)},
	{.type = OPT_FLAG, .long_name = "no-debug-files",
	 .help = "use only what the mapped files hold",
	 OPT_AT(struct symbols_cmd_opts, no_debug_files)},
	{.type = OPT_FLAG, .long_name = "jit",
	 .help = "ask Java VMs to write the names of their code (disturbs)",
	 OPT_AT(struct symbols_cmd_opts, jit)},
	OPT_NO_RUNTIMES(struct symbols_cmd_opts, no_runtimes),
	OPT_GROUP(json_opt_table, struct symbols_cmd_opts, output),
	OPT_GROUP(color_opt_table, struct symbols_cmd_opts, output),
	OPT_END,
};

const struct cmd cmd_symbols = {
	.name = "symbols",
	.help = "show which function names can be found, and what adds more",
	.args = "[ADDRESS ...]",
	.about = "One line for each file whose code a process maps: its build id, where the names\n"
		 "of its functions come from, how many have one, how many have only bounds (shown\n"
		 "as file+0xSTART), and the package, flag or server that would improve them.\n"
		 "Then whether functions of an interpreted program are read from its memory.\n"
		 "\n"
		 "With addresses it says what is at each of them instead.  debuginfod is asked\n"
		 "only where DEBUGINFOD_URLS is set; what it sends is kept for later runs.",
	.examples = "  sudo heldup symbols -p 1234\n"
		    "  sudo heldup symbols -p 1234 --debuginfod 10m   # fetch what is missing\n"
		    "  sudo heldup symbols -p 1234 7f3a5c0d1e20       # what is there?",
	.json_schema = embed_symbols_schema_json,
	.opts = symbols_opt_table,
	.opts_size = sizeof(struct symbols_cmd_opts),
	.max_args = ADDRS_MAX,
	.run = run,
};
