/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes files of function signatures, from processes or from captures, merges
 * them and shows what is in one.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/path_limit.h"
#include "cli/opts/cmd.h"
#include "cli/files/file_kind.h"
#include "cli/opts/file_rights.h"
#include "cli/opts/names_opts.h"
#include "cli/opts/options.h"
#include "cli/opts/select_opts.h"
#include "cli/files/sig_file.h"
#include "cli/files/sig_store.h"
#include "cli/watch/watching.h"
#include "collect/flight/flight.h"
#include "collect/source.h"
#include "functions/sig/learn.h"
#include "functions/sig/sig.h"
#include "model/calls/calls.h"
#include "model/model.h"
#include "report/lines/pen.h"
#include "report/functions/sig_out.h"

enum { COLUMNS = 110 };

struct learn_cmd_opts {
	struct select_opts select;
	struct window_opts window;
	struct input_opts input;
	struct names_opts names;
	struct output_opts output;
	const char *out_path, *show_path;
	bool merge;
};

/* ---- learning */

extern const struct cmd cmd_learn; /* below */

static int open_source(const struct learn_cmd_opts *o, const char *cmdline,
		       struct source **ret_src, struct err *err)
{
	const struct symbols_opts symbols = names_opts_symbols(&o->names);
	CLEANUP(arena_release) struct arena arena = {0};
	CLEANUP(path_limit_close) struct path_limit *writes =
		file_rights_writes(&cmd_learn, o, o->out_path ? NULL : sig_store_dir(&arena));
	const struct watch_opts watch = {.select = &o->select, .cmdline = cmdline,
					 .duration_ns = o->window.duration_ns, .stacks = 1,
					 .sample_hz = FLIGHT_LEARN_HZ, .symbols = &symbols,
					 .no_runtime_names = o->names.no_runtimes,
					 .keep = file_rights_of_outputs(&cmd_learn, o),
					 .writes = writes};
	/* a little longer than the watch: a call may begin before it */
	const struct flight_opts flight = {.window_ns = o->window.duration_ns + NS_PER_SEC,
					   .stacks = FLIGHT_STACKS_ALL, .then_ns = 1,
					   .with_waits = true};

	if (!o->input.path)
		names_opts_ask(&o->names, &o->select);
	return o->input.path ? file_kind_source(o->input.path, ret_src, err)
			     : source_flight(&watch, &flight, ret_src, err);
}

static int read_model(const struct learn_cmd_opts *o, struct model *m, struct err *err)
{
	CLEANUP(buf_release) struct buf cmdline = {0};
	struct watching w = {.verb = o->input.path ? NULL : "learning",
			     .ctrl_c = "learn from what was seen",
			     .duration_ns = o->window.duration_ns};
	struct source *src;
	int code;

	watching_cmdline(&cmdline);
	code = open_source(o, buf_str(&cmdline), &src, err);
	if (code < 0)
		return code;
	w.sinks[0] = model_sink(m);
	code = watching_pump(&w, src, err);
	source_free(src);
	if (code < 0 && o->input.path)
		return err_prefix(err, "read '%s'", o->input.path);
	model_finish(m);
	return code;
}

static int check_calls(const struct model *m, const struct sigs *s, const struct learn_stats *st,
		       struct err *err)
{
	if (m->calls->cnt == 0)
		return err_set(err, -ENODATA, "no system calls were seen: nothing to learn");
	if (m->calls->part_cnt)
		return err_set(err, -ENODATA, "only calls that blocked were recorded for a part of "
			       "it: learn -p, or record --call-stacks all, has all");
	if (st->no_stack_cnt == st->call_cnt - st->noise_cnt)
		return err_set(err, -ENODATA, "no call has a stack: signatures are learnt from "
			       "calls with stacks (record --calls takes them of slow calls "
			       "only, learn -p of all)");
	if (s->fn_cnt == 0)
		return err_set(err, -ENODATA, "no function of the program is on any stack");
	return 0;
}

static void say_learnt(const char *path, const struct model *m, const struct sigs *s,
		       const struct learn_stats *st)
{
	bool to_stdout = strcmp(path, "-") == 0;
	char calls[FMT_MAX], noise[FMT_MAX], none[FMT_MAX], app[FMT_MAX], t[FMT_MAX];

	fprintf(to_stdout ? stderr : stdout,
		"%s: %u functions from %s calls in %s (%s for memory and time left out, %s without "
		"a stack, %s outside the program)\n",
		to_stdout ? "standard output" : path, s->fn_cnt,
		fmt_count(calls, st->call_cnt), fmt_ns(t, s->window_ns),
		fmt_count(noise, st->noise_cnt), fmt_count(none, st->no_stack_cnt),
		fmt_count(app, st->no_app_cnt));
	if (m->calls->lost_cnt)
		log_info("%s calls of that time were lost", fmt_count(t, m->calls->lost_cnt));
	if (st->variants_dropped_cnt)
		log_info("%s invocations of functions with too many variants were left out",
			 fmt_count(t, st->variants_dropped_cnt));
	if (s->left_out_cnt)
		log_info("%s episodes or functions over a limit were left out",
			 fmt_count(t, s->left_out_cnt));
}

/* out NULL: it is kept where each command looks for it. */
static int learn(struct cli *cli, struct sig_file *out, struct err *err)
{
	const struct learn_cmd_opts *o = cli->opts;
	const char *path = o->out_path;
	struct model *m = model_new(&(struct model_opts){.no_res_ticks = 1});
	struct learn_stats st;
	struct sigs *s;
	int code = read_model(o, m, err);

	if (code == 0) {
		s = learn_model(m, &cli->arena, &st);
		code = check_calls(m, s, &st, err);
	}
	if (code == 0)
		code = out ? sig_file_write(out, s, err)
			   : sig_store_keep(s, &cli->arena, &path, err);
	if (code == 0)
		say_learnt(path, m, s, &st);
	model_free(m);
	return code;
}

/* ---- the other ways */

static int merge(struct cli *cli, char **argv, struct sig_file *out, struct err *err)
{
	struct sigs *all = NULL, *s;
	int cnt = 0;

	for (; argv[cnt]; cnt++) {
		int code = sig_file_read(argv[cnt], &cli->arena, &s, err);

		if (code < 0)
			return code;
		all = all ? sig_merge(all, s, &cli->arena) : s;
	}
	if (sig_file_write(out, all, err) < 0)
		return err->code;
	if (!out->to_stdout)
		printf("%s: %u functions of %d files\n", out->path, all->fn_cnt, cnt);
	return 0;
}

static int show(struct cli *cli, int argc, char **argv, struct err *err)
{
	const struct learn_cmd_opts *o = cli->opts;
	CLEANUP(buf_release) struct buf out = {0};
	struct sig_view v = {.name = o->show_path, .wanted = (const char *const *)argv,
			     .wanted_cnt = (size_t)argc};
	struct pen pen;
	struct sigs *s;
	int code = sig_file_read(o->show_path, &cli->arena, &s, err);

	if (code < 0)
		return code;
	v.sigs = s;
	if (o->output.json) {
		sig_json(&v, &out);
	} else {
		pen = output_pen(&o->output, &out, COLUMNS);
		sig_text(&v, &pen);
	}
	output_print(&o->output, &out);
	return 0;
}

static int write_one(struct cli *cli, char **argv, struct err *err)
{
	const struct learn_cmd_opts *o = cli->opts;
	CLEANUP(sig_file_close) struct sig_file out = {0};
	int code = o->out_path ? sig_file_open(&out, o->out_path, err) : sig_store_check(err);

	if (code < 0)
		return code;
	if (!o->out_path)
		return learn(cli, NULL, err);
	return o->merge ? merge(cli, argv, &out, err) : learn(cli, &out, err);
}

static int check(const struct learn_cmd_opts *o, int argc, struct err *err)
{
	bool watch = !select_is_empty(&o->select);

	if (o->show_path && (o->merge || watch || o->input.path || o->out_path))
		return err_usage(err, "--show stands alone");
	if (o->show_path)
		return 0;
	if (o->output.json)
		return err_usage(err, "--json goes with --show");
	if (o->merge && !o->out_path)
		return err_usage(err, "give the file to write: -o FILE (- is standard output)");
	if (o->merge && (watch || o->input.path))
		return err_usage(err, "--merge takes files of signatures only");
	if (o->merge)
		return argc ? 0 : err_usage(err, "give the files to merge");
	if (argc)
		return err_usage(err, "files of signatures go with --merge");
	return watching_check(&o->select, o->input.path, NULL, err);
}

static int learn_run(struct cli *cli, int argc, char **argv)
{
	const struct learn_cmd_opts *o = cli->opts;
	struct err err = {0};
	int code = check(o, argc, &err);

	if (code == 0 && o->show_path)
		code = show(cli, argc, argv, &err);
	else if (code == 0)
		code = write_one(cli, argv, &err);
	return code < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt learn_opt_table[] = {
	OPT_GROUP(select_opt_table, struct learn_cmd_opts, select),
	{.type = OPT_DURATION, .short_name = 'd', .long_name = "duration", .metavar = "TIME",
	 .help = "watch for so long", .def = "30s", .min = 10 * NS_PER_MS,
	 OPT_AT(struct learn_cmd_opts, window.duration_ns)},
	{.type = OPT_STRING, .short_name = 'i', .long_name = "input", .metavar = "FILE",
	 .help = "learn from a capture or trace whose calls have stacks",
	 OPT_AT(struct learn_cmd_opts, input.path)},
	{.type = OPT_STRING, .short_name = 'o', .long_name = "output", .metavar = "FILE",
	 .help = "write signatures to FILE, not where all commands look",
	 OPT_AT(struct learn_cmd_opts, out_path)},
	{.type = OPT_FLAG, .long_name = "merge", .help = "merge FILEs into one",
	 OPT_AT(struct learn_cmd_opts, merge)},
	{.type = OPT_STRING, .long_name = "show", .metavar = "FILE",
	 .help = "show the signatures in FILE, of functions that match NAME",
	 OPT_AT(struct learn_cmd_opts, show_path)},
	OPT_GROUP(names_opt_table, struct learn_cmd_opts, names),
	OPT_GROUP(json_opt_table, struct learn_cmd_opts, output),
	OPT_GROUP(color_opt_table, struct learn_cmd_opts, output),
	OPT_END,
};

const struct cmd cmd_learn = {
	.name = "learn",
	.help = "learn which system calls functions make",
	.args = "[NAME|FILE ...] [-- COMMAND ...]",
	.about = "Watches the system calls of a program with the stack of each, and writes\n"
		 "down for each function by which short runs of calls it is known. It is kept\n"
		 "by build id, where each command looks. Functions can then be named from\n"
		 "calls without stacks, and compared with what is usual. Do it on a\n"
		 "test machine, under any load that does what the program does: taking a\n"
		 "stack at each call costs much. No source and no debug information is\n"
		 "needed; functions are named as the program's symbols allow.",
	.examples = "  heldup learn -p 1234                     # thirty seconds of a process\n"
		    "  heldup learn -i trace.txt -o app.sig     # e.g. of strace -f -k -ttt -T\n"
		    "  heldup learn --merge a.sig b.sig -o app.sig\n"
		    "  heldup learn --show app.sig accept       # functions with that name",
	.json_schema = embed_learn_schema_json,
	.opts = learn_opt_table,
	.opts_size = sizeof(struct learn_cmd_opts),
	.max_args = 1024,
	.run = learn_run,
};
