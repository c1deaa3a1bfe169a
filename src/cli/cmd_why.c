/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches, or reads a capture, then answers: source -> model -> waits ->
 * verdict -> report, and functions of a window of system calls beside it.  What
 * was seen until an early end (Ctrl-C, the process gone, a source that fails) is
 * still answered, and the report names the end.
 */
#include "cli/opts/cmd.h"
#include "cli/opts/file_rights.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/path_limit.h"
#include "cli/files/page_file.h"
#include "cli/files/sig_store.h"
#include "cli/kept/past.h"
#include "cli/watch/nameless.h"
#include "cli/opts/guess.h"
#include "cli/opts/names_opts.h"
#include "cli/opts/options.h"
#include "cli/opts/select_opts.h"
#include "cli/watch/explore_live.h"
#include "cli/watch/run.h"
#include "cli/watch/seen_stacks.h"
#include "cli/watch/watching.h"
#include "collect/proc/host.h"
#include "collect/source.h"
#include "functions/functions.h"
#include "model/calls/calls.h"
#include "model/model.h"
#include "report/answer.h"
#include "report/answer/answer_brief.h"
#include "report/explore/explore_out.h"
#include "store/capture.h"
#include "verdict/agreement.h"
#include "verdict/request_stacks.h"
#include "verdict/verdict.h"
#include "waits/waits.h"

struct why_opts {
	struct select_opts select;
	struct window_opts window;
	struct cost_opts cost;
	struct input_opts input;
	struct baseline_opts baseline;
	struct past_opts past;
	struct output_opts output;
	const char *capture_path;
	struct names_opts names;
	uint32_t fail_on; /* 1 << enum finding_class */
	bool brief;
	bool verbose;
	bool no_stacks;
	bool deep;
};

#define DEEP_NS (60 * NS_PER_SEC)
#define DEEP_PPM 20000


/* When the last of the chosen threads ended, 0 while one lives. */
static uint64_t targets_end_ns(const struct model *m)
{
	uint64_t end_ns = 0;

	for (size_t i = 0; i < m->thread_cnt; i++) {
		const struct thread *t = &m->threads[i];

		if (t->proc >= m->proc_cnt || !m->procs[t->proc].target)
			continue;
		if (!t->exited)
			return 0;
		end_ns = t->end_ns > end_ns ? t->end_ns : end_ns;
	}
	return end_ns;
}

static void say_early_end(const struct why_opts *o, const struct model *m)
{
	uint64_t ended_ns = targets_end_ns(m);
	uint64_t seen = m->end_ns > m->begin_ns ? m->end_ns - m->begin_ns : 0;
	char t[FMT_MAX];

	if (ended_ns > m->begin_ns)
		log_warn("what was watched ended after %s; this is what was seen until then",
			 fmt_ns(t, ended_ns - m->begin_ns));
	else if (stop_requested() && seen < o->window.duration_ns)
		log_warn("stopped after %s; this is what was seen until then", fmt_ns(t, seen));
}

/* A failure after the first tick still leaves something to answer from: *ret_late is then set. */
static int run_live(struct cli *cli, struct run *ret_run, int *ret_late, struct err *err)
{
	const struct why_opts *o = cli->opts;
	struct watching w = {.verb = "watching", .ctrl_c = "answer now",
			     .duration_ns = o->window.duration_ns};
	CLEANUP(path_limit_close) struct path_limit *writes =
		file_rights_writes(cli->cmd, o, NULL);
	struct watch_opts opts = {.select = &o->select, .duration_ns = o->window.duration_ns,
				  .stacks = !o->no_stacks, .max_cost_ppm = o->cost.max_ppm,
				  .no_runtime_names = o->names.no_runtimes,
				  .unfiltered = o->deep, /* the search loads programs, too */
				  .blocking = 1, .keep = file_rights_of_outputs(cli->cmd, o),
				  .writes = writes};
	struct capture *cap;
	struct model *m;
	int code = watching_capture(o->capture_path, &cap, err);

	if (code < 0)
		return code;
	names_opts_ask(&o->names, &o->select);
	m = model_new(&run_model);
	w.sinks[0] = model_sink(m);
	code = watching_live(&w, &opts, cap, err);
	capture_free(cap);
	if (code < 0 && !w.tick_cnt) {
		model_free(m);
		return code;
	}
	model_finish(m);
	if (code < 0)
		*ret_late = code;
	else
		say_early_end(o, m);
	*ret_run = run_of(m, &cli->arena);
	return 0;
}

static int page_write(struct page_file *f, const struct answer *a, struct err *err)
{
	CLEANUP(buf_release) struct buf out = {0};

	if (!page_file_wanted(f))
		return 0;
	answer_html(a, &out);
	return page_file_write(f, &out, err);
}

static void print_answer(const struct why_opts *o, const struct answer *a)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct text_opts text = {
		.colour = output_has_color(&o->output, stdout),
		.columns = (int)output_columns(100),
		.verbose = o->verbose,
	};

	if (o->brief) {
		answer_brief(a, &out);
	} else if (o->output.json) {
		answer_json(a, &out, stdout);
	} else {
		text.ascii = output_is_ascii();
		answer_text(a, &text, &out);
	}
	output_print(&o->output, &out);
}

/* NULL where no calls were recorded.  base may be NULL. */
static const struct functions_result *functions_of(const struct model *m,
						   const struct model *base,
						   const struct answer *a)
{
	struct functions_opts opts = {.good = base && base->calls->cnt ? base : NULL};

	if (!m->calls->end_ns)
		return NULL;
	agreement_tell(a->verdict, &opts, a->arena);
	opts.held = m->wait_cnt ? verdict_held(m, a->waits, a->arena) : NULL;
	return functions_analyse(m, sig_store_find(m, a->arena), &opts, a->arena);
}

/* The watch reported its own last; the answer was made since, and may have taken more. */
static void memory_tell(struct model *m)
{
	struct ev_self now = {0};

	host_self(&now);
	m->self.rss_max_bytes = now.rss_max_bytes;
}

/* "any" is what may hold it up: an undecided verdict too, for something does. */
static uint32_t classes_of(const char *name)
{
	uint32_t any = 0, one = 0;

	for (unsigned cls = 0; cls < FIND_CNT; cls++) {
		any |= cls == FIND_HEALTHY || cls == FIND_CLIENTS ? 0 : 1u << cls;
		one |= strcmp(finding_name(cls), name) == 0 ? 1u << cls : 0;
	}
	return strcmp(name, "any") == 0 ? any : one;
}

static int fail_on_parse(void *dst, const char *text, struct arena *arena, struct err *err)
{
	for (const char *at = text;;) {
		size_t len = strcspn(at, ",");
		const char *name = arena_strndup(arena, at, len);
		struct guess g = {.word = name};
		uint32_t classes = classes_of(name);

		for (unsigned cls = 0; cls < FIND_CNT; cls++)
			guess_try(&g, finding_name(cls));
		if (!classes && g.best)
			return err_usage(err, "'%s' is no class of verdict (did you mean %s?)",
					 name, g.best);
		if (!classes)
			return err_usage(err, "'%s' is neither 'any' nor a class that --json "
					      "gives as .verdict.class", name);
		*(uint32_t *)dst |= classes;
		if (!at[len])
			return 0;
		at += len + 1;
	}
}

struct sources {
	struct run run, base;	/* answered from, and compared with, if anything */
	struct cut_time asked;
	struct past past;
	int late;
};

static void sources_release(struct sources *s)
{
	run_release(&s->run);
	run_release(&s->base);
	past_release(&s->past);
}

/* The time before is what a part of a capture is compared with. */
static int run_part(struct cli *cli, const char *path, struct sources *s, struct err *err)
{
	const struct why_opts *o = cli->opts;
	int code = run_file(path, &s->asked, &cli->arena, &s->run, err);

	if (code < 0 || o->baseline.path || !past_is_long_before(&s->run))
		return code;
	return run_file(path, &(struct cut_time){.until_ns = s->run.span.from_ns}, &cli->arena,
			&s->base, err);
}

/* From here on it only reads files. */
static int run_past(struct cli *cli, struct sources *s, struct err *err)
{
	const struct why_opts *o = cli->opts;
	char *paths[] = {s->past.path, (char *)(uintptr_t)o->output.html_path, NULL};
	int code = past_find(&o->past, &o->select, &s->asked, &cli->arena, &s->past, err);

	if (code == 0)
		code = file_rights_drop(paths, paths + 2, err);
	return code < 0 ? code : run_part(cli, s->past.path, s, err);
}

static int sources_make(struct cli *cli, struct sources *s, struct err *err)
{
	const struct why_opts *o = cli->opts;
	int code = past_time(&o->past, &s->asked, err);

	if (code < 0)
		return code;
	/* the baseline first: a file that cannot be read costs no watching */
	if (o->baseline.path)
		code = run_file(o->baseline.path, NULL, &cli->arena, &s->base, err);
	if (code < 0)
		return err_prefix(err, "baseline");
	if (o->input.path)
		return run_part(cli, o->input.path, s, err);
	return past_is_wanted(&o->past) ? run_past(cli, s, err)
					: run_live(cli, &s->run, &s->late, err);
}

/* The functions that tracepoints lead to: the one found, its callee, its callers. */
static size_t explored_names(const struct explore_live *l, const char *ret[8])
{
	const struct explore_result *r = &l->result;
	const uint32_t fns[] = {r->top, r->inner, r->callee, r->callers[0], r->callers[1]};
	size_t cnt = 0;

	for (size_t i = 0; i < sizeof(fns) / sizeof(*fns) && r->top < l->space.graph.fn_cnt; i++)
		if (fns[i] < l->space.graph.fn_cnt)
			ret[cnt++] = l->space.graph.fns[fns[i]].name;
	return cnt;
}

/* --deep: the answer is to say why there is nothing, where there is nothing. */
static void deep_look(struct cli *cli, const struct run *run, struct verdict *v,
		      struct explore_live *l, struct answer *a)
{
	const struct why_opts *o = cli->opts;
	const struct explore_live_opts opts = {
		.cmd = cli->cmd, .cmd_opts = o, .select = &o->select, .duration_ns = DEEP_NS,
		.max_cost_ppm = DEEP_PPM, .seen = run->model, .progress = isatty(STDERR_FILENO)};
	struct explore_view *view = ARENA_NEW(&cli->arena, struct explore_view);
	const char *names[8];
	struct err err = {0};

	if (explore_live(&opts, &cli->arena, l, &err) < 0) {
		a->explore_problem = arena_strdup(&cli->arena, err.msg);
		return;
	}
	explore_live_view(l, DEEP_PPM, &cli->arena, view);
	a->explore = view;
	a->explored = agreement_explored(v, names, explored_names(l, names), &cli->arena);
}

static int why_answer(struct cli *cli, struct page_file *page, struct err *err)
{
	const struct why_opts *o = cli->opts;
	CLEANUP(sources_release) struct sources s = {0};
	CLEANUP(explore_live_release) struct explore_live deep = {0};
	const struct run *run = &s.run, *base = &s.base;
	struct verdict *v;
	struct answer a;
	int code = sources_make(cli, &s, err);

	if (code < 0)
		return code;
	v = verdict_make(run->model, run->waits, base->model, base->waits, &cli->arena);
	a = (struct answer){.model = run->model, .waits = run->waits, .verdict = v,
			    .arena = &cli->arena};
	a.when = past_say(run, &s.asked, &s.past, v, &cli->arena);
	a.functions = functions_of(run->model, base->model, &a);
	if (a.functions)
		a.agreement = agreement_make(v, a.functions, &cli->arena);
	if (run->model->stack_sum_cnt && page_file_wanted(page)) {
		a.stacks = stacks_seen(run->model, run->waits, false, &cli->arena);
		a.idle_stacks = stacks_seen_idle(run->model, run->waits, &cli->arena);
	}
	if (!run->span.until_ns && !o->input.path) {
		memory_tell(run->model);
		nameless_packages(v, &cli->arena);
	}
	if (o->deep && s.late == 0 && !stop_requested())
		deep_look(cli, run, v, &deep, &a);
	if (!page->to_stdout)
		print_answer(o, &a);
	if (s.late < 0)
		return err_prefix(err, "the watching ended early, the answer covers what was seen");
	code = page_write(page, &a, err);
	if (code == 0 && o->fail_on & 1u << v->findings[0].cls)
		code = CLI_FOUND;
	return code;
}

static int check(const struct why_opts *o, struct err *err)
{
	if (o->deep && (o->input.path || past_is_wanted(&o->past) || o->no_stacks ||
			o->select.command))
		return err_usage(err, "--deep searches in servers that run, by their stacks: "
				      "leave -i, --since, --no-stacks and -- COMMAND out");
	if (!past_is_wanted(&o->past) || o->input.path)
		return watching_check(&o->select, o->input.path, o->capture_path, err);
	return o->capture_path ? err_usage(err, "-o keeps what is watched, and --since watches "
						"nothing") : 0;
}

static int why_run(struct cli *cli, int argc, char **argv)
{
	struct why_opts *o = cli->opts;
	struct err err = {0};

	if (o->brief && !o->output.json) {
		err_usage(&err, "--brief is a form of the JSON: give --json too");
		return cli_fail(cli, &err);
	}
	if (select_words(&o->select, argc, argv, &cli->arena, &err) < 0 || check(o, &err) < 0)
		return cli_fail(cli, &err);
	return page_file_run(cli, o->output.html_path, why_answer);
}

static const struct opt why_opt_table[] = {
	OPT_GROUP(select_opt_table, struct why_opts, select),
	OPT_GROUP(window_opt_table, struct why_opts, window),
	OPT_GROUP(cost_opt_table, struct why_opts, cost),
	OPT_GROUP(input_opt_table, struct why_opts, input),
	OPT_GROUP(jit_opt_table, struct why_opts, names),
	OPT_GROUP(baseline_opt_table, struct why_opts, baseline),
	OPT_GROUP(past_opt_table, struct why_opts, past),
	{.type = OPT_CUSTOM, .long_name = "fail-on", .metavar = "CLASS[,CLASS]",
	 .help = "exit with 4 on one of these; any: all but healthy, clients",
	 .parse = fail_on_parse, OPT_AT(struct why_opts, fail_on)},
	OPT_GROUP(output_opt_table, struct why_opts, output),
	{.type = OPT_STRING, .short_name = 'o', .long_name = "output", .metavar = "FILE",
	 .help = "keep a capture of the watch, too",
	 OPT_AT(struct why_opts, capture_path)},
	{.type = OPT_FLAG, .long_name = "no-stacks", .help = "take no stacks, so name no functions",
	 OPT_AT(struct why_opts, no_stacks)},
	{.type = OPT_FLAG, .long_name = "deep",
	 .help = "then find the function by tracepoints: heldup explore",
	 OPT_AT(struct why_opts, deep)},
	{.type = OPT_FLAG, .long_name = "brief",
	 .help = "with --json: print one line under 8 kB, for alerts",
	 OPT_AT(struct why_opts, brief)},
	{.type = OPT_FLAG, .short_name = 'v', .long_name = "verbose",
	 .help = "print the tables behind the verdict, too", OPT_AT(struct why_opts, verbose)},
	OPT_END,
};

const struct cmd cmd_why = {
	.name = "why",
	.help = "name what holds a process up: resource, threads and chain",
	.args = "[PID | NAME | -- COMMAND ...]",
	.about = "Watches for a while, then names the resource that holds the processes up, the\n"
		 "chain of threads from the client-facing one to the end of the waiting, what\n"
		 "supports that, what would refute it and what was not seen.  Needs no baseline.",
	.examples = "  heldup why 1234                 # watch a process for ten seconds\n"
		    "  heldup why redis -d 2s          # all of that name, for two\n"
		    "  heldup why --port 3306 -d 2s    # whoever listens there\n"
		    "  heldup why -i slow.cap -v       # from a capture, with the tables\n"
		    "  heldup why -i day.cap --since 03:10 --until 03:12   # from a part of it\n"
		    "  heldup why -u nginx --since -5min   # what heldup serve saw of it",
	.json_schema = embed_why_schema_json,
	.brief_schema = embed_why_brief_schema_json,
	.opts = why_opt_table,
	.opts_size = sizeof(struct why_opts),
	.max_args = SELECT_WORDS_MAX,
	.run = why_run,
};
