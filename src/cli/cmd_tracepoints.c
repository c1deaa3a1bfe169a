/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What could be switched on in a process: the tracepoints that its authors put
 * into it, and the functions that its files export.  Lists only.
 */
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/opts/cmd.h"
#include "cli/opts/file_rights.h"
#include "cli/opts/options.h"
#include "cli/opts/per_process.h"
#include "cli/opts/select_opts.h"
#include "collect/proc/process_code.h"
#include "collect/proc/procfs.h"
#include "collect/target/target.h"
#include "reads/reads.h"
#include "report/lines/pen.h"
#include "symbols/names/demangle.h"
#include "symbols/files/image.h"
#include "symbols/names/symbols.h"
#include "symbols/names/usdt.h"

extern const char embed_tracepoints_schema_json[];

enum { ROWS_MAX = 1000000 };

struct tracepoints_opts {
	struct select_opts select;
	const char *match;
	bool functions;
	int64_t rows;
	struct output_opts output;
};

/* One name, with all its places in one file. */
struct point {
	const char *path;
	const char *name; /* "provider:name", or a function's */
	const char *args; /* of the first place; NULL for a function */
	uint64_t vaddr;	  /* of the first place */
	uint64_t semaphore;
	uint32_t place_cnt;
};

struct points {
	VEC(struct point) usdt, functions;
	uint64_t refused_cnt;	/* damaged, or over a bound */
	uint64_t unread_cnt;	/* files that could not be read */
	struct arena *arena;
	const regex_t *match;	/* NULL: all */
};

static bool wanted(const struct points *ps, const char *name)
{
	return !ps->match || regexec(ps->match, name, 0, NULL, 0) == 0;
}

static int by_name(const void *a, const void *b)
{
	const struct point *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (order == 0)
		order = strcmp(x->name, y->name);
	if (order == 0)
		order = x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
	return order;
}

/* One place after the other becomes one point with a count. */
static void fold(struct point *items, size_t *cnt)
{
	size_t out = 0;

	if (*cnt > 1)
		qsort(items, *cnt, sizeof(*items), by_name);
	for (size_t i = 0; i < *cnt; i++) {
		if (out && strcmp(items[out - 1].name, items[i].name) == 0 &&
		    strcmp(items[out - 1].path, items[i].path) == 0)
			items[out - 1].place_cnt++;
		else
			items[out++] = items[i];
	}
	*cnt = out;
}

static void add_usdt(struct points *ps, const char *path, struct image *im)
{
	struct usdt_list list = {0};

	usdt_read(im, ps->arena, &list);
	VEC_FOREACH(&list.probes, p) {
		const char *name = arena_printf(ps->arena, "%s:%s", p->provider, p->name);
		struct point pt = {.path = path, .name = name, .args = p->args, .vaddr = p->vaddr,
				   .semaphore = p->semaphore, .place_cnt = 1};
		if (wanted(ps, name))
			vec_push(&ps->usdt, pt);
	}
	ps->refused_cnt += list.refused_cnt;
	usdt_release(&list);
}

/* The pattern is tried on the short name; the one shown is in full. */
static void add_functions(struct points *ps, const char *path, struct image *im)
{
	CLEANUP(buf_release) struct buf fn = {0};
	CLEANUP(buf_release) struct buf full = {0};
	CLEANUP(arena_release) struct arena names = {0};
	struct usdt_exports list = {0};

	usdt_exports_read(im, &names, &list);
	VEC_FOREACH(&list.items, e) {
		demangle(e->symbol, &fn, &full);
		if (!wanted(ps, buf_str(&fn)))
			continue;
		struct point pt = {.path = path, .name = arena_strdup(ps->arena, buf_str(&full)),
				   .vaddr = e->vaddr, .place_cnt = 1};
		vec_push(&ps->functions, pt);
	}
	ps->refused_cnt += list.refused_cnt;
	vec_release(&list.items);
}

static void add_file(struct points *ps, const struct tracepoints_opts *o,
		     const struct process_code *c, const struct code_file *f)
{
	const struct mapping *m = NULL;
	struct image *im;

	VEC_FOREACH(&c->maps.items, each) {
		if (each->start == f->start)
			m = each;
	}
	if (!m || f->kind != MAPPING_FILE)
		return;
	CLEANUP_CLOSE int fd = mapping_open(c->tgid, m);
	im = fd >= 0 ? image_open(fd, NULL) : NULL;
	if (!im) {
		ps->unread_cnt++;
		return;
	}
	const char *path = arena_strdup(ps->arena, f->path);
	add_usdt(ps, path, im);
	if (o->functions)
		add_functions(ps, path, im);
	image_free(im);
}

/* ---- text */

static size_t shown_of(const struct tracepoints_opts *o, size_t cnt)
{
	return o->rows && cnt > (size_t)o->rows ? (size_t)o->rows : cnt;
}

static void text_points(const struct point *items, size_t cnt, size_t shown, struct buf *out)
{
	const char *path = "";

	for (size_t i = 0; i < shown; i++) {
		const struct point *pt = &items[i];

		if (strcmp(path, pt->path) != 0) {
			path = pt->path;
			buf_adds(out, "  ");
			pen_clean(out, path, false);
			buf_adds(out, "\n");
		}
		buf_adds(out, "    ");
		pen_clean(out, pt->name, false);
		if (pt->args) {
			buf_adds(out, *pt->args ? "  " : "");
			pen_clean(out, pt->args, false);
		}
		if (pt->place_cnt > 1)
			buf_printf(out, "  in %u places", pt->place_cnt);
		if (pt->semaphore)
			buf_adds(out, "  semaphore");
		buf_adds(out, "\n");
	}
	if (shown < cnt)
		buf_printf(out, "    and %zu more: narrow it with --match, or --rows 0\n",
			   cnt - shown);
}

static void text_print(const struct points *ps, const struct tracepoints_opts *o, uint32_t tgid)
{
	CLEANUP(buf_release) struct buf out = {0};
	char comm[PROCFS_COMM_LEN];

	procfs_comm(tgid, comm);
	buf_printf(&out, "process %u (", tgid);
	pen_clean(&out, comm, false);
	buf_printf(&out, "): %zu tracepoints", ps->usdt.cnt);
	if (o->functions)
		buf_printf(&out, ", %zu exported functions", ps->functions.cnt);
	buf_adds(&out, o->match ? " match\n" : "\n");
	if (ps->usdt.cnt)
		buf_adds(&out, "\ntracepoints (USDT), size@place of each argument\n");
	text_points(ps->usdt.items, ps->usdt.cnt, shown_of(o, ps->usdt.cnt), &out);
	if (ps->functions.cnt)
		buf_adds(&out, "\nexported functions\n");
	text_points(ps->functions.items, ps->functions.cnt, shown_of(o, ps->functions.cnt),
		    &out);
	if (ps->refused_cnt || ps->unread_cnt)
		buf_printf(&out, "\nnot shown: %" PRIu64 " damaged or over a bound, %" PRIu64
				 " files that could not be read\n",
			   ps->refused_cnt, ps->unread_cnt);
	output_text(&out);
}

/* ---- JSON */

static void json_points(struct json *j, const char *key, const struct point *items, size_t shown)
{
	json_karr(j, key);
	for (size_t i = 0; i < shown; i++) {
		const struct point *pt = &items[i];

		json_obj(j);
		json_kstr(j, "path", pt->path);
		json_kstr(j, "name", pt->name);
		json_ku64(j, "vaddr", pt->vaddr);
		if (pt->args) {
			json_kstr(j, "args", pt->args);
			json_ku64(j, "places", pt->place_cnt);
			json_kbool(j, "semaphore", pt->semaphore != 0);
		}
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_process(struct json *j, const struct points *ps,
			 const struct tracepoints_opts *o, uint32_t tgid)
{
	size_t usdt = shown_of(o, ps->usdt.cnt), functions = shown_of(o, ps->functions.cnt);
	char comm[PROCFS_COMM_LEN];

	procfs_comm(tgid, comm);
	json_obj(j);
	json_ku64(j, "pid", tgid);
	json_kstr(j, "comm", comm);
	json_points(j, "usdt", ps->usdt.items, usdt);
	json_points(j, "functions", ps->functions.items, functions);
	json_ku64(j, "omitted", ps->usdt.cnt - usdt + ps->functions.cnt - functions);
	json_ku64(j, "refused", ps->refused_cnt);
	json_ku64(j, "unread", ps->unread_cnt);
	json_obj_end(j);
}

/* ---- the command */

struct shown {
	const struct tracepoints_opts *o;
	const regex_t *match; /* NULL: all */
};

static int show(void *ctx, uint32_t tgid, struct json *j, struct err *err)
{
	const struct shown *shown = ctx;
	struct symbols *s = symbols_new(NULL);
	CLEANUP(arena_release) struct arena arena = {0};
	struct process_code c = {0};
	struct points ps = {.arena = &arena, .match = shown->match};
	int ret = process_code_read(s, tgid, &c, err);

	if (ret == 0) {
		VEC_FOREACH(&c.files, f)
			add_file(&ps, shown->o, &c, f);
		fold(ps.usdt.items, &ps.usdt.cnt);
		fold(ps.functions.items, &ps.functions.cnt);
		if (j)
			json_process(j, &ps, shown->o, tgid);
		else
			text_print(&ps, shown->o, tgid);
	}
	vec_release(&ps.usdt);
	vec_release(&ps.functions);
	process_code_release(&c);
	symbols_free(s);
	return ret;
}

static int run(struct cli *cli, int argc, char **argv)
{
	const struct tracepoints_opts *o = cli->opts;
	CLEANUP(target_release) struct target t = {0};
	struct err err = {0};
	regex_t match;
	struct shown shown = {o, o->match ? &match : NULL};
	const struct per_process each = {.target = &t, .show = show, .ctx = &shown};
	int ret = select_check(&o->select, &err);

	(void)argc;
	(void)argv;
	reads_start();
	if (ret == 0 && o->match && regcomp(&match, o->match, REG_EXTENDED | REG_NOSUB) != 0)
		ret = err_usage(&err, "--match '%s' is not a regular expression", o->match);
	if (ret < 0)
		return cli_fail(cli, &err);
	ret = target_resolve(&o->select, &t, &err);
	if (ret == 0)
		ret = file_rights_look(cli->cmd, o, &err);
	if (ret == 0 && o->output.json)
		ret = per_process_json(&each, "heldup/tracepoints/1", &err);
	else if (ret == 0)
		ret = per_process_text(&each, &err);
	if (o->match)
		regfree(&match);
	return ret < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt tracepoints_opt_table[] = {
	OPT_GROUP(select_running_opt_table, struct tracepoints_opts, select),
	{.type = OPT_STRING, .short_name = 'm', .long_name = "match", .metavar = "RE",
	 .help = "list only names that match",
	 OPT_AT(struct tracepoints_opts, match)},
	{.type = OPT_FLAG, .short_name = 'f', .long_name = "functions",
	 .help = "list exported functions, too", OPT_AT(struct tracepoints_opts, functions)},
	{.type = OPT_INT, .short_name = 'n', .long_name = "rows", .metavar = "N", .max = ROWS_MAX,
	 .help = "list at most N of each kind, 0: all", .def = "200",
	 OPT_AT(struct tracepoints_opts, rows)},
	OPT_GROUP(json_opt_table, struct tracepoints_opts, output),
	OPT_END,
};

const struct cmd cmd_tracepoints = {
	.name = "tracepoints",
	.help = "list tracepoints and functions of a process",
	.about = "Lists the static tracepoints (USDT) that the authors of a process' programs and\n"
		 "libraries put into them, with the place of each argument, and with -f the\n"
		 "functions that its files export.  Switches nothing on.",
	.examples = "  sudo heldup tracepoints -p 1234\n"
		    "  sudo heldup tracepoints -p 1234 -m '^postgresql:lock'\n"
		    "  sudo heldup tracepoints -p 1234 -f -m 'SSL_(read|write)$'",
	.json_schema = embed_tracepoints_schema_json,
	.opts = tracepoints_opt_table,
	.opts_size = sizeof(struct tracepoints_opts),
	.run = run,
};
