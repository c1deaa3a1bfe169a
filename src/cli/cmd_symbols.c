/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names a stack of a process would have, file by file, before anybody
 * needs one.  Loads nothing into the kernel.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/fmt.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/opts/cmd.h"
#include "cli/opts/file_rights.h"
#include "cli/opts/names_opts.h"
#include "cli/opts/options.h"
#include "cli/opts/per_process.h"
#include "cli/opts/select_opts.h"
#include "collect/proc/process_code.h"
#include "collect/proc/procfs.h"
#include "collect/runtimes/runtime_find.h"
#include "collect/target/target.h"
#include "report/lines/pen.h"
#include "reads/reads.h"
#include "report/lines/table.h"
#include "symbols/names/debuginfod.h"
#include "symbols/names/packages.h"
#include "symbols/names/runtime.h"
#include "symbols/names/symbols.h"

enum { ADDRS_MAX = 256, LINES_MS = 5000 };

extern const char embed_symbols_schema_json[];

struct symbols_cmd_opts {
	struct select_opts select;
	uint64_t debuginfod_ns;
	bool no_debug_files;
	bool jit;
	bool no_runtimes;
	struct output_opts output;
};

/* One line of the table. */
struct row {
	const struct code_file *file;
	struct symbols_module_info info; /* all zero for what is no module */
	const char *package;		 /* "" unknown */
	const char *improve;		 /* "" nothing to improve */
};

struct view {
	const struct symbols_cmd_opts *o;
	struct symbols *symbols;
	struct process_code code;
	struct arena arena;
	struct row *rows;
	size_t row_cnt;
	const struct runtime *runtime; /* NULL: none known */
	const char *runtime_file;
	struct symbols_jit_info jit;
	struct runtime_found found; /* whose functions are read from memory */
	long thread_cnt;	    /* of it; -errno */
	uint64_t addrs[ADDRS_MAX];
	size_t addr_cnt;
	uint64_t took_ns;
};

/* ---- what would improve the names */

static bool is_whole(const struct row *r)
{
	return r->info.source >= SYMBOL_SYMTAB || r->info.fde_cnt == 0;
}

static const char *improve_file(struct view *v, const struct row *r)
{
	const char *problem = r->file->problem ? r->file->problem : r->info.problem;
	const char *advice = "";
	bool asked = debuginfod_wanted();

	if (!r->file->module)
		return problem ? problem : "";
	if (r->file->kind == MAPPING_FILE && !is_whole(r)) {
		if (*r->package)
			advice = arena_printf(&v->arena, "apt install %s%s",
					      packages_debug(r->package, &v->arena),
					      asked ? "" : ", or set DEBUGINFOD_URLS");
		else
			advice = arena_printf(&v->arena, "its debug file%s, or a build that is "
					      "not stripped",
					      asked ? "" : " (set DEBUGINFOD_URLS)");
	}
	if (!problem)
		return advice;
	return arena_printf(&v->arena, "%s%s%s", problem, *advice ? "; " : "", advice);
}

static const char *improve_jit(const struct view *v)
{
	if (v->jit.fn_cnt)
		return "";
	if (v->runtime)
		return runtime_advice(v->runtime, v->runtime_file);
	return "whatever makes this code would have to write a perf map";
}

/* One pass over the lists of packages for all files that need it. */
static void find_packages(struct view *v)
{
	const char **paths = (const char **)arena_alloc_array(&v->arena, v->row_cnt + 1,
							      sizeof(*paths));
	const char **names;

	for (size_t i = 0; i < v->row_cnt; i++) {
		const struct row *r = &v->rows[i];

		v->rows[i].package = "";
		paths[i] = r->file->kind == MAPPING_FILE && !is_whole(r) ? r->file->path : "";
	}
	if (process_packages(v->code.tgid, paths, v->row_cnt, &v->arena, &names) < 0)
		return;
	for (size_t i = 0; i < v->row_cnt; i++)
		v->rows[i].package = names[i];
}

/* The runtime whose frames a watch would read. */
static void find_runtime(struct view *v, uint32_t tgid)
{
	CLEANUP_FREE struct runtime_thread *threads = xcalloc(RUNTIME_THREAD_MAX, sizeof(*threads));

	if (v->o->no_runtimes || runtime_find(tgid, &v->found) < 0 || !v->found.proc)
		return;
	v->thread_cnt = runtime_threads(v->found.proc, threads, RUNTIME_THREAD_MAX);
	if (v->thread_cnt < 0)
		err_errno(&v->found.problem, (int)v->thread_cnt, "its threads");
}

static int view_make(struct view *v, uint32_t tgid, struct err *err)
{
	uint64_t start_ns = clock_mono_ns();
	int ret = process_code_read(v->symbols, tgid, &v->code, err);

	if (ret < 0)
		return ret;
	v->rows = ARENA_ARRAY(&v->arena, struct row, v->code.files.cnt + 1);
	VEC_FOREACH(&v->code.files, f) {
		const struct runtime *r = runtime_of_file(file_base_name(f->path));

		if (r && !v->runtime) {
			v->runtime = r;
			v->runtime_file = file_base_name(f->path);
		}
		if (f->kind == MAPPING_VSYSCALL)
			continue;
		struct row *row = &v->rows[v->row_cnt++];
		row->file = f;
		if (f->module)
			symbols_module_info(v->symbols, f->module, &row->info);
	}
	symbols_jit_info(v->symbols, tgid, &v->jit);
	find_runtime(v, tgid);
	v->took_ns = clock_mono_ns() - start_ns;
	find_packages(v);
	for (size_t i = 0; i < v->row_cnt; i++) {
		struct row *row = &v->rows[i];

		row->improve = row->file->kind == MAPPING_CODE ? improve_jit(v)
							       : improve_file(v, row);
	}
	return 0;
}

static void view_release(struct view *v)
{
	process_code_release(&v->code);
	runtime_found_release(&v->found);
	arena_release(&v->arena);
}

static enum symbol_source row_source(const struct view *v, const struct row *r)
{
	if (r->file->kind == MAPPING_CODE)
		return v->jit.fn_cnt ? SYMBOL_PERF_MAP : SYMBOL_NONE;
	return r->info.source;
}

static uint32_t row_named(const struct view *v, const struct row *r)
{
	return r->file->kind == MAPPING_CODE ? v->jit.fn_cnt : r->info.fn_cnt;
}

static void build_id_text(const struct row *r, char out[2 * 20 + 1])
{
	for (size_t i = 0; i < r->info.build_id_len; i++)
		snprintf(out + 2 * i, 3, "%02x", r->info.build_id[i]);
	out[2 * r->info.build_id_len] = '\0';
}

/* ---- text */

static void text_rows(const struct view *v, struct pen *p)
{
	static const struct column columns[] = {
		{.head = "mapping", .max = 60}, {.head = "build id"},
		{.head = "names from"},		{.head = "named", .right = 1},
		{.head = "unnamed", .right = 1}, {.head = "lines"},
		{.head = "what would improve them"},
	};
	struct table t;

	table_init(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < v->row_cnt; i++) {
		const struct row *r = &v->rows[i];
		char id[41];

		build_id_text(r, id);
		table_cell(&t, "%s%s", r->file->path, r->file->deleted ? " (deleted)" : "");
		table_cell(&t, "%.8s", id);
		table_cell(&t, "%s", symbol_source_name(row_source(v, r)));
		table_cell(&t, "%u", row_named(v, r));
		table_cell(&t, "%u", r->info.fde_cnt);
		table_cell(&t, "%s", r->info.has_lines ? "yes" : "");
		table_cell(&t, "%s", r->improve);
	}
	table_print(&t, p, "files with code, and what names their functions", 0);
	table_release(&t);
}

/* Then its line has the advice. */
static bool has_code(const struct view *v)
{
	for (size_t i = 0; i < v->row_cnt; i++) {
		if (v->rows[i].file->kind == MAPPING_CODE)
			return true;
	}
	return false;
}

static void text_jit_skipped(const struct view *v, struct pen *p)
{
	char over[FMT_MAX];

	if (v->jit.refused_cnt)
		pen_fmt(p, PEN_PLAIN, ", %" PRIu64 " line%s skipped (damaged, or over a bound)",
			v->jit.refused_cnt, v->jit.refused_cnt == 1 ? "" : "s");
	if (v->jit.over_bytes)
		pen_fmt(p, PEN_PLAIN, ", its last %s not read (the file is too long)",
			fmt_bytes(over, v->jit.over_bytes));
}

static void text_runtime(const struct view *v, struct pen *p)
{
	if (v->jit.fn_cnt || v->jit.refused_cnt || v->jit.over_bytes) {
		pen_fmt(p, PEN_PLAIN, "%s: %u name%s in %s", v->runtime ? v->runtime->name
									: "code made at run time",
			v->jit.fn_cnt, v->jit.fn_cnt == 1 ? "" : "s", v->jit.path);
		text_jit_skipped(v, p);
	}
	else if (*v->jit.problem)
		pen_fmt(p, PEN_PLAIN, "perf map: %s", v->jit.problem);
	else if (v->runtime && !has_code(v))
		pen_fmt(p, PEN_PLAIN, "%s, and no %s%s: %s", v->runtime->name, v->jit.path,
			v->found.proc ? ", for threads that run" : "",
			runtime_advice(v->runtime, v->runtime_file));
	else
		return;
	pen_nl(p);
}

static const char *version(const struct view *v)
{
	return v->found.proc ? runtime_version(v->found.proc) : "";
}

static void text_found(const struct view *v, struct pen *p)
{
	const char *name;

	if (!v->found.lang)
		return;
	name = runtime_lang_name(v->found.lang);
	if (*v->found.problem.msg)
		pen_fmt(p, PEN_PLAIN, "%s: its functions are not read from memory: %s", name,
			v->found.problem.msg);
	else
		pen_fmt(p, PEN_PLAIN, "%s %s: the functions of its %ld thread%s are read from "
			"memory, while they sleep", name, version(v), v->thread_cnt,
			v->thread_cnt == 1 ? "" : "s");
	pen_nl(p);
}

static void text_addrs(const struct view *v, struct pen *p)
{
	for (size_t i = 0; i < v->addr_cnt; i++) {
		const struct code_file *f;
		struct symbol_name n;

		process_code_name(&v->code, v->symbols, v->addrs[i], &n, &f);
		for (uint32_t d = n.frame_cnt; d-- > 0;) {
			const struct symbol_frame *fr = &n.frames[d];

			pen_fmt(p, PEN_PLAIN, "%#" PRIx64 "  ", v->addrs[i]);
			pen_text(p, PEN_BOLD, fr->full);
			if (d == 0)
				pen_fmt(p, PEN_PLAIN, "+%#x", n.off);
			else
				pen_text(p, PEN_DIM, " (inlined)");
			if (fr->file)
				pen_fmt(p, PEN_PLAIN, "  %s:%u", fr->file, fr->line);
			pen_fmt(p, PEN_DIM, "  %s, %s", f ? f->path : "no executable mapping",
				symbol_source_name(n.source));
			pen_nl(p);
		}
	}
}

static void text_print(const struct view *v, struct pen *p)
{
	char comm[PROCFS_COMM_LEN], took[FMT_MAX], bytes[FMT_MAX];
	struct symbols_stats stats;
	uint64_t named = 0, unnamed = 0;

	if (v->addr_cnt) {
		text_addrs(v, p);
		return;
	}
	for (size_t i = 0; i < v->row_cnt; i++) {
		named += row_named(v, &v->rows[i]);
		unnamed += v->rows[i].info.fde_cnt;
	}
	procfs_comm(v->code.tgid, comm);
	symbols_stats(v->symbols, &stats);
	pen_fmt(p, PEN_BOLD, "process %u (", v->code.tgid);
	pen_text(p, PEN_BOLD, comm);
	pen_fmt(p, PEN_BOLD, "): %" PRIu64 " functions have a name, %" PRIu64 " only bounds", named,
		unnamed);
	pen_nl(p);
	text_rows(v, p);
	pen_nl(p);
	text_found(v, p);
	text_runtime(v, p);
	if (v->code.maps.cut_cnt || v->code.maps.odd_cnt) {
		pen_fmt(p, PEN_PLAIN, "not shown: %u mappings over the bound, %u that are odd",
			v->code.maps.cut_cnt, v->code.maps.odd_cnt);
		pen_nl(p);
	}
	pen_fmt(p, PEN_DIM, "read in %s; the tables take %s", fmt_ns(took, v->took_ns),
		fmt_bytes(bytes, stats.bytes));
	pen_nl(p);
}

/* ---- JSON */

static void json_row(struct json *j, const struct view *v, const struct row *r)
{
	char id[41];

	build_id_text(r, id);
	json_obj(j);
	json_kstr(j, "path", r->file->path);
	json_kbool(j, "deleted", r->file->deleted);
	json_kstr(j, "build_id", *id ? id : NULL);
	json_ku64(j, "bytes", r->file->bytes);
	json_kstr(j, "source", symbol_source_name(row_source(v, r)));
	json_kstr(j, "debug_file", r->info.debug_path);
	json_ku64(j, "named", row_named(v, r));
	json_ku64(j, "unnamed", r->info.fde_cnt);
	json_kbool(j, "lines", r->info.has_lines);
	json_kstr(j, "package", r->package && *r->package ? r->package : NULL);
	json_kstr(j, "problem", r->file->problem ? r->file->problem : r->info.problem);
	json_kstr(j, "improve", r->improve);
	json_obj_end(j);
}

static void json_addr(struct json *j, const struct view *v, uint64_t addr)
{
	const struct code_file *f;
	struct symbol_name n;
	char text[24];

	process_code_name(&v->code, v->symbols, addr, &n, &f);
	snprintf(text, sizeof(text), "%#" PRIx64, addr);
	json_obj(j);
	json_kstr(j, "address", text);
	json_kstr(j, "path", f ? f->path : NULL);
	json_kstr(j, "source", symbol_source_name(n.source));
	json_ku64(j, "off", n.off);
	json_karr(j, "frames");
	for (uint32_t d = n.frame_cnt; d-- > 0;) {
		json_obj(j);
		json_kstr(j, "fn", n.frames[d].fn);
		json_kstr(j, "full", n.frames[d].full);
		json_kstr(j, "file", n.frames[d].file);
		json_ku64(j, "line", n.frames[d].line);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_obj_end(j);
}

static void json_found(struct json *j, const struct view *v)
{
	const char *problem = v->found.problem.msg;

	json_kobj(j, "memory");
	json_kstr(j, "runtime", v->found.lang ? runtime_lang_name(v->found.lang) : NULL);
	json_kstr(j, "version", *version(v) ? version(v) : NULL);
	json_ku64(j, "threads", v->thread_cnt > 0 ? (uint64_t)v->thread_cnt : 0);
	json_kstr(j, "problem", *problem ? problem : NULL);
	json_obj_end(j);
}

static void json_view(struct json *j, const struct view *v)
{
	char comm[PROCFS_COMM_LEN];

	procfs_comm(v->code.tgid, comm);
	json_obj(j);
	json_ku64(j, "pid", v->code.tgid);
	json_kstr(j, "comm", comm);
	json_karr(j, "mappings");
	for (size_t i = 0; i < v->row_cnt; i++)
		json_row(j, v, &v->rows[i]);
	json_arr_end(j);
	json_kobj(j, "jit");
	json_kstr(j, "runtime", v->runtime ? v->runtime->name : NULL);
	json_kstr(j, "perf_map", v->jit.path);
	json_ku64(j, "named", v->jit.fn_cnt);
	json_ku64(j, "refused", v->jit.refused_cnt);
	json_ku64(j, "unread_bytes", v->jit.over_bytes);
	json_kstr(j, "problem", *v->jit.problem ? v->jit.problem : NULL);
	json_kstr(j, "improve", v->runtime && !v->jit.fn_cnt
					? runtime_advice(v->runtime, v->runtime_file) : "");
	json_obj_end(j);
	json_found(j, v);
	json_karr(j, "addresses");
	for (size_t i = 0; i < v->addr_cnt; i++)
		json_addr(j, v, v->addrs[i]);
	json_arr_end(j);
	json_ku64(j, "omitted", v->code.maps.cut_cnt + v->code.maps.odd_cnt);
	json_ku64(j, "took_ns", v->took_ns);
	json_obj_end(j);
}

static void json_stats(struct json *j, const struct symbols *s)
{
	struct symbols_stats st;

	symbols_stats(s, &st);
	json_kobj(j, "stats");
	json_ku64(j, "files", st.module_cnt);
	json_ku64(j, "bytes", st.bytes);
	json_ku64(j, "refused", st.refused_cnt);
	json_ku64(j, "over_memory", st.over_cnt);
	json_ku64(j, "over_time", st.late_cnt);
	json_ku64(j, "debuginfod", st.debuginfod_cnt);
	json_ku64(j, "debuginfod_late", st.debuginfod_late_cnt);
	json_ku64(j, "debuginfod_over", st.debuginfod_over_cnt);
	json_ku64(j, "lines_late", st.lines_late_cnt);
	json_ku64(j, "lines_lost", st.lines_lost_cnt);
	json_ku64(j, "cut", st.cut_cnt);
	json_obj_end(j);
}

/* ---- the command */

static int addrs_parse(struct view *v, int argc, char **argv, struct err *err)
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
	const struct view *all;
	struct pen pen; /* for text */
};

static int show(void *ctx, uint32_t tgid, struct json *j, struct err *err)
{
	struct shown *shown = ctx;
	struct view v = *shown->all;
	int ret = view_make(&v, tgid, err);

	if (ret == 0 && j) {
		json_view(j, &v);
	} else if (ret == 0) {
		if (shown->pen.line_cnt)
			pen_nl(&shown->pen);
		text_print(&v, &shown->pen);
	}
	view_release(&v);
	return ret;
}

static void tail(void *ctx, struct json *j)
{
	const struct shown *shown = ctx;

	json_stats(j, shown->all->symbols);
}

static int print_all(const struct view *all, const struct target *t, struct err *err)
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
	struct view all = {.o = o};
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
