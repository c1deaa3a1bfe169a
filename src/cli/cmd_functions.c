/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a window of system calls, or records one, and ranks the functions to
 * blame: source -> model -> functions -> report.
 */
#include "cli/opts/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path_limit.h"
#include "cli/files/file_kind.h"
#include "cli/files/page_file.h"
#include "cli/files/sig_store.h"
#include "cli/opts/file_rights.h"
#include "cli/opts/names_opts.h"
#include "cli/opts/options.h"
#include "cli/opts/select_opts.h"
#include "cli/watch/watching.h"
#include "collect/flight/flight.h"
#include "collect/source.h"
#include "functions/functions.h"
#include "functions/sig/sig.h"
#include "model/model.h"
#include "model/stack.h"
#include "report/functions/functions_out.h"
#include "report/lines/pen.h"
#include "symbols/names/symbols.h"
#include "verdict/agreement.h"
#include "verdict/request_stacks.h"
#include "verdict/verdict.h"
#include "waits/waits.h"

struct functions_cmd_opts {
	struct select_opts select;
	struct window_opts window;
	struct input_opts input;
	struct baseline_opts baseline;
	struct output_opts output;
	const char *sigs_path;
	int units;		/* enum units_rule */
	bool calls_only, all_stacks, no_runtimes;
	int64_t explain, top;
};

static const struct model_opts functions_model = {.no_res_ticks = 1};

/* Everything that src has; src is freed. */
static int model_fill(struct watching *w, struct source *src, struct model **ret_model,
		      struct err *err)
{
	struct model *m = model_new(&functions_model);
	int code;

	w->sinks[0] = model_sink(m);
	code = watching_pump(w, src, err);
	source_free(src);
	if (code < 0) {
		model_free(m);
		return code;
	}
	model_finish(m);
	*ret_model = m;
	return 0;
}

static int model_read(const char *path, struct model **ret_model, struct err *err)
{
	struct watching w = {0};
	struct source *src;
	int code = file_kind_source(path, &src, err);

	if (code < 0)
		return code;
	code = model_fill(&w, src, ret_model, err);
	return code < 0 ? err_prefix(err, "read '%s'", path) : 0;
}

extern const struct cmd cmd_functions; /* below */

/* Records for a while beside the watch of waits, whose samples tell of time between calls. */
static int model_live(const struct functions_cmd_opts *o, struct model **ret_model,
		      struct err *err)
{
	CLEANUP(buf_release) struct buf cmdline = {0};
	CLEANUP(arena_release) struct arena arena = {0};
	struct watching w = {.verb = "recording calls", .ctrl_c = "answer now",
			     .duration_ns = o->window.duration_ns};
	CLEANUP(path_limit_close) struct path_limit *writes =
		file_rights_writes(&cmd_functions, o, NULL);
	struct watch_opts watch = {.select = &o->select, .duration_ns = o->window.duration_ns,
				   .stacks = 1, .no_runtime_names = o->no_runtimes,
				   .keep = file_rights_of_outputs(&cmd_functions, o),
				   .writes = writes};
	struct flight_report report = {0};
	struct flight_opts flight = {.window_ns = o->window.duration_ns, .with_waits = true,
				     .then_ns = FLIGHT_NO_THEN, .report = &report};
	struct source *src;
	int code;

	file_rights_reads(writes, sig_store_dir(&arena));
	flight.stacks = o->all_stacks ? FLIGHT_STACKS_ALL : FLIGHT_STACKS_SLOW;
	watching_cmdline(&cmdline);
	watch.cmdline = buf_str(&cmdline);
	code = source_flight(&watch, &flight, &src, err);
	if (code < 0)
		return code;
	return model_fill(&w, src, ret_model, err);
}

/* NULL without a path. */
static int sigs_read(struct cli *cli, const struct sigs **ret_sigs, struct err *err)
{
	const struct functions_cmd_opts *o = cli->opts;
	CLEANUP(buf_release) struct buf text = {0};
	struct sigs *sigs = NULL;
	int code = 0;

	if (o->sigs_path)
		code = file_read(o->sigs_path, SIG_FILE_MAX, &text, err);
	if (o->sigs_path && code == 0)
		code = sig_read(buf_str(&text), text.len, &cli->arena, &sigs, err);
	if (code < 0)
		return err_prefix(err, "signatures '%s'", o->sigs_path);
	*ret_sigs = sigs;
	return 0;
}

/* Functions of one file, when it is still the file that was recorded; 0: it is not. */
static uint64_t module_fn_cnt(struct symbols *s, const struct module *mod)
{
	CLEANUP_CLOSE int fd = open(mod->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct symbols_module_info info;
	uint32_t id;

	if (fd < 0 || symbols_module(s, mod->path, fd, NULL, &id, NULL) < 0 ||
	    symbols_module_info(s, id, &info) < 0 || info.build_id_len != mod->build_id_len ||
	    memcmp(info.build_id, mod->build_id, mod->build_id_len) != 0)
		return 0;
	return info.fn_cnt + info.fde_cnt;
}

/* The functions that the program has, of all its files that can be read here; 0: not known. */
static uint64_t program_fn_cnt(const struct model *m)
{
	struct symbols *s = symbols_new(NULL);
	uint64_t cnt = 0;

	for (size_t i = 0; i < m->module_cnt; i++) {
		const struct module *mod = &m->modules[i];
		bool again = mod->path[0] != '/' || !mod->build_id_len;

		for (size_t k = 0; k < i && !again; k++)
			again = m->modules[k].build_id_len == mod->build_id_len &&
				memcmp(m->modules[k].build_id, mod->build_id,
				       mod->build_id_len) == 0;
		if (!again)
			cnt += module_fn_cnt(s, mod);
	}
	symbols_free(s);
	return cnt;
}

static void print_view(const struct functions_cmd_opts *o, const struct functions_view *v)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct pen pen;

	if (o->output.json) {
		functions_json(v, &out, stdout);
	} else {
		pen = output_pen(&o->output, &out, 110);
		functions_text(v, &pen);
	}
	output_print(&o->output, &out);
}

static int page_write_view(struct page_file *f, const struct functions_view *v, struct err *err)
{
	CLEANUP(buf_release) struct buf out = {0};

	if (!page_file_wanted(f))
		return 0;
	functions_html(v, &out);
	return page_file_write(f, &out, err);
}

/*
 * Where waits were recorded beside the calls they know where requests spent
 * their time, and whether the cause is outside.  NULL: they were not.
 */
static struct verdict *waits_tell(const struct model *m, struct functions_opts *opts,
				  struct arena *arena)
{
	const struct waits_result *w;
	struct verdict *v;

	if (!m->wait_cnt)
		return NULL;
	w = waits_analyse(m, &(struct waits_opts){.by_wait = true}, arena);
	v = verdict_make(m, w, NULL, NULL, arena);
	agreement_tell(v, opts, arena);
	opts->held = verdict_held(m, w, arena);
	return v;
}

static int functions_answer(struct cli *cli, struct page_file *page, struct err *err)
{
	const struct functions_cmd_opts *o = cli->opts;
	struct functions_opts opts = {.units = (uint8_t)o->units, .calls_only = o->calls_only};
	struct functions_view view = {.top = (size_t)o->top, .explain = (size_t)o->explain};
	struct model *m = NULL, *good = NULL;
	const struct sigs *sigs = NULL;
	struct verdict *v;
	int code = sigs_read(cli, &sigs, err);

	if (code < 0)
		return code;
	if (o->baseline.path)
		code = model_read(o->baseline.path, &good, err);
	if (code < 0)
		return err_prefix(err, "baseline");
	code = o->input.path ? model_read(o->input.path, &m, err) : model_live(o, &m, err);
	if (code == 0) {
		if (!o->sigs_path)
			sigs = sig_store_find(m, &cli->arena);
		opts.good = good;
		opts.total_fn_cnt = program_fn_cnt(m);
		v = waits_tell(m, &opts, &cli->arena);
		view.r = functions_analyse(m, sigs, &opts, &cli->arena);
		if (v)
			view.agreement = agreement_make(v, view.r, &cli->arena);
		if (!page->to_stdout)
			print_view(o, &view);
		code = page_write_view(page, &view, err);
	}
	model_free(m);
	model_free(good);
	return code;
}

static int functions_run(struct cli *cli, int argc, char **argv)
{
	struct functions_cmd_opts *o = cli->opts;
	struct err err = {0};

	if (select_words(&o->select, argc, argv, &cli->arena, &err) < 0 ||
	    watching_check(&o->select, o->input.path, NULL, &err) < 0)
		return cli_fail(cli, &err);
	return page_file_run(cli, o->output.html_path, functions_answer);
}

static const char *const unit_rules[] = {"work", "paper", NULL};

static const struct opt functions_opt_table[] = {
	OPT_GROUP(select_opt_table, struct functions_cmd_opts, select),
	OPT_GROUP(window_opt_table, struct functions_cmd_opts, window),
	OPT_GROUP(input_opt_table, struct functions_cmd_opts, input),
	{.type = OPT_STRING, .long_name = "signatures", .metavar = "FILE",
	 .help = "map calls to functions by FILE (default: what was learnt)",
	 OPT_AT(struct functions_cmd_opts, sigs_path)},
	OPT_GROUP(baseline_opt_table, struct functions_cmd_opts, baseline),
	{.type = OPT_CHOICE, .long_name = "units", .metavar = "RULE", .choices = unit_rules,
	 .help = "cut calls at waits for work, or as the paper does", .def = "work",
	 OPT_AT(struct functions_cmd_opts, units)},
	{.type = OPT_FLAG, .long_name = "calls-only", .help = "ignore the stacks of calls",
	 OPT_AT(struct functions_cmd_opts, calls_only)},
	{.type = OPT_FLAG, .long_name = "all-stacks",
	 .help = "live: take the stack of each call (costs more)",
	 OPT_AT(struct functions_cmd_opts, all_stacks)},
	OPT_NO_RUNTIMES(struct functions_cmd_opts, no_runtimes),
	{.type = OPT_INT, .long_name = "explain", .metavar = "RANK", .min = 1, .max = 1000,
	 .help = "show what gave this rank", OPT_AT(struct functions_cmd_opts, explain)},
	{.type = OPT_INT, .long_name = "top", .metavar = "N", .min = 1, .max = 1000,
	 .help = "show N functions", .def = "10", OPT_AT(struct functions_cmd_opts, top)},
	OPT_GROUP(output_opt_table, struct functions_cmd_opts, output),
	OPT_END,
};

const struct cmd cmd_functions = {
	.name = "functions",
	.help = "rank the functions to blame, by a window of system calls",
	.args = "[PID | NAME | -- COMMAND ...]",
	.about = "Cuts the calls into execution units, finds those unlike the others of their\n"
		 "kind (more calls, slower calls, calls that never returned, no calls at all),\n"
		 "and ranks the functions by how much of the extra time, and how little of the\n"
		 "usual time, went through them.  Needs no source and no baseline.",
	.examples = "  heldup functions -p 1234                # record ten seconds, then rank\n"
		    "  heldup functions -i slow.cap            # from a recording\n"
		    "  heldup functions -i slow.cap --explain 1 # what put the first there\n"
		    "  heldup functions -i strace.txt --baseline good.txt",
	.json_schema = embed_functions_schema_json,
	.opts = functions_opt_table,
	.opts_size = sizeof(struct functions_cmd_opts),
	.max_args = SELECT_WORDS_MAX,
	.run = functions_run,
};
