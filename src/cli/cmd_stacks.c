/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches, or reads captures, then shows in which functions the time went, as
 * tables, as JSON, as a page with a flame graph, and in others' formats.
 */
#include "cli/opts/cmd.h"
#include "cli/opts/file_rights.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/path_limit.h"
#include "cli/opts/names_opts.h"
#include "cli/opts/options.h"
#include "cli/files/page_file.h"
#include "cli/watch/seen_stacks.h"
#include "cli/opts/select_opts.h"
#include "cli/watch/watching.h"
#include "collect/source.h"
#include "model/model.h"
#include "report/exports.h"
#include "report/lines/pen.h"
#include "report/stacks/stacks_out.h"
#include "stacks/stacks.h"
#include "store/capture.h"
#include "waits/waits.h"

#define CHROME_WINDOW_NS (2 * NS_PER_SEC) /* a viewer takes about so much of a busy server */

enum export_kind { EXPORT_FOLDED, EXPORT_PPROF, EXPORT_SPEEDSCOPE, EXPORT_CHROME, EXPORT_CNT };

enum mode_choice { MODE_ALL, MODE_ON, MODE_OFF, MODE_WAKER };

struct stacks_cmd_opts {
	struct select_opts select;
	struct window_opts window;
	struct cost_opts cost;
	struct input_opts input;
	struct names_opts names;
	struct output_opts output;
	const char *capture_path, *diff_path;
	const char *exports[EXPORT_CNT];
	int mode;		/* enum mode_choice */
	bool idle, kernel;
};

struct seen {			/* one observation */
	struct model *model;
	struct stacks_result *stacks;
	struct stacks_result *idle; /* for a page: the waits for work, NULL */
};

static void seen_release(struct seen *s)
{
	model_free(s->model);
	*s = (struct seen){0};
}

/* A trace for Chrome shows the end of the window whole. */
static struct model *new_model(const struct stacks_cmd_opts *o)
{
	return model_new(&(struct model_opts){.no_res_ticks = 1,
					      .newest_waits = o->exports[EXPORT_CHROME] != NULL});
}

static void seen_make(struct cli *cli, struct seen *s)
{
	const struct stacks_cmd_opts *o = cli->opts;

	struct waits_result *waits;

	model_finish(s->model);
	waits = waits_analyse(s->model, &(struct waits_opts){.by_wait = true}, &cli->arena);
	s->stacks = stacks_seen(s->model, waits, o->idle, &cli->arena);
	if (o->output.html_path && !o->idle)
		s->idle = stacks_seen_idle(s->model, waits, &cli->arena);
}

static int read_file(struct cli *cli, const char *path, struct seen *ret_seen, struct err *err)
{
	int code;

	ret_seen->model = new_model(cli->opts);
	code = watching_file(path, model_sink(ret_seen->model), err);
	if (code < 0)
		return code;
	seen_make(cli, ret_seen);
	return 0;
}

/* A failure after the first tick still leaves something to show: *ret_late is then set. */
static int read_live(struct cli *cli, struct seen *ret_seen, int *ret_late, struct err *err)
{
	const struct stacks_cmd_opts *o = cli->opts;
	const struct symbols_opts symbols = names_opts_symbols(&o->names);
	struct watching w = {.verb = "watching", .ctrl_c = "answer now",
			     .duration_ns = o->window.duration_ns};
	CLEANUP(path_limit_close) struct path_limit *writes =
		file_rights_writes(cli->cmd, o, NULL);
	struct watch_opts opts = {.select = &o->select, .duration_ns = o->window.duration_ns,
				  .no_runtime_names = o->names.no_runtimes,
				  .stacks = 1, .symbols = &symbols,
				  .max_cost_ppm = o->cost.max_ppm,
				  .keep = file_rights_of_outputs(cli->cmd, o),
				  .writes = writes};
	struct capture *cap;
	int code = watching_capture(o->capture_path, &cap, err);

	if (code < 0)
		return code;
	names_opts_ask(&o->names, &o->select);
	ret_seen->model = new_model(o);
	w.sinks[0] = model_sink(ret_seen->model);
	code = watching_live(&w, &opts, cap, err);
	capture_free(cap);
	if (code < 0 && !w.tick_cnt)
		return code;
	*ret_late = code;
	seen_make(cli, ret_seen);
	return 0;
}

static unsigned modes_of(const struct stacks_cmd_opts *o)
{
	switch (o->mode) {
	case MODE_ON:
		return 1u << STACKS_ON;
	case MODE_OFF:
		return 1u << STACKS_OFF;
	case MODE_WAKER:
		return 1u << STACKS_WAKER;
	default:
		return (1u << STACKS_MODE_CNT) - 1;
	}
}

static void say_short_window(const struct model *m, uint64_t ns)
{
	char t[FMT_MAX];

	if (ns < m->end_ns - m->begin_ns)
		log_info("the trace for Chrome holds the last %s", fmt_ns(t, ns));
}

static int export_one(unsigned kind, const struct stacks_cmd_opts *o, const struct stacks_view *v,
		      struct page_file *f, struct err *err)
{
	CLEANUP(buf_release) struct buf out = {0};
	uint64_t ns;
	int code = 0;

	if (!page_file_wanted(f))
		return 0;
	switch (kind) {
	case EXPORT_FOLDED:
		export_folded(v->r, v->modes, v->arena, &out);
		break;
	case EXPORT_PPROF:
		code = export_pprof(v->r, v->modes, o->kernel, v->arena, &out, err);
		break;
	case EXPORT_SPEEDSCOPE:
		export_speedscope(v->r, v->modes, &out);
		break;
	case EXPORT_CHROME:
		export_chrome(v->r, CHROME_WINDOW_NS, &out, &ns);
		say_short_window(v->r->m, ns);
		break;
	default: /* the page */
		stacks_html(v, &out);
	}
	return code < 0 ? code : page_file_write(f, &out, err);
}

static void print_view(const struct stacks_cmd_opts *o, const struct stacks_view *v)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct pen pen;

	if (o->output.json) {
		stacks_json(v, &out, stdout);
	} else {
		pen = output_pen(&o->output, &out, 100);
		stacks_text(v, &pen);
	}
	output_print(&o->output, &out);
}

/* `--diff A B`: B is the argument, -i B, or what is watched; else arguments select. */
static int stacks_check(struct cli *cli, int argc, char **argv, struct err *err)
{
	struct stacks_cmd_opts *o = cli->opts;

	if (!o->diff_path && select_words(&o->select, argc, argv, &cli->arena, err) < 0)
		return -EINVAL;
	if (argc > 1 && o->diff_path)
		return err_usage(err, "--diff takes one file more, not '%s' too", argv[1]);
	if (argc && o->diff_path && o->input.path)
		return err_usage(err, "--diff has its second file twice: leave -i out");
	if (argc && o->diff_path)
		o->input.path = argv[0];
	return watching_check(&o->select, o->input.path, o->capture_path, err);
}

/* One of the files is standard output: the tables would be in its way. */
static bool takes_stdout(const struct page_file *files)
{
	bool takes = false;

	for (unsigned k = 0; k <= EXPORT_CNT; k++)
		takes |= files[k].to_stdout;
	return takes;
}

static int stacks_answer(struct cli *cli, struct page_file *files, struct err *err)
{
	const struct stacks_cmd_opts *o = cli->opts;
	CLEANUP(seen_release) struct seen seen = {0};
	CLEANUP(seen_release) struct seen base = {0};
	struct stacks_view view = {.modes = modes_of(o), .arena = &cli->arena};
	int late = 0, code = 0;

	if (o->diff_path)
		code = read_file(cli, o->diff_path, &base, err);
	if (code == 0)
		code = o->input.path ? read_file(cli, o->input.path, &seen, err)
				     : read_live(cli, &seen, &late, err);
	if (code < 0)
		return code;
	view.r = seen.stacks;
	view.base = base.stacks;
	view.idle = seen.idle;
	if (!takes_stdout(files))
		print_view(o, &view);
	if (late < 0)
		return err_prefix(err, "the watching ended early, this covers what was seen");
	for (unsigned k = 0; k <= EXPORT_CNT && code >= 0; k++)
		code = export_one(k, o, &view, &files[k], err);
	return code;
}

static int stacks_run(struct cli *cli, int argc, char **argv)
{
	struct stacks_cmd_opts *o = cli->opts;
	struct page_file files[EXPORT_CNT + 1];
	struct err err = {0};
	int code = stacks_check(cli, argc, argv, &err);

	for (unsigned k = 0; k <= EXPORT_CNT; k++)
		files[k] = (struct page_file){.fd = -1};
	for (unsigned k = 0; k <= EXPORT_CNT && code == 0; k++)
		code = page_file_open(&files[k], k < EXPORT_CNT ? o->exports[k]
								 : o->output.html_path, &err);
	if (code == 0)
		code = stacks_answer(cli, files, &err);
	for (unsigned k = 0; k <= EXPORT_CNT; k++)
		page_file_close(&files[k]);
	return code < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const char *const mode_names[] = {"all", "on", "off", "waker", NULL};

#define EXPORT(name, kind, what)                                                       \
	{.type = OPT_STRING, .long_name = name, .metavar = "FILE", .help = what,       \
	 OPT_AT(struct stacks_cmd_opts, exports[kind])}

static const struct opt stacks_opt_table[] = {
	OPT_GROUP(select_opt_table, struct stacks_cmd_opts, select),
	OPT_GROUP(window_opt_table, struct stacks_cmd_opts, window),
	OPT_GROUP(cost_opt_table, struct stacks_cmd_opts, cost),
	OPT_GROUP(input_opt_table, struct stacks_cmd_opts, input),
	OPT_GROUP(names_opt_table, struct stacks_cmd_opts, names),
	{.type = OPT_CHOICE, .long_name = "mode", .metavar = "MODE", .choices = mode_names,
	 .help = "show one view: on, off or waker; or all", .def = "all",
	 OPT_AT(struct stacks_cmd_opts, mode)},
	{.type = OPT_FLAG, .long_name = "idle", .help = "show idle waits, too",
	 OPT_AT(struct stacks_cmd_opts, idle)},
	{.type = OPT_FLAG, .long_name = "kernel",
	 .help = "with --pprof: add the kernel's functions of waits",
	 OPT_AT(struct stacks_cmd_opts, kernel)},
	{.type = OPT_STRING, .long_name = "diff", .metavar = "FILE",
	 .help = "compare with this capture",
	 OPT_AT(struct stacks_cmd_opts, diff_path)},
	OPT_GROUP(output_opt_table, struct stacks_cmd_opts, output),
	EXPORT("folded", EXPORT_FOLDED, "write lines for flamegraph.pl"),
	EXPORT("pprof", EXPORT_PPROF, "write a profile for pprof"),
	EXPORT("speedscope", EXPORT_SPEEDSCOPE, "write a profile for speedscope"),
	EXPORT("chrome", EXPORT_CHROME, "write the end, up to 2 s, for Perfetto and Chrome"),
	{.type = OPT_STRING, .short_name = 'o', .long_name = "output", .metavar = "FILE",
	 .help = "keep a capture of the watch, too",
	 OPT_AT(struct stacks_cmd_opts, capture_path)},
	OPT_END,
};

const struct cmd cmd_stacks = {
	.name = "stacks",
	.help = "show in which functions time goes, on CPU and off CPU",
	.args = "[PID | NAME | FILE2 | -- COMMAND ...]",
	.about = "Samples running threads and takes the stacks of waits and of who ended them,\n"
		 "then shows the functions: on the CPU, off it by what was waited for, and which\n"
		 "function of which thread ended the waiting.  Waits for work are left out.",
	.examples = "  heldup stacks -p 1234                   # ten seconds of a process\n"
		    "  heldup stacks -p 1234 --html flame.html # the flame graphs\n"
		    "  heldup stacks --diff good.cap slow.cap  # what changed",
	.json_schema = embed_stacks_schema_json,
	.opts = stacks_opt_table,
	.opts_size = sizeof(struct stacks_cmd_opts),
	.max_args = SELECT_WORDS_MAX,
	.run = stacks_run,
};
