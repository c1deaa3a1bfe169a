/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/libbpf.h>

#include "collect/live/hooks.h"
#include "unit.h"
#include "wire/wire.h"
#include "wire/conf.h"
#include "heldup.skel.h"

static bool is_ours(const char *name)
{
	return strncmp(name, HOOKS_PREFIX, strlen(HOOKS_PREFIX)) == 0;
}

TEST(hooks_have_texts)
{
	for (size_t i = 0; i < hooks_cnt; i++) {
		const struct hook *h = &hooks_table[i];
		ROW(i);
		OK(h->name && *h->name && h->cost && *h->cost);
		OK(hooks_find(h->name) == h);
		OK(!h->instead || hooks_find(h->instead));
		OK(strcmp(hooks_kind_name(h->kind), "?") != 0);
		OK((h->kind == HOOK_MAP || h->kind == HOOK_HELPER) == (h->nr != 0));
	}
	OK(!hooks_find("no_such_hook"));
}

/* Each program's hook has a row, and doctor can find the program by its name. */
TEST(hooks_cover_programs)
{
	struct heldup_bpf *skel = heldup_bpf__open();
	struct bpf_program *prog;
	struct bpf_map *map;

	OK(skel);
	bpf_object__for_each_program(prog, skel->obj) {
		const char *section = bpf_program__section_name(prog);
		const char *slash = strchr(section, '/');
		if (!is_ours(bpf_program__name(prog)))
			FAIL("program %s has no " HOOKS_PREFIX, bpf_program__name(prog));
		if (strcmp(section, "raw_tp") == 0)
			continue; /* is run by user space, attached nowhere */
		if (!hooks_find(slash ? slash + 1 : section))
			FAIL("no row for %s", section);
	}
	bpf_object__for_each_map(map, skel->obj) {
		if (!strchr(bpf_map__name(map), '.') && !is_ours(bpf_map__name(map)))
			FAIL("map %s has no " HOOKS_PREFIX, bpf_map__name(map));
	}
	heldup_bpf__destroy(skel);
}

static bool is_used(struct heldup_bpf *skel, const struct hook *h)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj) {
		const char *slash = strchr(bpf_program__section_name(prog), '/');
		if (slash && strcmp(slash + 1, h->name) == 0)
			return true;
	}
	return false;
}

/* doctor must not ask for what nothing uses. */
TEST(hooks_are_used)
{
	struct heldup_bpf *skel = heldup_bpf__open();

	OK(skel);
	for (size_t i = 0; i < hooks_cnt; i++) {
		const struct hook *h = &hooks_table[i];
		if ((h->kind == HOOK_TP_BTF || h->kind == HOOK_ITER) && !is_used(skel, h))
			FAIL("no program uses %s", h->name);
	}
	heldup_bpf__destroy(skel);
}
