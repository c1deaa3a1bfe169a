/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch/nameless.h"

#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "collect/proc/mappings.h"
#include "collect/proc/process_code.h"
#include "symbols/names/packages.h"
#include "symbols/names/runtime.h"
#include "verdict/not_covered.h"
#include "verdict/verdict.h"

/* The path of a file that the process maps, "" where none has that name. */
static const char *path_of(const struct mappings *m, const char *name, struct arena *a)
{
	VEC_FOREACH(&m->items, at) {
		if (at->kind == MAPPING_FILE && strcmp(file_base_name(at->path), name) == 0)
			return arena_strdup(a, at->path);
	}
	return "";
}

/* "postgresql-15-dbgsym libssl3-dbgsym", each once; "" where none is known. */
static const char *debug_packages(const char *const *names, size_t cnt, struct arena *a)
{
	const char *all = "";

	for (size_t i = 0; i < cnt; i++) {
		bool again = !*names[i];

		for (size_t j = 0; j < i && !again; j++)
			again = strcmp(names[j], names[i]) == 0;
		if (!again)
			all = arena_printf(a, "%s%s%s", all, *all ? " " : "",
					   packages_debug(names[i], a));
	}
	return all;
}

/* The way to name code that a runtime makes; "" where no file of one is mapped. */
static const char *runtime_words(const struct mappings *m, struct arena *a)
{
	VEC_FOREACH(&m->items, at) {
		const char *name = at->kind == MAPPING_FILE ? file_base_name(at->path) : "";
		const struct runtime *r = runtime_of_file(name);

		if (r)
			return arena_printf(a, "%s: %s", r->name, runtime_advice(r, name));
	}
	return "";
}

static const char *words_of(const struct nameless *n, const struct mappings *m, struct arena *a)
{
	const char *paths[NAMELESS_MAX], **names, *all = "", *how = "";

	for (size_t i = 0; i < n->cnt; i++) {
		paths[i] = path_of(m, n->files[i], a);
		if (strcmp(n->files[i], NAMELESS_CODE) == 0)
			how = runtime_words(m, a);
	}
	if (process_packages(n->pid, paths, n->cnt, a, &names) == 0)
		all = debug_packages(names, n->cnt, a);
	if (*all)
		all = arena_printf(a, "apt install %s", all);
	return arena_printf(a, "%s%s%s", all, *all && *how ? "; " : "", how);
}

void nameless_packages(struct verdict *v, struct arena *arena)
{
	const struct nameless *n = &v->nameless;
	const char *words;
	CLEANUP(mappings_release) struct mappings maps = {0};

	if (!n->cnt || mappings_read(n->pid, &maps) < 0)
		return;
	words = words_of(n, &maps, arena);
	if (*words)
		verdict_names_by(v, words, arena);
}
