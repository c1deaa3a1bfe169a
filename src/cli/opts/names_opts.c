/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/names_opts.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "collect/code/jvm.h"
#include "collect/proc/mappings.h"
#include "collect/select.h"
#include "collect/target/target.h"

enum {
	DEBUGINFOD_MS = 300, /* enough to find what is in its cache */
	LINES_MS = 5000,
	JIT_MS = 5000,
};

const struct opt jit_opt_table[] = {
	{.type = OPT_FLAG, .long_name = "jit",
	 .help = "ask Java VMs to write the names of their code (disturbs)",
	 OPT_AT(struct names_opts, jit)},
	OPT_NO_RUNTIMES(struct names_opts, no_runtimes),
	OPT_END,
};

const struct opt names_opt_table[] = {
	{.type = OPT_TYPE_GROUP, .group = jit_opt_table},
	{.type = OPT_FLAG, .long_name = "lines",
	 .help = "add lines and inlined functions from debug information",
	 OPT_AT(struct names_opts, lines)},
	OPT_END,
};

struct symbols_opts names_opts_symbols(const struct names_opts *o)
{
	return (struct symbols_opts){
		.debuginfod_ms = DEBUGINFOD_MS,
		.lines_ms = o && o->lines ? LINES_MS : 0,
	};
}

static bool is_java(uint32_t tgid)
{
	CLEANUP(mappings_release) struct mappings maps = {0};

	if (mappings_read(tgid, &maps) < 0)
		return false;
	VEC_FOREACH(&maps.items, m) {
		const char *slash = strrchr(m->path, '/');

		if (slash && strcmp(slash, "/libjvm.so") == 0)
			return true;
	}
	return false;
}

void names_opts_ask(const struct names_opts *o, const struct select_opts *select)
{
	CLEANUP(target_release) struct target t = {0};
	struct err err = {0};

	/* what is wrong with the selection is reported by the watch */
	if (!o->jit || select->command || target_resolve(select, &t, NULL) < 0)
		return;
	for (size_t i = 0; i < t.cnt; i++) {
		if (is_java(t.tgids[i]) && jvm_perfmap(t.tgids[i], JIT_MS, &err) < 0)
			log_warn("%s", err.msg);
	}
}
