/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/names/names_view.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "collect/proc/process_code.h"
#include "collect/runtimes/runtime_find.h"
#include "symbols/names/debuginfod.h"
#include "symbols/names/packages.h"
#include "symbols/names/runtime.h"
#include "symbols/names/symbols.h"

static bool is_whole(const struct names_row *r)
{
	return r->info.source >= SYMBOL_SYMTAB || r->info.fde_cnt == 0;
}

static const char *improve_file(struct names_view *v, const struct names_row *r)
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

static const char *improve_jit(const struct names_view *v)
{
	if (v->jit.fn_cnt)
		return "";
	if (v->runtime)
		return runtime_advice(v->runtime, v->runtime_file);
	return "whatever makes this code would have to write a perf map";
}

/* One pass over the lists of packages for all files that need it. */
static void find_packages(struct names_view *v)
{
	const char **paths = (const char **)arena_alloc_array(&v->arena, v->row_cnt + 1,
							      sizeof(*paths));
	const char **names;

	for (size_t i = 0; i < v->row_cnt; i++) {
		const struct names_row *r = &v->rows[i];

		v->rows[i].package = "";
		paths[i] = r->file->kind == MAPPING_FILE && !is_whole(r) ? r->file->path : "";
	}
	if (process_packages(v->code.tgid, paths, v->row_cnt, &v->arena, &names) < 0)
		return;
	for (size_t i = 0; i < v->row_cnt; i++)
		v->rows[i].package = names[i];
}

/* The runtime whose frames a watch would read. */
static void find_runtime(struct names_view *v, uint32_t tgid)
{
	CLEANUP_FREE struct runtime_thread *threads = xcalloc(RUNTIME_THREAD_MAX, sizeof(*threads));

	if (v->o->no_runtimes || runtime_find(tgid, &v->found) < 0 || !v->found.proc)
		return;
	v->thread_cnt = runtime_threads(v->found.proc, threads, RUNTIME_THREAD_MAX);
	if (v->thread_cnt < 0)
		err_errno(&v->found.problem, (int)v->thread_cnt, "its threads");
}

int names_view_make(struct names_view *v, uint32_t tgid, struct err *err)
{
	uint64_t start_ns = clock_mono_ns();
	int ret = process_code_read(v->symbols, tgid, &v->code, err);

	if (ret < 0)
		return ret;
	v->rows = ARENA_ARRAY(&v->arena, struct names_row, v->code.files.cnt + 1);
	VEC_FOREACH(&v->code.files, f) {
		const struct runtime *r = runtime_of_file(file_base_name(f->path));

		if (r && !v->runtime) {
			v->runtime = r;
			v->runtime_file = file_base_name(f->path);
		}
		if (f->kind == MAPPING_VSYSCALL)
			continue;
		struct names_row *row = &v->rows[v->row_cnt++];
		row->file = f;
		if (f->module)
			symbols_module_info(v->symbols, f->module, &row->info);
	}
	symbols_jit_info(v->symbols, tgid, &v->jit);
	find_runtime(v, tgid);
	v->took_ns = clock_mono_ns() - start_ns;
	find_packages(v);
	for (size_t i = 0; i < v->row_cnt; i++) {
		struct names_row *row = &v->rows[i];

		row->improve = row->file->kind == MAPPING_CODE ? improve_jit(v)
							       : improve_file(v, row);
	}
	return 0;
}

void names_view_release(struct names_view *v)
{
	process_code_release(&v->code);
	runtime_found_release(&v->found);
	arena_release(&v->arena);
}

const char *names_version(const struct names_view *v)
{
	return v->found.proc ? runtime_version(v->found.proc) : "";
}

enum symbol_source names_row_source(const struct names_view *v, const struct names_row *r)
{
	if (r->file->kind == MAPPING_CODE)
		return v->jit.fn_cnt ? SYMBOL_PERF_MAP : SYMBOL_NONE;
	return r->info.source;
}

uint32_t names_row_count(const struct names_view *v, const struct names_row *r)
{
	return r->file->kind == MAPPING_CODE ? v->jit.fn_cnt : r->info.fn_cnt;
}

void names_build_id(const struct names_row *r, char out[2 * 20 + 1])
{
	for (size_t i = 0; i < r->info.build_id_len; i++)
		snprintf(out + 2 * i, 3, "%02x", r->info.build_id[i]);
	out[2 * r->info.build_id_len] = '\0';
}
