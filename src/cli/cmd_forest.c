/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows what a search for the cause of slow requests tried, why, and what it
 * showed: as text, as JSON, as a page; all of it, or the way of one request.
 */
#include <errno.h>
#include <regex.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "cli/opts/cmd.h"
#include "cli/files/forest_file_read.h"
#include "cli/opts/options.h"
#include "cli/opts/request_opts.h"
#include "cli/files/packed_file.h"
#include "cli/files/page_file.h"
#include "cli/files/trace_files.h"
#include "trace/points.h"
#include "report/forest/forest_out.h"
#include "report/lines/pen.h"
#include "requests/graph/critical.h"
#include "requests/forest/forest_file.h"
#include "requests/graph/graph.h"
#include "spans/reading.h"

enum { COLUMNS = 130, FILES_MAX = 256 };

struct forest_cmd_opts {
	const char *type_re, *trace, *traces_path, *save_path;
	int64_t top;
	struct fold_list fold;
	struct output_opts output;
};

struct session {
	struct cli *cli;
	struct strtab strings;
	struct points points;
	struct forest forest;
	struct trace_id wanted;
	struct trace *found;	/* a copy of it in the arena */
};

static void session_release(struct session *s)
{
	points_release(&s->points);
	strtab_release(&s->strings);
}

/* ---- reading */

static int read_all(struct session *s, char **paths, size_t cnt, struct err *err)
{
	for (size_t i = 0; i < cnt; i++) {
		struct forest next, all;
		int code = forest_file_read(paths[i], &s->points, &s->strings, &s->cli->arena,
					    &next, err);

		if (code < 0)
			return code;
		if (i) {
			forest_merge(&s->forest, &next, &s->points, &s->strings, &s->cli->arena,
				     &all);
			next = all;
		}
		s->forest = next;
	}
	return 0;
}

static int save(const struct session *s, const char *path, struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = {0};

	forest_write(&s->forest, &s->points, &s->strings, &bytes);
	return packed_file_write(path, FOREST_FILE_WHAT, &bytes, err);
}

/* ---- one request */

static int take(void *ctx, const struct trace *t)
{
	struct session *s = ctx;
	struct arena *arena = &s->cli->arena;

	if (s->found || trace_id_cmp(&s->wanted, &t->id) != 0)
		return 0;
	s->found = trace_copy_to(arena_alloc(arena, trace_copy_bytes(t)), t);
	return 0;
}

/* FILE:ID, or the ID alone and the file with -i. */
static int find_trace(struct session *s, struct err *err)
{
	const struct forest_cmd_opts *o = s->cli->opts;
	const struct trace_files_sink sink = {.ctx = s, .trace = take};
	const struct fold_opts fold = fold_list_opts(&o->fold);
	const struct trace_files_opts how = {.fold = &fold};
	struct requests_input input;
	const char *colon = strrchr(o->trace, ':'), *id = o->trace;
	char *path;
	int code;

	if (o->traces_path) {
		path = arena_strdup(&s->cli->arena, o->traces_path);
	} else if (colon && colon > o->trace) {
		path = arena_strndup(&s->cli->arena, o->trace, (size_t)(colon - o->trace));
		id = colon + 1;
	} else {
		return err_usage(err, "--trace %s: give the file it is in, as FILE:ID or with -i",
				 o->trace);
	}
	s->wanted = id_trace(id, strlen(id));
	code = trace_files_read(&path, 1, &how, &s->strings, &sink, &s->cli->arena, &input, err);
	if (code == 0)
		trace_files_warn(&input);
	if (code == 0 && !s->found)
		code = err_set(err, -ENOENT, "no request '%s' in %s", id, path);
	return code;
}

static int walk(struct session *s, struct forest_walked *ret, struct err *err)
{
	int code = forest_walked_make(&s->forest, s->found, &s->points, &s->strings,
				      &s->cli->arena, ret);

	if (code < 0)
		return err_set(err, code, "the request has no path from its begin to its end");
	return 0;
}

/* ---- showing */

/* By what the tree is called here, or by what heldup requests calls the type. */
static bool is_chosen(const struct session *s, const struct forest_view *v, uint32_t tree,
		      const regex_t *re)
{
	CLEANUP(buf_release) struct buf name = {0}, type = {0};
	uint32_t point = s->forest.trees[tree].point;

	forest_tree_words(v, tree, &name);
	if (point < s->points.items.cnt) {
		const struct point *p = &s->points.items.items[point];

		buf_printf(&type, "%s: %s", strtab_str(&s->strings, p->service),
			   strtab_str(&s->strings, p->name));
	}
	return regexec(re, buf_str(&name), 0, NULL, 0) == 0 ||
	       regexec(re, buf_str(&type), 0, NULL, 0) == 0;
}

/* Which trees the user wants to see; NULL: all. */
static int choose(const struct session *s, const struct forest_view *v, const bool **ret_shown,
		  struct err *err)
{
	const struct forest_cmd_opts *o = s->cli->opts;
	bool *shown = ARENA_ARRAY(&s->cli->arena, bool, s->forest.tree_cnt + 1), any = false;
	regex_t re;
	char why[160];
	int code;

	*ret_shown = NULL;
	if (!o->type_re)
		return 0;
	code = regcomp(&re, o->type_re, REG_EXTENDED | REG_NOSUB);
	if (code) {
		regerror(code, &re, why, sizeof(why));
		return err_usage(err, "'%s' is not a regular expression: %s", o->type_re, why);
	}
	for (uint32_t i = 0; i < s->forest.tree_cnt; i++) {
		shown[i] = is_chosen(s, v, i, &re);
		any |= shown[i];
	}
	regfree(&re);
	*ret_shown = shown;
	return any ? 0 : err_set(err, -ENOENT, "no request type matches '%s'", o->type_re);
}

static void print_view(const struct forest_cmd_opts *o, const struct forest_view *v)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct pen pen;

	if (o->output.json) {
		forest_json(v, &out, stdout);
	} else {
		pen = output_pen(&o->output, &out, COLUMNS);
		forest_text(v, &pen);
	}
	output_print(&o->output, &out);
}

static int page_write_view(struct page_file *f, const struct forest_view *v, struct err *err)
{
	CLEANUP(buf_release) struct buf out = {0};

	if (!page_file_wanted(f))
		return 0;
	forest_html(v, &out);
	return page_file_write(f, &out, err);
}

static int answer(struct session *s, char **paths, size_t cnt, struct page_file *page,
		  struct err *err)
{
	const struct forest_cmd_opts *o = s->cli->opts;
	struct forest_walked walked;
	struct forest_view v = {.f = &s->forest, .points = &s->points, .strings = &s->strings,
				.path = paths[0], .top = (size_t)o->top};
	int code = read_all(s, paths, cnt, err);

	if (code == 0 && o->save_path)
		code = save(s, o->save_path, err);
	if (code == 0)
		code = choose(s, &v, &v.tree_shown, err);
	if (code == 0 && o->trace)
		code = find_trace(s, err);
	if (code == 0 && o->trace)
		code = walk(s, &walked, err);
	if (code < 0)
		return code;
	v.walked = o->trace ? &walked : NULL;
	if (!page->to_stdout && !(o->save_path && strcmp(o->save_path, "-") == 0))
		print_view(o, &v);
	return page_write_view(page, &v, err);
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static int check(const struct forest_cmd_opts *o, int argc, struct err *err)
{
	if (!argc)
		return err_usage(err, "give the file that heldup replay --forest wrote");
	if (o->output.json + is_stdout(o->output.html_path) + is_stdout(o->save_path) > 1)
		return err_usage(err, "only one of --json, --html - and --save - can go to "
				 "standard output");
	return 0;
}

static int forest_run(struct cli *cli, int argc, char **argv)
{
	const struct forest_cmd_opts *o = cli->opts;
	CLEANUP(session_release) struct session s = {.cli = cli};
	struct page_file page = {.fd = -1};
	struct err err = {0};
	int code = check(o, argc, &err);

	if (code == 0)
		code = page_file_open(&page, o->output.html_path, &err);
	if (code == 0)
		code = answer(&s, argv, (size_t)argc, &page, &err);
	page_file_close(&page);
	return code < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt forest_opt_table[] = {
	{.type = OPT_STRING, .long_name = "type", .metavar = "RE",
	 .help = "show only request types whose name matches",
	 OPT_AT(struct forest_cmd_opts, type_re)},
	{.type = OPT_STRING, .long_name = "trace", .metavar = "FILE:ID",
	 .help = "show how this request goes down its tree (FILE: spans)",
	 OPT_AT(struct forest_cmd_opts, trace)},
	{.type = OPT_STRING, .short_name = 'i', .long_name = "input", .metavar = "FILE",
	 .help = "read the request of --trace from this file of spans",
	 OPT_AT(struct forest_cmd_opts, traces_path)},
	{.type = OPT_STRING, .long_name = "save", .metavar = "FILE",
	 .help = "merge all FILEs into one forest",
	 OPT_AT(struct forest_cmd_opts, save_path)},
	{.type = OPT_INT, .long_name = "top", .metavar = "N", .min = 1, .max = 100000,
	 .help = "show N rows of each table", .def = "12",
	 OPT_AT(struct forest_cmd_opts, top)},
	OPT_GROUP(fold_opt_table, struct forest_cmd_opts, fold),
	OPT_GROUP(output_opt_table, struct forest_cmd_opts, output),
	OPT_END,
};

const struct cmd cmd_forest = {
	.name = "forest",
	.files_only = true,
	.help = "show what a search through tracepoints tried and found",
	.args = "FILE...",
	.about = "Shows the hypothesis forest that `heldup replay --forest FILE` keeps: for each\n"
		 "request type a tree of the tracepoints that were tried, each with the\n"
		 "requests that have it on their path and those that do not, how long these\n"
		 "take and where, and every decision with the numbers that moved it.\n"
		 "\n"
		 "Several FILEs are put together: the same hypothesis of each is one.",
	.examples = "  heldup forest hotel.forest\n"
		    "  heldup forest hotel.forest --html forest.html   # to open and walk\n"
		    "  heldup forest hotel.forest --trace traces.json.gz:027574aec1767cbd\n"
		    "  heldup forest monday.forest tuesday.forest --save both.forest",
	.json_schema = embed_forest_schema_json,
	.opts = forest_opt_table,
	.opts_size = sizeof(struct forest_cmd_opts),
	.max_args = FILES_MAX,
	.run = forest_run,
};
