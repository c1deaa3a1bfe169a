/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STACKS_STACK_TREE_H
#define STACKS_STACK_TREE_H
/*
 * The rows of one mode as a call tree, which a flame graph draws; with a
 * second result, of both in one: each node has the time of either.
 *
 *	tree_make: results in, tree in the arena
 *
 * Nodes are in the order of a walk from the outside in, heavier first, so that
 * depth alone gives the shape.  At most TREE_NODES_MAX: what would be deeper
 * stays with the node above and is counted in cut_ns.
 */
#include "stacks/stacks.h"

enum { TREE_NODES_MAX = 1 << 18 };

struct tree_node {
	uint32_t fn;		/* idx in tree.fns */
	uint32_t depth;		/* 0: a process */
	uint8_t st;		/* ST_*: of most of the time beneath */
	uint64_t ns[2], self_ns[2]; /* of the first and the second result */
};

struct stack_tree {
	struct stack_fn *fns; size_t fn_cnt;
	struct tree_node *nodes; size_t node_cnt;
	uint64_t total_ns[2], cut_ns;
};

/* other may be NULL. */
struct stack_tree *tree_make(const struct stacks_result *r, const struct stacks_result *other,
			     unsigned mode, struct arena *arena);

#endif /* STACKS_STACK_TREE_H */
