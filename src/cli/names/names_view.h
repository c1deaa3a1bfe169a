/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NAMES_VIEW_H
#define NAMES_VIEW_H
/*
 * Which names a stack of a process would have, file by file, and what would give
 * more: made once for each process, shown as text or as JSON.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "cli/opts/options.h"
#include "collect/proc/process_code.h"
#include "collect/runtimes/runtime_find.h"
#include "collect/select.h"
#include "symbols/names/symbols.h"

struct err;
struct json;
struct pen;
struct runtime;

enum { ADDRS_MAX = 256 };

struct symbols_cmd_opts {
	struct select_opts select;
	uint64_t debuginfod_ns;
	bool no_debug_files;
	bool jit;
	bool no_runtimes;
	struct output_opts output;
};

/* One line of the table. */
struct names_row {
	const struct code_file *file;
	struct symbols_module_info info; /* all zero for what is no module */
	const char *package;		 /* "" unknown */
	const char *improve;		 /* "" nothing to improve */
};

struct names_view {
	const struct symbols_cmd_opts *o;
	struct symbols *symbols;
	struct process_code code;
	struct arena arena;
	struct names_row *rows;
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

/* v has its options, symbols and addresses before; to be released in any case. */
int names_view_make(struct names_view *v, uint32_t tgid, struct err *err);
void names_view_release(struct names_view *v);

void names_text(const struct names_view *v, struct pen *p);
void names_json(struct json *j, const struct names_view *v);
void names_stats_json(struct json *j, const struct symbols *s);

/* ---- for both */

enum symbol_source names_row_source(const struct names_view *v, const struct names_row *r);
uint32_t names_row_count(const struct names_view *v, const struct names_row *r);
void names_build_id(const struct names_row *r, char out[2 * 20 + 1]);
/* The interpreter's version; "" none. */
const char *names_version(const struct names_view *v);

#endif /* NAMES_VIEW_H */
