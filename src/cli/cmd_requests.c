/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files of spans and says what requests are held up by: as text, as
 * JSON, as a page, and their critical paths in others' formats.
 */
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "cli/kept/request_table.h"
#include "cli/watch/follow_requests.h"
#include "cli/opts/cmd.h"
#include "cli/files/forest_file_read.h"
#include "cli/opts/request_opts.h"
#include "cli/opts/options.h"
#include "cli/opts/select_opts.h"
#include "cli/files/page_file.h"
#include "cli/files/path_file.h"
#include "cli/files/trace_files.h"
#include "trace/points.h"
#include "report/export/trace_export.h"
#include "report/lines/pen.h"
#include "report/forest/forest_out.h"
#include "report/requests/requests_out.h"
#include "requests/diff/changes.h"
#include "requests/diff/key_changes.h"
#include "requests/requests.h"
#include "requests/service_blame.h"
#include "serve/settings.h"
#include "spans/reading.h"

enum {
	COLUMNS = 110,
	FOUND_MAX = 64,		/* requests of one trace: its own, and those its messages began */
};

enum export_kind {
	EXPORT_FOLDED,
	EXPORT_CHROME,
	EXPORT_HTML,
	EXPORT_RECORD,		/* what was seen of running servers: path_file.h */
	EXPORT_OTLP,		/* all requests, from here on */
	EXPORT_JAEGER,
	EXPORT_CNT,
};

struct requests_cmd_opts {
	struct select_opts select;	/* running servers; else files */
	struct window_opts window;
	struct cost_opts cost;
	const char *type_re, *trace_id, *forest_path, *memory;
	struct path_list diff;
	double cv, slow_pct;
	int64_t min_cnt, top;
	struct key_list keys;
	struct fold_list fold;
	bool no_events, slowest;
	struct past_opts past;
	struct output_opts output;
	const char *exports[EXPORT_CNT];	/* that of the page is in output */
	const char *input_path;			/* one more file */
};

/* One set of requests; the tables are shared with the other of --diff. */
struct set {
	struct cli *cli;
	struct strtab *strings;
	struct points *points;
	struct requests *requests;
	struct edge_rank *rank;		/* both sets' */
	const struct requests_result *result;
	struct requests_input input;
	struct trace_id wanted;		/* --trace */
	struct trace *found[FOUND_MAX];	/* copies of its requests in the arena */
	uint32_t found_cnt;
	int64_t slowest_ns;		/* --slowest: found[0] takes so long */
	regex_t *type_re;		/* --type; NULL: all */
	struct trace_export *exported;	/* EXPORT_CNT of them; NULL: not this set */
	struct buf *record;		/* --record; NULL: not this set, or nothing */
};

/* ---- options */

static int check_input(const struct requests_cmd_opts *o, const char *file, struct err *err)
{
	if (o->exports[EXPORT_RECORD] && select_is_empty(&o->select))
		return err_usage(err, "--record keeps what is seen of running servers: choose some "
				 "with -p PID, -u UNIT, --port N or --comm RE");
	if (select_is_empty(&o->select)) {
		if (!file)
			return err_usage(err, "give files of spans, - for standard input, or "
					 "running servers: -p PID, -u UNIT, --port N, --comm RE");
	} else if (file) {
		return err_usage(err, "files or running servers, not both: leave out '%s'", file);
	} else if (o->diff.cnt || o->trace_id) {
		return err_usage(err, "--diff and --trace read files of spans, no running servers");
	} else if (select_check(&o->select, err) < 0) {
		return err->code;
	}
	return 0;
}

static int check_past(const struct requests_cmd_opts *o, const char *file, struct err *err)
{
	if (file || !select_is_empty(&o->select))
		return err_usage(err, "--since: of what heldup serve keeps, no files or servers");
	if (o->output.json || o->output.html_path)
		return err_usage(err, "--since prints text: heldup status --json has all of it");
	return 0;
}

static int check(const struct requests_cmd_opts *o, const char *file, uint64_t *ret_memory_bytes,
		 struct err *err)
{
	unsigned to_stdout = 0;
	regex_t re;
	char why[160];
	int code;

	if (check_input(o, file, err) < 0)
		return err->code;
	if (o->slowest && (o->trace_id || o->diff.cnt))
		return err_usage(err, "--slowest, --trace and --diff are three questions: ask one");
	if (o->trace_id && o->diff.cnt)
		return err_usage(err, "--trace and --diff are two questions: ask one");
	if (o->forest_path && !o->trace_id)
		return err_usage(err, "--forest shows the way of one request: give --trace ID too");
	for (unsigned k = 0; k < EXPORT_CNT; k++)
		to_stdout += o->exports[k] && strcmp(o->exports[k], "-") == 0;
	if (to_stdout + o->output.json > 1)
		return err_usage(err, "only one of --json, --html -, --folded -, --chrome -, "
				 "--record -, --otlp - and --jaeger - can go to standard output");
	*ret_memory_bytes = 0;
	if (o->memory && size_parse(o->memory, ret_memory_bytes) < 0)
		return err_usage(err, "--memory %s: give a size such as 64M or 1G", o->memory);
	if (!o->type_re)
		return 0;
	code = regcomp(&re, o->type_re, REG_EXTENDED | REG_NOSUB);
	if (code) {
		regerror(code, &re, why, sizeof(why));
		return err_usage(err, "'%s' is not a regular expression: %s", o->type_re, why);
	}
	regfree(&re);
	return 0;
}

/* ---- reading */

static int64_t took_ns(const struct trace *t)
{
	int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;

	for (uint32_t i = 0; i < t->span_cnt; i++) {
		begin_ns = t->spans[i].begin_ns < begin_ns ? t->spans[i].begin_ns : begin_ns;
		end_ns = t->spans[i].end_ns > end_ns ? t->spans[i].end_ns : end_ns;
	}
	return t->span_cnt ? end_ns - begin_ns : 0;
}

/* Is the trace added last of a type that --type asks for? */
static bool is_asked_for(const struct set *s)
{
	const char *type = s->type_re ? requests_last_type(s->requests) : NULL;

	return !s->type_re || (type && regexec(s->type_re, type, 0, NULL, 0) == 0);
}

/* A copy of the slowest one so far, in place of the one before. */
static void take_slowest(struct set *s, const struct trace *t)
{
	int64_t ns = took_ns(t);

	if (ns <= s->slowest_ns || !is_asked_for(s))
		return;
	s->slowest_ns = ns;
	s->found[0] = trace_copy_to(arena_alloc(&s->cli->arena, trace_copy_bytes(t)), t);
	s->found_cnt = 1;
}

static int take(void *ctx, const struct trace *t)
{
	struct set *s = ctx;
	const struct requests_cmd_opts *o = s->cli->opts;

	for (unsigned k = EXPORT_OTLP; s->exported && k < EXPORT_CNT; k++) {
		if (o->exports[k])
			trace_export_add(&s->exported[k], t);
	}

	if ((s->wanted.hi || s->wanted.lo) && trace_id_cmp(&s->wanted, &t->id) == 0 &&
	    s->found_cnt < FOUND_MAX)
		s->found[s->found_cnt++] =
			trace_copy_to(arena_alloc(&s->cli->arena, trace_copy_bytes(t)), t);
	requests_add(s->requests, t);
	if (o->slowest)
		take_slowest(s, t);
	return 0;
}

static int set_read(struct set *s, enum edge_rank_side side, char **paths, size_t cnt,
		    uint64_t memory_bytes, struct err *err)
{
	const struct requests_cmd_opts *o = s->cli->opts;
	const struct fold_opts fold = fold_list_opts(&o->fold);
	const struct trace_files_opts how = {.max_bytes = memory_bytes,
					     .no_events = o->no_events, .fold = &fold};
	const struct requests_opts opts = {.cv_min = o->cv, .slow_pct = o->slow_pct,
					   .min_cnt = (uint32_t)o->min_cnt,
					   .keys = o->keys.specs, .key_cnt = o->keys.cnt,
					   .rank = s->rank, .rank_side = side};
	const struct trace_files_sink sink = {.ctx = s, .trace = take};
	const struct follow_requests_opts live = {.cmd = s->cli->cmd, .cmd_opts = o,
						.select = &o->select,
						.duration_ns = o->window.duration_ns,
						.max_cost_ppm = o->cost.max_ppm,
						.record = s->record};
	int code;

	s->requests = requests_new(&opts, s->strings, s->points);
	if (!select_is_empty(&o->select))
		code = follow_requests_read(&live, s->strings, &sink, &s->cli->arena, &s->input,
					  err);
	else if (cnt && path_file_is(paths[0]))
		code = follow_requests_files(paths, cnt, s->strings, &sink, &s->cli->arena,
					     &s->input, err);
	else
		code = trace_files_read(paths, cnt, &how, s->strings, &sink, &s->cli->arena,
					&s->input, err);
	return code < 0 ? code : 0;
}

static void finish(struct set *base, struct set *set)
{
	if (base->requests) {
		requests_pair(base->requests, set->requests);
		base->result = requests_finish(base->requests, &base->cli->arena);
	}
	set->result = requests_finish(set->requests, &set->cli->arena);
}

/* ---- answering */

/* Which types the user wants to see; NULL: all.  *ret_any: there is one. */
static const bool *types_shown(const struct set *s, bool *ret_any)
{
	const struct requests_result *r = s->result;
	bool *shown = ARENA_ARRAY(&s->cli->arena, bool, r->type_cnt + 1);

	*ret_any = !s->type_re;
	if (!s->type_re)
		return NULL;
	for (uint32_t i = 0; i < r->type_cnt; i++) {
		const char *name = strtab_str(s->strings, r->types[i].name);

		shown[i] = regexec(s->type_re, name, 0, NULL, 0) == 0;
		*ret_any |= shown[i];
	}
	return shown;
}

static void print_view(const struct requests_cmd_opts *o, const struct requests_view *v)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct pen pen;

	if (o->output.json) {
		requests_json(v, &out, stdout);
	} else {
		pen = output_pen(&o->output, &out, COLUMNS);
		requests_text(v, &pen);
	}
	output_print(&o->output, &out);
}

static int export_all(struct trace_export *x, struct page_file *f, struct err *err)
{
	trace_export_end(x);
	if (x->left_cnt)
		log_warn("%s: without %" PRIu64 " requests: a file has at most %d MiB", f->path,
			 x->left_cnt, TRACE_EXPORT_MAX >> 20);
	return page_file_write(f, &x->out, err);
}

static int export_one(unsigned kind, const struct set *s, const struct requests_view *v,
		      struct page_file *f, struct err *err)
{
	CLEANUP(buf_release) struct buf out = {0};

	if (!page_file_wanted(f))
		return 0;
	if (kind >= EXPORT_OTLP)
		return export_all(&s->exported[kind], f, err);
	switch (kind) {
	case EXPORT_FOLDED:
		requests_folded(v, &out);
		break;
	case EXPORT_CHROME:
		requests_chrome(v, &out);
		break;
	case EXPORT_RECORD:
		return page_file_write(f, s->record, err);
	default:
		requests_html(v, &out);
	}
	return page_file_write(f, &out, err);
}

/* Picks, of several requests of one trace, the first whose type is asked for, else the first. */
static int explain(const struct set *s, struct requests_view *v, struct err *err)
{
	const struct requests_cmd_opts *o = s->cli->opts;
	struct request_explain *x = ARENA_ARRAY(&s->cli->arena, struct request_explain, FOUND_MAX);

	if (!s->found_cnt)
		return err_set(err, -ENOENT, "no request '%s' among the %llu that were read",
			       o->trace_id, (unsigned long long)s->result->stats.trace_cnt);
	for (uint32_t i = 0; i < s->found_cnt; i++) {
		if (requests_explain(s->requests, s->result, s->found[i], &s->cli->arena,
				     &x[i]) < 0)
			continue;
		if (v->explain && (!v->type_shown || x[i].type == REQUEST_ALL ||
				   !v->type_shown[x[i].type]))
			continue;
		v->trace = s->found[i];
		v->explain = &x[i];
		if (!v->type_shown || (x[i].type != REQUEST_ALL && v->type_shown[x[i].type]))
			break;
	}
	v->trace_more_cnt = s->found_cnt - 1;
	return v->explain ? 0 : err_set(err, -EINVAL,
					"request '%s' has no path from its begin to its end",
					o->trace_id ? o->trace_id : "the slowest");
}

/* The way of the request through the trees of its type. */
static int through_forest(const struct set *s, struct requests_view *v, struct err *err)
{
	const struct requests_cmd_opts *o = s->cli->opts;
	struct arena *arena = &s->cli->arena;
	struct forest *f = ARENA_NEW(arena, struct forest);
	struct forest_walked *w = ARENA_NEW(arena, struct forest_walked);
	struct forest_view *fv = ARENA_NEW(arena, struct forest_view);
	int code = forest_file_read(o->forest_path, s->points, s->strings, arena, f, err);
	bool *shown;

	if (code == 0)
		code = forest_walked_make(f, v->trace, s->points, s->strings, arena, w);
	if (code < 0)
		return code;
	shown = ARENA_ARRAY(arena, bool, f->tree_cnt + 1);
	if (w->tree != FOREST_NONE)
		shown[w->tree] = true;
	*fv = (struct forest_view){.f = f, .points = s->points, .strings = s->strings,
				   .path = o->forest_path, .tree_shown = shown, .walked = w};
	v->forest = fv;
	return 0;
}

static int show(const struct set *s, const struct set *base, struct page_file *files,
		struct err *err)
{
	const struct requests_cmd_opts *o = s->cli->opts;
	struct requests_view v = {.r = s->result, .in = &s->input, .strings = s->strings,
				  .points = s->points, .arena = &s->cli->arena,
				  .top = (size_t)o->top,
				  .rank = edge_rank_finish(s->rank, &s->cli->arena)};
	bool any, to_stdout = false;
	int code = 0;

	v.blames = service_blames_make(v.rank, s->points, s->strings, v.arena);
	v.type_shown = types_shown(s, &any);
	if (!any)
		return err_set(err, -ENOENT, "no request type matches '%s'", o->type_re);
	if (base->result) {
		v.diff = requests_diff(base->result, s->result, v.arena);
		v.diff_keys = key_changes_make(base->requests, s->requests, v.diff, v.arena);
		v.base_in = &base->input;
	}
	if (o->trace_id || o->slowest)
		code = explain(s, &v, err);
	if (code == 0 && o->forest_path)
		code = through_forest(s, &v, err);
	for (unsigned k = 0; k < EXPORT_CNT; k++)
		to_stdout |= files[k].to_stdout;
	if (code == 0 && !to_stdout)
		print_view(o, &v);
	for (unsigned k = 0; k < EXPORT_CNT && code == 0; k++)
		code = export_one(k, s, &v, &files[k], err);
	return code;
}

static int nothing_read(const struct requests_input *in, struct err *err)
{
	uint64_t span_cnt = 0;

	for (size_t i = 0; i < in->file_cnt; i++)
		span_cnt += in->files[i].stats.span_cnt;
	if (!in->file_cnt || span_cnt || in->stopped)
		return err_set(err, -ENODATA, "no whole request was read");
	return err_set(err, -ENODATA, "%s: offset %" PRIu64 ": expected spans, found its end%s",
		       in->files[0].path, in->files[0].stats.plain_bytes,
		       in->file_cnt > 1 ? ", as in the other files" : "");
}

static int answer(struct cli *cli, char **paths, size_t cnt, uint64_t memory_bytes,
		  struct page_file *files, struct err *err)
{
	struct requests_cmd_opts *o = cli->opts;
	CLEANUP(strtab_release) struct strtab strings = {0};
	CLEANUP(points_release) struct points points = {0};
	struct edge_rank *rank = edge_rank_new(&points, &strings);
	struct set base = {.cli = cli, .strings = &strings, .points = &points, .rank = rank};
	struct set set = base;
	struct trace_export exported[EXPORT_CNT] = {
		[EXPORT_OTLP] = {.format = TRACE_EXPORT_OTLP, .strings = &strings},
		[EXPORT_JAEGER] = {.format = TRACE_EXPORT_JAEGER, .strings = &strings},
	};
	CLEANUP(buf_release) struct buf record = {0};
	regex_t re;
	int code = 0;

	set.exported = exported;
	set.record = o->exports[EXPORT_RECORD] ? &record : NULL;
	if (o->type_re && regcomp(&re, o->type_re, REG_EXTENDED | REG_NOSUB) == 0)
		set.type_re = &re;
	if (o->trace_id)
		set.wanted = id_trace(o->trace_id, strlen(o->trace_id));
	if (o->diff.cnt)
		code = set_read(&base, EDGE_RANK_GOOD, o->diff.items, o->diff.cnt, memory_bytes,
				err);
	if (code == 0)
		code = set_read(&set, EDGE_RANK_BAD, paths, cnt, memory_bytes, err);
	if (code == 0)
		finish(&base, &set);
	if (code == 0 && !set.result->stats.trace_cnt)
		code = nothing_read(&set.input, err);
	if (code == 0)
		code = show(&set, &base, files, err);
	requests_free(base.requests);
	requests_free(set.requests);
	for (unsigned k = 0; k < EXPORT_CNT; k++)
		buf_release(&exported[k].out);
	edge_rank_free(rank);
	if (set.type_re)
		regfree(&re);
	return code;
}

static bool looks(const void *opts)
{
	const struct requests_cmd_opts *o = opts;

	return o->past.since || !select_is_empty(&o->select);
}

static int requests_run(struct cli *cli, int argc, char **argv)
{
	struct requests_cmd_opts *o = cli->opts;
	struct page_file files[EXPORT_CNT];
	struct err err = {0};
	char **paths = ARENA_ARRAY(&cli->arena, char *, (size_t)argc + 1);
	uint64_t memory_bytes = 0;
	size_t cnt = 0;
	int code;

	if (o->input_path)
		paths[cnt++] = arena_strdup(&cli->arena, o->input_path);
	for (int i = 0; i < argc; i++)
		paths[cnt++] = argv[i];
	if (o->past.since) {
		code = check_past(o, cnt ? paths[0] : NULL, &err);
		if (code == 0)
			code = request_table_since(&o->past, &o->output, &err);
		return code < 0 ? cli_fail(cli, &err) : CLI_OK;
	}
	o->exports[EXPORT_HTML] = o->output.html_path;
	code = check(o, cnt ? paths[0] : NULL, &memory_bytes, &err);
	for (unsigned k = 0; k < EXPORT_CNT; k++)
		files[k] = (struct page_file){.fd = -1};
	for (unsigned k = 0; k < EXPORT_CNT && code == 0; k++)
		code = page_file_open(&files[k], o->exports[k], &err);
	if (code == 0)
		code = answer(cli, paths, cnt, memory_bytes, files, &err);
	for (unsigned k = 0; k < EXPORT_CNT; k++)
		page_file_close(&files[k]);
	return code < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt requests_opt_table[] = {
	OPT_GROUP(select_running_opt_table, struct requests_cmd_opts, select),
	OPT_GROUP(window_opt_table, struct requests_cmd_opts, window),
	{.type = OPT_CUSTOM, .long_name = "max-cost", .metavar = "PCT",
	 .help = "follow part of the time over this share of the CPU; 0: all",
	 .def = "1", .parse = cost_parse, OPT_AT(struct requests_cmd_opts, cost.max_ppm)},
	{.type = OPT_STRING, .long_name = "record", .metavar = "FILE",
	 .help = "keep what is seen of running servers, for -i",
	 OPT_AT(struct requests_cmd_opts, exports[EXPORT_RECORD])},
	{.type = OPT_STRING, .short_name = 'i', .long_name = "input", .metavar = "FILE",
	 .help = "read this file, as FILE does",
	 OPT_AT(struct requests_cmd_opts, input_path)},
	{.type = OPT_STRING, .long_name = "type", .metavar = "RE",
	 .help = "show only request types whose name matches",
	 OPT_AT(struct requests_cmd_opts, type_re)},
	{.type = OPT_STRING, .long_name = "since", .metavar = "TIME",
	 .help = "types that heldup serve saw since: 10m, 03:10",
	 OPT_AT(struct requests_cmd_opts, past.since)},
	{.type = OPT_STRING, .long_name = "state", .metavar = "DIR", .def = SETTINGS_STATE,
	 .help = "with --since: what heldup serve keeps",
	 OPT_AT(struct requests_cmd_opts, past.state)},
	{.type = OPT_STRING, .long_name = "trace", .metavar = "ID",
	 .help = "show why this request was slow, beside others of its path",
	 OPT_AT(struct requests_cmd_opts, trace_id)},
	{.type = OPT_FLAG, .long_name = "slowest",
	 .help = "the same of the slowest (of --type), with its threads",
	 OPT_AT(struct requests_cmd_opts, slowest)},
	{.type = OPT_STRING, .long_name = "forest", .metavar = "FILE",
	 .help = "with --trace: show its way through this forest",
	 OPT_AT(struct requests_cmd_opts, forest_path)},
	{.type = OPT_CUSTOM, .long_name = "diff", .metavar = "GOOD", .parse = path_parse,
	 .help = "compare with this good file (may be repeated)",
	 OPT_AT(struct requests_cmd_opts, diff)},
	{.type = OPT_CUSTOM, .long_name = "cv", .metavar = "X", .parse = cv_parse, .def = "0.1",
	 .help = "call paths variable over this coefficient of variation",
	 OPT_AT(struct requests_cmd_opts, cv)},
	{.type = OPT_CUSTOM, .long_name = "slow-percentile", .metavar = "P",
	 .parse = percentile_parse, .def = "95",
	 .help = "call paths slow whose p50 is over this percentile of others",
	 OPT_AT(struct requests_cmd_opts, slow_pct)},
	{.type = OPT_INT, .long_name = "min-requests", .metavar = "N", .min = 4, .max = 1000000,
	 .def = "20", .help = "leave out paths that fewer requests took",
	 OPT_AT(struct requests_cmd_opts, min_cnt)},
	{.type = OPT_CUSTOM, .long_name = "key", .metavar = "NAME", .parse = key_parse,
	 .help = "split paths by this attribute, or its ranges NAME:N,N",
	 OPT_AT(struct requests_cmd_opts, keys)},
	OPT_GROUP(fold_opt_table, struct requests_cmd_opts, fold),
	{.type = OPT_FLAG, .long_name = "no-events",
	 .help = "leave out events and log lines inside spans",
	 OPT_AT(struct requests_cmd_opts, no_events)},
	{.type = OPT_STRING, .long_name = "memory", .metavar = "SIZE",
	 .help = "use so much memory for spans (1G), then temporary files",
	 OPT_AT(struct requests_cmd_opts, memory)},
	{.type = OPT_INT, .long_name = "top", .metavar = "N", .min = 1, .max = 1000,
	 .help = "show N edges and paths (default 5)", OPT_AT(struct requests_cmd_opts, top)},
	OPT_GROUP(output_opt_table, struct requests_cmd_opts, output),
	{.type = OPT_STRING, .long_name = "folded", .metavar = "FILE",
	 .help = "write the critical paths as lines for flamegraph.pl",
	 OPT_AT(struct requests_cmd_opts, exports[EXPORT_FOLDED])},
	{.type = OPT_STRING, .long_name = "chrome", .metavar = "FILE",
	 .help = "write typical, fast and slow requests for Perfetto",
	 OPT_AT(struct requests_cmd_opts, exports[EXPORT_CHROME])},
	{.type = OPT_STRING, .long_name = "otlp", .metavar = "FILE",
	 .help = "write all requests as OTLP, lines of JSON",
	 OPT_AT(struct requests_cmd_opts, exports[EXPORT_OTLP])},
	{.type = OPT_STRING, .long_name = "jaeger", .metavar = "FILE",
	 .help = "write all requests as JSON for Jaeger's UI",
	 OPT_AT(struct requests_cmd_opts, exports[EXPORT_JAEGER])},
	OPT_END,
};

const struct cmd cmd_requests = {
	.name = "requests",
	.files_only = true,
	.looks = looks,
	.help = "show what holds requests up, live or in recorded traces",
	.args = "[FILE...]",
	.about = "Follows the requests of running servers through threads and processes, by what\n"
		 "the kernel sees and without reading what they send (-p, -u, --port, --comm); or\n"
		 "reads spans (OTLP, Jaeger, Zipkin, OSProfiler, X-Trace, tables; also packed),\n"
		 "groups requests by their critical path, and says between which two tracepoints\n"
		 "time and variance arise and which attributes explain it.  Several FILEs are one\n"
		 "set; - is standard input.  FILEs of --record from several hosts are joined.",
	.examples = "  heldup requests --port 80 -d 30s           # of a running server\n"
		    "  heldup requests web.paths db.paths         # of two hosts (--record)\n"
		    "  sudo heldup requests --since 10m           # of spans that serve takes\n"
		    "  heldup requests traces.json.gz             # what is held up, and where\n"
		    "  heldup requests day1.json day2.json --type GET\n"
		    "  heldup requests --diff good.json bad.json  # what changed\n"
		    "  heldup requests traces.json --trace 0008513adeefa797\n"
		    "  heldup requests traces.json --html page.html",
	.json_schema = embed_requests_schema_json,
	.opts = requests_opt_table,
	.opts_size = sizeof(struct requests_cmd_opts),
	.max_args = 4096,
	.run = requests_run,
};
