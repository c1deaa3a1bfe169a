/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nameless.h"

#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "collect/mappings.h"
#include "collect/process_code.h"
#include "symbols/packages.h"
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

void nameless_packages(struct verdict *v, struct arena *arena)
{
	const struct nameless *n = &v->nameless;
	const char *paths[NAMELESS_MAX], **names, *all;
	CLEANUP(mappings_release) struct mappings maps = {0};

	if (!n->cnt || mappings_read(n->pid, &maps) < 0)
		return;
	for (size_t i = 0; i < n->cnt; i++)
		paths[i] = path_of(&maps, n->files[i], arena);
	if (process_packages(n->pid, paths, n->cnt, arena, &names) < 0)
		return;
	all = debug_packages(names, n->cnt, arena);
	if (*all)
		verdict_names_by(v, arena_printf(arena, "apt install %s", all), arena);
}
