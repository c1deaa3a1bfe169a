/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "report/exports.h"
#include "stacks/stack_tree.h"

void export_folded_name(const char *name, struct buf *out)
{
	while (*name) {
		uint32_t cp;
		size_t len = utf8_decode(name, strnlen(name, 4), &cp);

		if (!len || utf8_is_unsafe(cp))
			buf_addch(out, '?');
		else if (cp == ';')
			buf_addch(out, ':');
		else
			buf_add(out, name, len);
		name += len ? len : 1;
	}
}

static void put_name(struct buf *out, const struct stack_fn *fn)
{
	export_folded_name(fn->name, out);
	if (fn->kind == FN_KERNEL)
		buf_adds(out, "_[k]");
	else if (fn->kind == FN_JIT)
		buf_adds(out, "_[j]");
}

/* path: the nodes from the outermost to the present one. */
static void put_tree(const struct stack_tree *t, const char *first, struct arena *arena,
		     struct buf *out)
{
	uint32_t *path = ARENA_ARRAY(arena, uint32_t, STACKS_PATH_MAX + 1);

	for (size_t i = 0; i < t->node_cnt; i++) {
		const struct tree_node *n = &t->nodes[i];

		path[n->depth] = n->fn;
		if (!n->self_ns[0])
			continue;
		buf_adds(out, first);
		for (uint32_t d = 0; d <= n->depth; d++) {
			if (d || first[0])
				buf_addch(out, ';');
			put_name(out, &t->fns[path[d]]);
		}
		buf_printf(out, " %llu\n", (unsigned long long)n->self_ns[0]);
	}
}

void export_folded(const struct stacks_result *r, unsigned modes, struct arena *arena,
		   struct buf *out)
{
	bool several = (modes & (modes - 1)) != 0;

	for (unsigned mode = 0; mode < STACKS_MODE_CNT; mode++)
		if (modes & 1u << mode)
			put_tree(tree_make(r, NULL, mode, arena),
				 several ? stacks_mode_name(mode) : "", arena, out);
}
