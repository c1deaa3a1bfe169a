/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TREE_H
#define TREE_H
/*
 * Who is whose child in a trace, by ids alone: the part of the rules in
 * graph.h that needs no clock but for ties.  What the graph, the mending of
 * clocks and the stripping share; not for others.
 */
#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

struct arena;
struct graph_stats;
struct points;
struct strtab;

#define TREE_NONE UINT32_MAX

enum tnode_flags {
	TNODE_POINT = 1 << 0,
	TNODE_OPEN = 1 << 1,
	TNODE_DROPPED = 1 << 2,	/* a twin of another: not in order */
	TNODE_ORPHAN = 1 << 3,	/* its parent is not in the trace */
	TNODE_ADOPTED = 1 << 4,	/* child of the root without a parent */
	TNODE_TOLD = 1 << 5,	/* marked: nobody waits for it */
	TNODE_AFTER = 1 << 6,	/* has a SPAN_REF_AFTER to a span of the trace */
	TNODE_ASYNC = 1 << 7,	/* found that nobody waits for it (fix_ends.c) */
	TNODE_SAME = 1 << 8,	/* another span has its id too */
};

struct tnode {			/* by span index */
	int64_t begin, end;	/* from the root's begin, within +-TREE_NS_MAX; end >= begin */
	uint64_t hash;		/* of the tracepoint */
	uint32_t parent, first_child, next;	/* TREE_NONE: none */
	uint32_t point;
	uint16_t flags;		/* enum tnode_flags */
	uint16_t pad[3];
};

/* Differences of times stay far from overflow, whatever a file says. */
#define TREE_NS_MAX (INT64_C(1) << 59)

/*
 * Some clocks tick in milliseconds (browsers, some runtimes' begin of a span):
 * within one, order says nothing.
 */
#define TREE_TICK_NS INT64_C(1000000)

struct tref {			/* a reference inside the trace, other than to the parent */
	uint32_t span, target;
	uint32_t kind;		/* enum span_ref_kind; no links */
};

struct span_tree {
	const struct trace *trace;
	struct tnode *nodes;
	uint32_t *order;	/* parents before children; no dropped ones */
	uint32_t order_cnt;
	struct tref *refs;	/* in order of span index */
	uint32_t ref_cnt;
	uint32_t root;
	bool has_open;
};

struct tree_ctx {
	struct points *points;
	const struct strtab *strings;
	struct arena *arena;
	struct graph_stats *stats;
};

/* trace has a span.  The tree lives in ctx->arena and borrows trace. */
void span_tree_make(const struct tree_ctx *ctx, const struct trace *trace, struct span_tree *ret);

/* Which of two spans comes first where the clock and all else leave it open. */
int span_tree_cmp(const struct span_tree *tree, uint32_t a, uint32_t b);

/* Told by kind, reference or shape that nobody waits for the child. */
bool span_tree_told_async(const struct span_tree *tree, uint32_t child);

/*
 * Applies the rules that need clocks: open spans get an end, children are
 * found asynchronous or cut at their parent's ends.
 */
void span_tree_settle(struct span_tree *tree, struct graph_stats *stats);

#endif /* TREE_H */
