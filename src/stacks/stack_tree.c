/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/stack_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/vec.h"
#include "stacks/fns.h"

struct link {			/* as it grows */
	uint32_t fn, parent, first, next; /* NO_IDX none */
	uint32_t share;		/* the first of its states, in grower.shares; NO_IDX none */
	uint64_t ns[2], self_ns[2];
};

struct state_share {		/* of all beneath a link; few links have more than two or three */
	uint64_t ns;
	uint32_t next;
	uint8_t st;
};

struct grower {
	struct fns fns;
	VEC(struct link) links;
	VEC(struct state_share) shares;
	struct hmap by_step;	/* parent and function, to place plus one */
	struct stack_tree *tree;
	uint32_t *ids;		/* from a result's functions to those of the tree */
};

static uint32_t child_get(struct grower *g, uint32_t parent, uint32_t fn)
{
	uint64_t *slot = hmap_slot(&g->by_step, (uint64_t)parent << 32 | fn);
	uint32_t at;

	if (*slot)
		return (uint32_t)*slot - 1;
	if (g->links.cnt >= TREE_NODES_MAX) {
		hmap_del(&g->by_step, (uint64_t)parent << 32 | fn);
		return NO_IDX;
	}
	at = (uint32_t)g->links.cnt;
	*slot = at + 1;
	*vec_add(&g->links) = (struct link){.fn = fn, .parent = parent, .first = NO_IDX,
					    .next = g->links.items[parent].first,
					    .share = NO_IDX};
	g->links.items[parent].first = at;
	return at;
}

static void link_put(struct grower *g, uint32_t at, const struct stack_row *row, int side)
{
	struct link *l = &g->links.items[at];
	uint32_t share = l->share;

	l->ns[side] += row->ns;
	while (share != NO_IDX && g->shares.items[share].st != row->st)
		share = g->shares.items[share].next;
	if (share != NO_IDX) {
		g->shares.items[share].ns += row->ns;
		return;
	}
	vec_push(&g->shares, ((struct state_share){row->ns, l->share, row->st}));
	l->share = (uint32_t)g->shares.cnt - 1;
}

/* The state that most of the time beneath is in; of equal ones the first by number. */
static uint8_t link_state(const struct grower *g, const struct link *l)
{
	uint64_t most = 0;
	uint8_t st = 0;

	for (uint32_t i = l->share; i != NO_IDX; i = g->shares.items[i].next) {
		const struct state_share *s = &g->shares.items[i];

		if (i == l->share || s->ns > most || (s->ns == most && s->st < st)) {
			most = s->ns;
			st = s->st;
		}
	}
	return st;
}

static void row_put(struct grower *g, const struct stacks_result *r, const struct stack_row *row,
		    int side)
{
	uint32_t path[STACKS_PATH_MAX], cnt = stacks_path(r, row, path, STACKS_PATH_MAX), at = 0;

	link_put(g, 0, row, side);
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t next = child_get(g, at, g->ids[path[i]]);

		if (next == NO_IDX) {
			g->tree->cut_ns += row->ns;
			break;
		}
		at = next;
		link_put(g, at, row, side);
	}
	g->links.items[at].self_ns[side] += row->ns;
	g->tree->total_ns[side] += row->ns;
}

static void result_put(struct grower *g, const struct stacks_result *r, unsigned mode, int side)
{
	CLEANUP_FREE uint32_t *ids = xcalloc(r->fn_cnt + 1, sizeof(*ids));

	for (size_t i = 0; i < r->fn_cnt; i++)
		ids[i] = fns_same(&g->fns, &r->fns[i]);
	g->ids = ids;
	for (size_t i = r->first_row[mode]; i < r->first_row[mode + 1]; i++)
		row_put(g, r, &r->rows[i], side);
	g->ids = NULL;
}

struct order { uint64_t ns; uint32_t at; };

static int cmp_order(const void *pa, const void *pb)
{
	const struct order *a = pa, *b = pb;

	CMP(b->ns, a->ns);
	CMP(a->at, b->at);
	return 0;
}

struct todo { uint32_t at, depth; };

/* The children onto the stack of what is still to be walked, the lightest first. */
static void children_push(const struct grower *g, const struct todo *from, struct order *order,
			  struct todo *todo, size_t *cnt)
{
	size_t child_cnt = 0;

	for (uint32_t c = g->links.items[from->at].first; c != NO_IDX; c = g->links.items[c].next)
		order[child_cnt++] = (struct order){
			g->links.items[c].ns[0] + g->links.items[c].ns[1], c};
	qsort(order, child_cnt, sizeof(*order), cmp_order);
	while (child_cnt)
		todo[(*cnt)++] = (struct todo){order[--child_cnt].at, from->depth + 1};
}

static void walk(struct grower *g, struct arena *arena)
{
	CLEANUP_FREE struct order *order = xcalloc(g->links.cnt, sizeof(*order));
	CLEANUP_FREE struct todo *todo = xcalloc(g->links.cnt, sizeof(*todo));
	struct stack_tree *t = g->tree;
	size_t cnt = 1;

	t->nodes = ARENA_ARRAY(arena, struct tree_node, g->links.cnt);
	todo[0] = (struct todo){0, UINT32_MAX}; /* the root itself is no node */
	while (cnt) {
		struct todo now = todo[--cnt];
		const struct link *l = &g->links.items[now.at];

		if (now.at)
			t->nodes[t->node_cnt++] = (struct tree_node){
				.fn = l->fn, .depth = now.depth, .st = link_state(g, l),
				.ns = {l->ns[0], l->ns[1]},
				.self_ns = {l->self_ns[0], l->self_ns[1]},
			};
		children_push(g, &now, order, todo, &cnt);
	}
}

struct stack_tree *tree_make(const struct stacks_result *r, const struct stacks_result *other,
			     unsigned mode, struct arena *arena)
{
	struct grower g = {.tree = ARENA_NEW(arena, struct stack_tree)};

	fns_init(&g.fns, r->m, arena);
	*vec_add(&g.links) = (struct link){.parent = NO_IDX, .first = NO_IDX, .next = NO_IDX,
					   .share = NO_IDX};
	result_put(&g, r, mode, 0);
	if (other)
		result_put(&g, other, mode, 1);
	walk(&g, arena);
	g.tree->fn_cnt = g.fns.fns.cnt;
	g.tree->fns = ARENA_ARRAY(arena, struct stack_fn, g.tree->fn_cnt + 1);
	if (g.tree->fn_cnt)
		memcpy(g.tree->fns, g.fns.fns.items, g.tree->fn_cnt * sizeof(*g.tree->fns));
	fns_release(&g.fns);
	vec_release(&g.links);
	vec_release(&g.shares);
	hmap_release(&g.by_step);
	return g.tree;
}
