/* SPDX-License-Identifier: Apache-2.0 */
/* The view as text. */
#include "cli/names/names_view.h"

#include <inttypes.h>

#include "base/fmt.h"
#include "collect/proc/process_code.h"
#include "collect/proc/procfs.h"
#include "report/lines/pen.h"
#include "report/lines/table.h"
#include "symbols/names/runtime.h"
#include "symbols/names/symbols.h"

static void text_rows(const struct names_view *v, struct pen *p)
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
		const struct names_row *r = &v->rows[i];
		char id[41];

		names_build_id(r, id);
		table_cell(&t, "%s%s", r->file->path, r->file->deleted ? " (deleted)" : "");
		table_cell(&t, "%.8s", id);
		table_cell(&t, "%s", symbol_source_name(names_row_source(v, r)));
		table_cell(&t, "%u", names_row_count(v, r));
		table_cell(&t, "%u", r->info.fde_cnt);
		table_cell(&t, "%s", r->info.has_lines ? "yes" : "");
		table_cell(&t, "%s", r->improve);
	}
	table_print(&t, p, "files with code, and what names their functions", 0);
	table_release(&t);
}

/* Then its line has the advice. */
static bool has_code(const struct names_view *v)
{
	for (size_t i = 0; i < v->row_cnt; i++) {
		if (v->rows[i].file->kind == MAPPING_CODE)
			return true;
	}
	return false;
}

static void text_jit_skipped(const struct names_view *v, struct pen *p)
{
	char over[FMT_MAX];

	if (v->jit.refused_cnt)
		pen_fmt(p, PEN_PLAIN, ", %" PRIu64 " line%s skipped (damaged, or over a bound)",
			v->jit.refused_cnt, v->jit.refused_cnt == 1 ? "" : "s");
	if (v->jit.over_bytes)
		pen_fmt(p, PEN_PLAIN, ", its last %s not read (the file is too long)",
			fmt_bytes(over, v->jit.over_bytes));
}

static void text_runtime(const struct names_view *v, struct pen *p)
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

static void text_found(const struct names_view *v, struct pen *p)
{
	const char *name;

	if (!v->found.lang)
		return;
	name = runtime_lang_name(v->found.lang);
	if (*v->found.problem.msg)
		pen_fmt(p, PEN_PLAIN, "%s: its functions are not read from memory: %s", name,
			v->found.problem.msg);
	else if (runtime_by_native(v->found.proc))
		pen_fmt(p, PEN_PLAIN, "%s %s: its functions are read from memory with each stack",
			name, names_version(v));
	else
		pen_fmt(p, PEN_PLAIN, "%s %s: the functions of its %ld thread%s are read from "
			"memory, while they sleep%s", name, names_version(v), v->thread_cnt,
			v->thread_cnt == 1 ? "" : "s",
			runtime_is_sampled(v->found.proc) ? " and with each sample" : "");
	pen_nl(p);
}

static void text_addrs(const struct names_view *v, struct pen *p)
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

void names_text(const struct names_view *v, struct pen *p)
{
	char comm[PROCFS_COMM_LEN], took[FMT_MAX], bytes[FMT_MAX];
	struct symbols_stats stats;
	uint64_t named = 0, unnamed = 0;

	if (v->addr_cnt) {
		text_addrs(v, p);
		return;
	}
	for (size_t i = 0; i < v->row_cnt; i++) {
		named += names_row_count(v, &v->rows[i]);
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
