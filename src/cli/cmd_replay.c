/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays recorded requests to the control logic, which sees only what it
 * switched on, and tells what that took and found, beside simpler rules.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/stop.h"
#include "cli/opts/cmd.h"
#include "cli/files/file_kind.h"
#include "cli/opts/inject_opts.h"
#include "cli/opts/request_opts.h"
#include "cli/opts/options.h"
#include "cli/files/known_space.h"
#include "cli/files/packed_file.h"
#include "cli/files/trace_files.h"
#include "report/lines/pen.h"
#include "report/forest/replay_out.h"
#include "requests/forest/forest_file.h"
#include "requests/replay/replay.h"
#include "requests/forest/space.h"
#include "requests/forest/space_file.h"

enum {
	COLUMNS = 120,
	/* All traces are held in memory: about a gigabyte with their attributes. */
	SPANS_MAX = 8 << 20,
	/* a limit for one request: it is taken apart for each hypothesis, in each round */
	TRACE_SPANS_MAX = 8192,
};

struct inject_list {
	const char *items[INJECT_MAX_CNT];
	uint32_t cnt;
};

struct replay_cmd_opts {
	struct opt_list strategies;
	struct inject_list inject;
	const char *learn_path, *space_path, *forest_path, *earlier_path;
	int64_t rounds, batch, seed, budget;
	bool whole_spans;
	struct key_list keys;
	struct fold_list fold;
	double cv, slow_pct;
	struct output_opts output;
};

/* ---- the traces */

struct kept {			/* owned by the arena */
	struct arena *arena;
	VEC(const struct trace *) traces;
	uint64_t span_cnt;
	uint64_t refused_cnt;	/* traces over SPANS_MAX */
	uint64_t big_cnt;	/* traces over TRACE_SPANS_MAX */
	bool stopped;		/* Ctrl-C: a part of what there is */
};

static int keep_trace(void *ctx, const struct trace *t)
{
	struct kept *k = ctx;
	struct trace *copy;

	if (t->span_cnt > TRACE_SPANS_MAX) {
		k->big_cnt++;
		return 0;
	}
	if (k->span_cnt + t->span_cnt > SPANS_MAX) {
		k->refused_cnt++;
		return 0;
	}
	k->span_cnt += t->span_cnt;
	copy = trace_copy_to(arena_alloc(k->arena, trace_copy_bytes(t)), t);
	vec_push(&k->traces, copy);
	return 0;
}

static void kept_release(struct kept *k)
{
	vec_release(&k->traces);
}

static int read_traces(struct cli *cli, char **paths, size_t cnt, struct strtab *strings,
		       struct kept *k, struct err *err)
{
	const struct trace_files_sink sink = {.ctx = k, .trace = keep_trace};
	const struct replay_cmd_opts *o = cli->opts;
	const struct fold_opts fold = fold_list_opts(&o->fold);
	const struct trace_files_opts opts = {.fold = &fold};
	struct requests_input input;
	char t[FMT_MAX];
	int code;

	k->arena = &cli->arena;
	code = trace_files_read(paths, cnt, &opts, strings, &sink, &cli->arena, &input, err);
	if (code < 0)
		return code;
	trace_files_warn(&input);
	k->stopped |= input.stopped;
	if (k->refused_cnt)
		log_warn("over the limit of %u spans in memory, left out: %s requests", SPANS_MAX,
			 fmt_count(t, k->refused_cnt));
	if (k->big_cnt)
		log_warn("of over %u spans, left out: %s request%s", TRACE_SPANS_MAX,
			 fmt_count(t, k->big_cnt), k->big_cnt == 1 ? "" : "s");
	if (!k->traces.cnt && k->big_cnt)
		return err_set(err, -E2BIG, "%s: no request in it has %u spans or fewer", paths[0],
			       TRACE_SPANS_MAX);
	if (!k->traces.cnt)
		return err_set(err, -ENODATA, "%s: no requests in it", paths[0]);
	return 0;
}

/* ---- who learns from what */

struct setup {
	struct strtab strings;
	struct points points;
	struct kept live, learn;
	struct injection items[INJECT_MAX_CNT];
	struct inject_plan plan;
	struct replay_input input;
	struct space *space;	/* --space; NULL: not asked for */
	struct forest *earlier;	/* --earlier */
	bool known;		/* the space was there already */
	bool split;
};

static void setup_release(struct setup *s)
{
	kept_release(&s->live);
	kept_release(&s->learn);
	space_free(s->space);
	points_release(&s->points);
	strtab_release(&s->strings);
}

static double mean_ns(const struct trace *const *traces, size_t cnt)
{
	double sum = 0;

	for (size_t i = 0; i < cnt; i++) {
		int64_t longest = 0;

		for (uint32_t k = 0; k < traces[i]->span_cnt; k++) {
			const struct span *s = &traces[i]->spans[k];

			if (s->end_ns > s->begin_ns && s->end_ns - s->begin_ns > longest)
				longest = s->end_ns - s->begin_ns;
		}
		sum += (double)longest;
	}
	return cnt ? sum / (double)cnt : 0;
}

/* Half of the requests, drawn by id, are learnt from: the order of a file may mean something. */
static void split_halves(struct setup *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->live.traces.cnt; i++) {
		const struct trace *t = s->live.traces.items[i];

		if (hash_pair(t->id.hi, t->id.lo) & 1)
			vec_push(&s->learn.traces, t);
		else
			s->live.traces.items[kept++] = t;
	}
	if (kept && s->learn.traces.cnt)
		s->live.traces.cnt = kept;
	s->split = true;
}

static void list_points(struct setup *s)
{
	for (size_t i = 0; i < s->input.learn_cnt; i++) {
		const struct trace *t = s->input.learn[i];

		for (uint32_t k = 0; k < t->span_cnt; k++)
			points_add(&s->points, &s->strings, t->spans[k].service, t->spans[k].name);
	}
}

static int make_plan(const struct replay_cmd_opts *o, struct setup *s, struct err *err)
{
	const struct inject_names names = {
		.points = &s->points, .strings = &s->strings,
		.mean_ns = mean_ns(s->input.learn, s->input.learn_cnt)};

	for (uint32_t i = 0; i < o->inject.cnt; i++) {
		int code = inject_parse(&names, o->inject.items[i], &s->items[i], err);

		if (code < 0)
			return code;
	}
	s->plan = (struct inject_plan){s->items, o->inject.cnt, (uint64_t)o->seed};
	s->input.plan = o->inject.cnt ? &s->plan : NULL;
	return 0;
}

/* ---- what earlier runs left */

static int read_earlier(struct cli *cli, struct setup *s, const char *path, struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	int code = packed_file_read(path, &bytes, err);

	s->earlier = ARENA_NEW(&cli->arena, struct forest);
	if (code == 0)
		code = forest_read(bytes.data, bytes.len, &s->points, &s->strings, &cli->arena,
				   s->earlier, err);
	if (code < 0)
		file_kind_say(path, FILE_FOREST, err);
	return code < 0 ? err_prefix(err, "--earlier %s", path) : 0;
}

/* Some of the requests that a space was learnt from are in it: for who compares with them. */
static void take_samples(struct cli *cli, struct setup *s)
{
	struct space_view v;

	space_view(s->space, &cli->arena, &v);
	for (uint32_t i = 0; i < v.type_cnt; i++)
		for (uint32_t k = 0; k < v.types[i].sample_cnt; k++)
			vec_push(&s->learn.traces, &v.types[i].samples[k]);
}

/* Learns nothing that is known already. */
static void learn_space(const struct replay_cmd_opts *o, struct setup *s)
{
	s->input.space = s->space;
	if (!s->space || (s->known && !o->learn_path))
		return;
	for (size_t i = 0; i < s->input.learn_cnt; i++)
		space_add(s->space, s->input.learn[i]);
}

static int setup_make(struct cli *cli, char **paths, size_t cnt, struct setup *s, struct err *err)
{
	const struct replay_cmd_opts *o = cli->opts;
	int code = read_traces(cli, paths, cnt, &s->strings, &s->live, err);

	if (code == 0 && o->learn_path)
		code = read_traces(cli, (char *[]){(char *)o->learn_path, NULL}, 1, &s->strings,
				   &s->learn, err);
	if (code == 0 && o->space_path) {
		s->space = space_new(&s->points, &s->strings);
		code = known_space_read(o->space_path, s->space, &s->points, &s->strings,
					&s->known, err);
	}
	if (code == 0 && o->earlier_path)
		code = read_earlier(cli, s, o->earlier_path, err);
	if (code < 0)
		return code;
	if (s->known && !o->learn_path)
		take_samples(cli, s);
	else if (!o->learn_path && o->inject.cnt)
		split_halves(s);
	s->input = (struct replay_input){
		.live = s->live.traces.items, .live_cnt = s->live.traces.cnt,
		.learn = s->learn.traces.items, .learn_cnt = s->learn.traces.cnt,
		.points = &s->points, .strings = &s->strings};
	if (!s->input.learn_cnt) {
		s->input.learn = s->input.live;
		s->input.learn_cnt = s->input.live_cnt;
		s->split = false;
	}
	list_points(s);
	learn_space(o, s);
	return make_plan(o, s, err);
}

/* ---- the run */

static int chosen(const struct replay_cmd_opts *o, bool *ret_wanted, struct err *err)
{
	if (!o->strategies.cnt)
		memset(ret_wanted, true, REPLAY_STRATEGIES);
	for (size_t i = 0; i < o->strategies.cnt; i++) {
		const char *name = o->strategies.items[i];
		enum replay_strategy s;

		if (replay_strategy_parse(name, &s) < 0)
			return err_usage(err, "--strategy: there is no '%s', see -h", name);
		ret_wanted[s] = true;
	}
	return 0;
}

static void print_view(const struct replay_cmd_opts *o, const struct replay_view *v)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct pen pen;

	if (o->output.json) {
		replay_json(v, &out);
	} else {
		pen = output_pen(&o->output, &out, COLUMNS);
		replay_text(v, &pen);
	}
	output_print(&o->output, &out);
}

/* That of the first strategy that makes one: ours, if it was run. */
static int write_forest(const char *path, const struct replay_view *v, struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	size_t i = 0;

	while (i < v->result_cnt && !v->results[i].forest)
		i++;
	if (i == v->result_cnt) /* stopped before one that does */
		return err_set(err, -EINTR, "write '%s': stopped before there was a forest", path);
	forest_write(v->results[i].forest, v->points, v->strings, &bytes);
	return packed_file_write(path, FOREST_FILE_WHAT, &bytes, err);
}

#define SHOW_NS (200 * NS_PER_MS)	/* a person sees it move */

struct course {
	bool shown;		/* stderr is a terminal */
	bool stopped_before;	/* that Ctrl-C was for the reading: another ends us at once */
	uint64_t begin_ns, shown_ns;
};

static bool goes_on(void *ctx, enum replay_strategy strategy, uint32_t round)
{
	struct course *c = ctx;
	uint64_t now_ns = clock_mono_ns();

	if (c->shown && now_ns - c->begin_ns > SHOW_NS && now_ns - c->shown_ns > SHOW_NS) {
		c->shown_ns = now_ns;
		fprintf(stderr, "\r\033[Kreplaying: %s, round %u (Ctrl-C: answer now)",
			replay_strategy_name(strategy), round);
		fflush(stderr);
	}
	return c->stopped_before || !stop_requested();
}

static void run_wanted(struct replay *r, const bool *wanted, struct course *course,
		       struct arena *arena, struct replay_result *results, struct replay_view *v)
{
	v->stopped = course->stopped_before;
	for (unsigned i = 0; i < REPLAY_STRATEGIES; i++) {
		struct replay_result *res = &results[v->result_cnt];

		if (!wanted[i])
			continue;
		replay_run(r, (enum replay_strategy)i, arena, res);
		v->stopped |= res->stopped;
		/* what was not begun has nothing to show */
		v->result_cnt += !res->stopped || res->round_cnt;
	}
	if (course->shown_ns)
		fputs("\r\033[K", stderr);
}

/* Wrong at the end of a long run is late. */
static int check_outputs(const struct replay_cmd_opts *o, const bool *wanted, struct err *err)
{
	int code = 0;

	if (o->forest_path && !wanted[REPLAY_HEDGE] && !wanted[REPLAY_FLAT] &&
	    !wanted[REPLAY_HIERARCHICAL])
		return err_usage(err, "--forest: none of these strategies makes one");
	if (o->forest_path)
		code = packed_file_check(o->forest_path, FOREST_FILE_WHAT, err);
	/* one that is there is read at once */
	if (code == 0 && o->space_path && access(o->space_path, F_OK) < 0)
		code = packed_file_check(o->space_path, SPACE_FILE_WHAT, err);
	return code;
}

static int replay_all(struct cli *cli, char **paths, size_t cnt, struct err *err)
{
	const struct replay_cmd_opts *o = cli->opts;
	CLEANUP(setup_release) struct setup s = {0};
	struct course course = {.shown = isatty(STDERR_FILENO)};
	struct replay_opts opts = {.batch = (uint32_t)o->batch,
				   .rounds_max = (uint32_t)o->rounds,
				   .seed = (uint64_t)o->seed,
				   .goes_on = goes_on, .ctx = &course,
				   .control = {.budget = (uint32_t)o->budget, .cv_min = o->cv,
					       .slow_pct = o->slow_pct,
					       .apart = !o->whole_spans,
					       .keys = {o->keys.specs, o->keys.cnt}}};
	struct replay_result results[REPLAY_STRATEGIES];
	bool wanted[REPLAY_STRATEGIES] = {0};
	struct replay_view v = {.points = &s.points, .strings = &s.strings, .input = &s.input,
				.results = results};
	struct space_view space;
	struct replay *r;
	int code = chosen(o, wanted, err);

	if (code == 0)
		code = check_outputs(o, wanted, err);
	if (code == 0)
		code = setup_make(cli, paths, cnt, &s, err);
	if (code < 0)
		return code;
	opts.control.earlier = s.earlier;
	r = replay_new(&s.input, &opts);
	v.batch = replay_batch(r);
	v.apart = opts.control.apart;
	replay_points(r, &v.point_cnt, &v.always_cnt);
	course.stopped_before = s.live.stopped || s.learn.stopped;
	course.begin_ns = clock_mono_ns();
	run_wanted(r, wanted, &course, &cli->arena, results, &v);
	space_view(replay_space(r), &cli->arena, &space);
	v.space = &space;
	v.split = s.split;
	v.learnt_cnt = space.trace_cnt;
	v.mean_ns = mean_ns(s.input.learn, s.input.learn_cnt);
	print_view(o, &v);
	if (o->forest_path)
		code = write_forest(o->forest_path, &v, err);
	if (code == 0 && o->space_path && (!s.known || o->learn_path))
		code = known_space_write(o->space_path, s.space, &s.points, &s.strings, err);
	replay_free(r);
	return code;
}

static int replay_cmd_run(struct cli *cli, int argc, char **argv)
{
	struct err err = {0};
	int code = argc ? replay_all(cli, argv, (size_t)argc, &err)
			: err_usage(&err, "give the files of recorded requests");

	return code < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static int parse_inject(void *dst, const char *text, struct arena *arena, struct err *err)
{
	struct inject_list *list = dst;

	(void)arena;
	if (list->cnt == INJECT_MAX_CNT)
		return err_usage(err, "--inject: at most %d", INJECT_MAX_CNT);
	list->items[list->cnt++] = text;
	return 0;
}

static const struct opt replay_opt_table[] = {
	{.type = OPT_LIST, .long_name = "strategy", .metavar = "NAME[,NAME]",
	 .help = "run only this strategy (default: all)",
	 OPT_AT(struct replay_cmd_opts, strategies)},
	{.type = OPT_CUSTOM, .long_name = "inject", .metavar = "POINT:LAW",
	 .help = "slow half of the requests down there; learn from the rest",
	 .parse = parse_inject, OPT_AT(struct replay_cmd_opts, inject)},
	{.type = OPT_STRING, .long_name = "learn", .metavar = "FILE",
	 .help = "learn the usual from these requests",
	 OPT_AT(struct replay_cmd_opts, learn_path)},
	{.type = OPT_STRING, .long_name = "space", .metavar = "FILE",
	 .help = "keep what was learnt in FILE, and use it if it is there",
	 OPT_AT(struct replay_cmd_opts, space_path)},
	{.type = OPT_INT, .long_name = "batch", .metavar = "N",
	 .help = "set requests per round (default 100, else a 16th, >= 20)",
	 .min = 1, .max = 1000000, OPT_AT(struct replay_cmd_opts, batch)},
	{.type = OPT_INT, .long_name = "rounds", .metavar = "N", .help = "stop after N rounds",
	 .def = "50", .min = 1, .max = 10000, OPT_AT(struct replay_cmd_opts, rounds)},
	{.type = OPT_INT, .long_name = "budget", .metavar = "N",
	 .help = "enable at most N tracepoints in a round", .def = "8", .min = 1,
	 .max = 1000, OPT_AT(struct replay_cmd_opts, budget)},
	{.type = OPT_FLAG, .long_name = "whole-spans",
	 .help = "switch begin and end of a span together, as one",
	 OPT_AT(struct replay_cmd_opts, whole_spans)},
	{.type = OPT_CUSTOM, .long_name = "cv", .metavar = "X", .parse = cv_parse, .def = "0.1",
	 .help = "look into types with a larger coefficient of variation",
	 OPT_AT(struct replay_cmd_opts, cv)},
	{.type = OPT_CUSTOM, .long_name = "slow-percentile", .metavar = "P",
	 .parse = percentile_parse, .def = "95",
	 .help = "look into paths whose mean is over this percentile",
	 OPT_AT(struct replay_cmd_opts, slow_pct)},
	{.type = OPT_CUSTOM, .long_name = "key", .metavar = "NAME", .parse = key_parse,
	 .help = "split requests by this attribute, or its ranges NAME:N,N",
	 OPT_AT(struct replay_cmd_opts, keys)},
	{.type = OPT_INT, .long_name = "seed", .metavar = "N",
	 .help = "seed the order of requests and all random choices", .def = "1", .min = 0,
	 .max = INT64_MAX, OPT_AT(struct replay_cmd_opts, seed)},
	{.type = OPT_STRING, .long_name = "earlier", .metavar = "FILE",
	 .help = "look first at what this earlier forest found",
	 OPT_AT(struct replay_cmd_opts, earlier_path)},
	{.type = OPT_STRING, .long_name = "forest", .metavar = "FILE",
	 .help = "write what was tried and found, for heldup forest",
	 OPT_AT(struct replay_cmd_opts, forest_path)},
	OPT_GROUP(fold_opt_table, struct replay_cmd_opts, fold),
	OPT_GROUP(json_opt_table, struct replay_cmd_opts, output),
	OPT_GROUP(color_opt_table, struct replay_cmd_opts, output),
	OPT_END,
};

const struct cmd cmd_replay = {
	.name = "replay",
	.files_only = true,
	.help = "show how few tracepoints explain slow recorded requests",
	.args = "FILE ...",
	.about = "Plays recorded requests, in which every tracepoint was on, to the control\n"
		 "logic, which at first sees only those that are always on. It switches on\n"
		 "what it asks for, round by round, until it knows where the time or the\n"
		 "variance comes from. Told are the rounds, the share of the tracepoints it\n"
		 "needed, and what it found, beside other strategies on the same requests.\n"
		 "\n"
		 "With --inject the requests are slowed down first where you say, as real code\n"
		 "would have been: what waits for it comes later, what ran beside it does not.\n"
		 "POINT is 'SERVICE NAME', or NAME alone; LAW is uniform,TIME (0 to TIME),\n"
		 "constant,TIME, queue,TIME (for each in a queue whose length is a key) or\n"
		 "key,NAME,TIME and key,NAME=TEXT,TIME (by the value of a key). TIME is like\n"
		 "20ms, or 3x for three times the mean request. Then may follow ,exit (before\n"
		 "it ends instead of when it begins), ,share=0.3 (of the requests) and ,with=1\n"
		 "(one draw for all of that number).",
	.examples = "  heldup replay traces.json.gz\n"
		    "  heldup replay good.json --inject 'cart GetCart:uniform,50ms'\n"
		    "  heldup replay bad.json --learn good.json --strategy hedge",
	.json_schema = embed_replay_schema_json,
	.opts = replay_opt_table,
	.opts_size = sizeof(struct replay_cmd_opts),
	.max_args = 1024,
	.run = replay_cmd_run,
};
