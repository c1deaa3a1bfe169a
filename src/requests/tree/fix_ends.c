/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the clocks say of a trace's tree: where open spans end, who is waited
 * for, and what reaches out of its parent.
 */
#include "requests/tree/graph_stats.h"
#include "requests/tree/tree.h"

bool span_tree_told_async(const struct span_tree *tree, uint32_t child)
{
	const struct tnode *node = &tree->nodes[child];
	const struct span *spans = tree->trace->spans;

	if (node->parent == TREE_NONE)
		return false;
	return node->flags & TNODE_TOLD || tree->nodes[node->parent].flags & TNODE_POINT ||
	       (spans[child].kind == SPAN_CONSUMER && spans[node->parent].kind == SPAN_PRODUCER);
}

/* On the parent's clock, the parent's own work, and outlives it: see graph.h, async. */
static bool span_tree_outlives(const struct span_tree *tree, uint32_t child)
{
	const struct tnode *node = &tree->nodes[child], *parent = &tree->nodes[node->parent];
	const struct span *a = &tree->trace->spans[child];
	const struct span *b = &tree->trace->spans[node->parent];

	if (node->flags & (TNODE_OPEN | TNODE_POINT | TNODE_ADOPTED))
		return false;
	return a->host == b->host && a->service == b->service &&
	       (a->kind == SPAN_INTERNAL || a->kind == SPAN_CLIENT || a->kind == SPAN_PRODUCER) &&
	       node->end - parent->end > TREE_TICK_NS;
}

/* Children before parents, so that one open span inside another carries on up. */
static void ends_find(struct span_tree *tree)
{
	for (uint32_t i = tree->order_cnt; i-- > 0;) {
		const struct tnode *node = &tree->nodes[tree->order[i]];
		struct tnode *parent;

		if (node->parent == TREE_NONE || span_tree_told_async(tree, tree->order[i]))
			continue;
		parent = &tree->nodes[node->parent];
		if (parent->flags & TNODE_OPEN && node->end > parent->end)
			parent->end = node->end;
	}
}

static void child_settle(struct span_tree *tree, uint32_t child, struct graph_stats *stats)
{
	struct tnode *node = &tree->nodes[child];
	const struct tnode *parent = &tree->nodes[node->parent];
	bool late = node->begin > parent->end ||
		    (node->begin == parent->end && node->end > node->begin);
	bool outside = node->begin < parent->begin;

	if (late || span_tree_told_async(tree, child) || span_tree_outlives(tree, child)) {
		node->flags |= TNODE_ASYNC;
		stats->async_cnt++;
	}
	if (node->begin < parent->begin)
		node->begin = parent->begin;
	if (!(node->flags & TNODE_ASYNC) && node->end > parent->end) {
		node->end = parent->end;
		outside = true;
	}
	if (node->end < node->begin)
		node->end = node->begin;
	stats->outside_cnt += outside;
}

void span_tree_settle(struct span_tree *tree, struct graph_stats *stats)
{
	if (tree->has_open)
		ends_find(tree);
	for (uint32_t i = 0; i < tree->order_cnt; i++) {
		if (tree->nodes[tree->order[i]].parent != TREE_NONE)
			child_settle(tree, tree->order[i], stats);
	}
}
