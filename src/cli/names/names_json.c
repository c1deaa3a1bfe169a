/* SPDX-License-Identifier: Apache-2.0 */
/* The view as JSON. */
#include "cli/names/names_view.h"

#include <inttypes.h>

#include "base/json.h"
#include "collect/proc/process_code.h"
#include "collect/proc/procfs.h"
#include "symbols/names/debuginfod.h"
#include "symbols/names/runtime.h"
#include "symbols/names/symbols.h"

static void json_row(struct json *j, const struct names_view *v, const struct names_row *r)
{
	char id[41];

	names_build_id(r, id);
	json_obj(j);
	json_kstr(j, "path", r->file->path);
	json_kbool(j, "deleted", r->file->deleted);
	json_kstr(j, "build_id", *id ? id : NULL);
	json_ku64(j, "bytes", r->file->bytes);
	json_kstr(j, "source", symbol_source_name(names_row_source(v, r)));
	json_kstr(j, "debug_file", r->info.debug_path);
	json_ku64(j, "named", names_row_count(v, r));
	json_ku64(j, "unnamed", r->info.fde_cnt);
	json_kbool(j, "lines", r->info.has_lines);
	json_kstr(j, "package", r->package && *r->package ? r->package : NULL);
	json_kstr(j, "problem", r->file->problem ? r->file->problem : r->info.problem);
	json_kstr(j, "improve", r->improve);
	json_obj_end(j);
}

static void json_addr(struct json *j, const struct names_view *v, uint64_t addr)
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

static void json_found(struct json *j, const struct names_view *v)
{
	const char *problem = v->found.problem.msg;

	json_kobj(j, "memory");
	json_kstr(j, "runtime", v->found.lang ? runtime_lang_name(v->found.lang) : NULL);
	json_kstr(j, "version", *names_version(v) ? names_version(v) : NULL);
	json_ku64(j, "threads", v->thread_cnt > 0 ? (uint64_t)v->thread_cnt : 0);
	json_kstr(j, "problem", *problem ? problem : NULL);
	json_obj_end(j);
}

void names_json(struct json *j, const struct names_view *v)
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

void names_stats_json(struct json *j, const struct symbols *s)
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
