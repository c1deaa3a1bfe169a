/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the end of a span the path goes to the exit of the child that ended
 * last, of those that the span waits for; from the begin of a child to the
 * exit of the one that ended last of those before it that had ended by then,
 * else to the begin of the span.  That is what graph_preds.c and last_pred of
 * critical.c come to for one parent's children in order: of two that ended at
 * one instant the later in order has the later node.
 */
#include "requests/graph/critical_fast.h"

#include "base/arena.h"
#include "requests/graph/critical.h"
#include "requests/graph/path_hash.h"
#include "requests/graph/graph.h"
#include "requests/graph/graph_int.h"
#include "requests/tree/tree.h"

struct visit {			/* a span on the path whose begin was not reached yet */
	int64_t bound_ns;	/* what comes now had ended by then */
	uint32_t span;
	uint32_t kid_idx;	/* its children, of struct walk's kids, the last first */
	uint32_t kid_at, kid_end;	/* those that may come */
};

struct walk {
	const struct span_tree *tree;
	struct cstep *steps;	/* filled from the end */
	uint32_t at;
	struct visit *stack;
	uint32_t depth;
	uint32_t *kids;		/* of all spans on the stack */
	uint32_t kid_cnt;
};

/*
 * References order spans in other ways, and of long joins the graph counts
 * what it leaves out.  Children of one parent are side by side in the order.
 */
static bool is_simple(const struct span_tree *tree)
{
	uint32_t parent = TREE_NONE, waited = 0;

	if (tree->ref_cnt || tree->nodes[tree->root].flags & TNODE_POINT)
		return false;
	for (uint32_t i = 0; i < tree->order_cnt; i++) {
		const struct tnode *node = &tree->nodes[tree->order[i]];

		if (node->parent != parent)
			waited = 0;
		parent = node->parent;
		waited += !(node->flags & TNODE_ASYNC);
		if (waited > GRAPH_JOIN_MAX)
			return false;
	}
	return true;
}

static void step_put(struct walk *w, uint32_t span, enum node_kind kind)
{
	const struct tnode *node = &w->tree->nodes[span];
	uint32_t owner = kind == NODE_EXIT || node->parent == TREE_NONE ? span : node->parent;

	w->steps[--w->at] = (struct cstep){
		.at_ns = kind == NODE_EXIT ? node->end : node->begin,
		.point = node->point,
		.span = span,
		.owner = owner,
		.owner_point = w->tree->nodes[owner].point,
		.kind = (uint8_t)kind,
	};
}

static bool comes_before(const struct span_tree *tree, uint32_t a, uint32_t b)
{
	const struct tnode *x = &tree->nodes[a], *y = &tree->nodes[b];

	return x->begin != y->begin ? x->begin < y->begin : span_tree_cmp(tree, a, b) < 0;
}

/*
 * At most GRAPH_JOIN_MAX are sorted, stable as graph.c does it: both the list
 * and kids go from the last to the first.
 */
static void span_visit(struct walk *w, uint32_t span)
{
	const struct tnode *nodes = w->tree->nodes;
	uint32_t *kids = w->kids + w->kid_cnt, cnt = 0;

	for (uint32_t c = nodes[span].first_child; c != TREE_NONE; c = nodes[c].next) {
		uint32_t to;

		if (nodes[c].flags & TNODE_ASYNC)
			continue;
		for (to = cnt++; to && comes_before(w->tree, kids[to - 1], c); to--)
			kids[to] = kids[to - 1];
		kids[to] = c;
	}
	w->stack[w->depth++] = (struct visit){
		.bound_ns = INT64_MAX,
		.span = span,
		.kid_idx = w->kid_cnt,
		.kid_at = w->kid_cnt,
		.kid_end = w->kid_cnt + cnt,
	};
	w->kid_cnt += cnt;
}

/* The child by which the path goes on; the others that may come after it are left. */
static uint32_t kid_take(const struct walk *w, struct visit *v)
{
	const struct tnode *nodes = w->tree->nodes;
	int64_t end_ns = 0;
	uint32_t best = TREE_NONE, at = v->kid_at;

	for (uint32_t i = at; i < v->kid_end; i++) {
		uint32_t kid = w->kids[i];
		int64_t end = nodes[kid].end;

		if (end <= v->bound_ns && (best == TREE_NONE || end > end_ns)) {
			end_ns = end;
			best = kid;
			at = i + 1;
		}
	}
	v->kid_at = at;
	return best;
}

static void walk_back(struct walk *w)
{
	step_put(w, w->tree->root, NODE_EXIT);
	span_visit(w, w->tree->root);
	while (w->depth) {
		struct visit *v = &w->stack[w->depth - 1];
		uint32_t kid = kid_take(w, v);

		if (kid == TREE_NONE) {
			step_put(w, v->span, NODE_ENTRY);
			w->kid_cnt = v->kid_idx;
			w->depth--;
			continue;
		}
		v->bound_ns = w->tree->nodes[kid].begin;
		if (w->tree->nodes[kid].flags & TNODE_POINT) {
			step_put(w, kid, NODE_NOTE);
		} else {
			step_put(w, kid, NODE_EXIT);
			span_visit(w, kid);
		}
	}
}

static void path_make(const struct tree_ctx *ctx, const struct span_tree *tree, struct cpath *ret)
{
	uint32_t cnt = tree->order_cnt;
	struct walk w = {
		.tree = tree,
		.steps = ARENA_ARRAY(ctx->arena, struct cstep, 2 * (size_t)cnt),
		.at = 2 * cnt,
		.stack = ARENA_ARRAY(ctx->arena, struct visit, cnt),
		.kids = ARENA_ARRAY(ctx->arena, uint32_t, cnt),
	};

	walk_back(&w);
	for (uint32_t i = w.at + 1; i < 2 * cnt; i++)
		w.steps[i].edge_ns = w.steps[i].at_ns - w.steps[i - 1].at_ns;
	*ret = (struct cpath){
		.steps = w.steps + w.at,
		.step_cnt = 2 * cnt - w.at,
		.total_ns = tree->nodes[tree->root].end - tree->nodes[tree->root].begin,
	};
}

int quick_path(const struct tree_ctx *ctx, const struct trace *trace, const uint64_t *bins,
	       struct graph *ret_graph, struct cpath *ret_path)
{
	struct span_tree tree;
	int err = graph_tree(ctx, trace, &tree);

	if (err)
		return err;
	if (is_simple(&tree)) {
		*ret_graph = (struct graph){
			.span_cnt = trace->span_cnt,
			.root_span = tree.root,
			.total_ns = tree.nodes[tree.root].end - tree.nodes[tree.root].begin,
		};
		graph_type_find(ctx, &tree, ret_graph);
		path_make(ctx, &tree, ret_path);
	} else {
		graph_of_tree(ctx, &tree, ret_graph);
		critical_steps(ret_graph, ctx->arena, ret_path);
	}
	ret_graph->bins = bins;
	ret_graph->tree = tree.nodes;
	cshape_exact(ret_graph, ctx->points, ret_path);
	return 0;
}
