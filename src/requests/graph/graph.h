/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GRAPH_H
#define GRAPH_H
/*
 * What happened before what in one request.  Each span is two nodes, entry
 * and exit; an instant (SPANF_POINT) is one, as is a span of which the begin or the
 * end alone was seen (SPANF_BEGIN, SPANF_END): an entry or an exit, of which
 * the rules are those of instants.  A node's preds are those that had to
 * happen before it could: the critical path is a walk along them.
 *
 *	struct graph_stats stats = {0};
 *	graph_build(&trace, &points, &strings, &arena, &graph, &stats);
 *
 * Time and memory are linear in spans and references but for sorting.  No
 * number depends on the order of the spans in the trace.
 *
 * The rules, each counted in struct graph_stats:
 *
 * order	Children of one span that do not overlap are ordered, those that
 *	overlap are concurrent: a child's entry has as preds the exits of its
 *	parent's earlier children that no other earlier child comes after (the
 *	join), else the parent's entry.  A parent's exit has those of all it
 *	waits for, else its own entry.  Of a join before an entry only the
 *	GRAPH_JOIN_MAX that ended last are kept (join_cut).
 * async	Nobody waits for a child that begins when its parent has ended, that
 *	is marked so (SPAN_REF_FOLLOWS to its parent, a consumer below a
 *	producer), that is below an instant, or that outlives a parent on the
 *	same clock by over 1 ms and is said to be the parent's own work (of the
 *	same service, kind internal, client or producer): the parent cannot
 *	have waited.  Its exit is no pred of its parent's.
 * outside	Other children are waited for; what reaches out of the parent is
 *	cut at the parent's begin and end, as the Jaeger UI does.
 * skew		Clocks of several hosts that contradict each other are corrected
 *	first: see skew.h.
 * shared	Of two spans with one id (Zipkin), a client's and a server's, the
 *	server's is the client's child, and children of the id are the child of
 *	whichever is of their service, else the server's.
 * duplicate	A span that is there twice in all its fields is one.  Where only
 *	the id is the same, both are spans; children belong to the first begun.
 * orphan	A span whose parent is not in the trace is a child of the root.
 * roots	The root is the first begun of the spans without parent and
 *	references, else of the orphans.  Other such spans are its children.
 *	Where there are several, none is the whole: synthetic_root.h puts a root over
 *	them first, and here is left what it does not count, instants.
 * cycle	In a ring of parents the first begun loses its parent.  In a ring
 *	of references the first begun loses the reference that closes it.
 * open		A span whose end was not seen ends when the last of its children
 *	does (each cut at no parent), else when it begins.
 * negative	A span that ends before it begins ends when it begins.
 * refs		SPAN_REF_AFTER makes the other's exit a pred of the entry,
 *	SPAN_REF_FOLLOWS the other's entry; SPAN_REF_LINK orders nothing.  One to
 *	a span that is not there is dropped (ref_lost).  Where the clock says the
 *	opposite, the reference of a span that has a parent is dropped
 *	(ref_backward); one without parent has nothing else to order it and is
 *	moved to the later time (raised).
 * end		The request ends with the root's exit; where the root is an instant,
 *	with the latest node.
 */
#include <stdint.h>

#include "requests/tree/graph_stats.h"

struct arena;
struct points;
struct strtab;
struct tnode;
struct trace;

enum {
	GRAPH_JOIN_MAX = 16,
};
#define GRAPH_NONE UINT32_MAX

enum node_kind {	/* hashed: append only */
	NODE_ENTRY = 0,
	NODE_EXIT = 1,
	NODE_NOTE = 2,	/* an instant: a span's entry and exit in one */
};

struct gnode {
	int64_t at_ns;		/* corrected, from the root's begin */
	uint32_t point, span;	/* span: index in the trace */
	uint32_t pred_idx, pred_cnt;	/* in struct graph's preds */
	uint8_t kind;		/* enum node_kind */
	uint8_t pad[7];
};

enum gspan_flags {
	GSPAN_ASYNC = 1 << 0,	/* its parent does not wait for it */
	GSPAN_DROPPED = 1 << 1,	/* the second of two that are the same: has no nodes */
	GSPAN_ORPHAN = 1 << 2,	/* its parent is not in the trace */
	GSPAN_ADOPTED = 1 << 3,	/* the root's child without a better parent */
};

struct gspan {			/* by the trace's span index */
	uint32_t entry, exit;	/* nodes; the same one for an instant */
	uint32_t parent;	/* span index after the rules above; GRAPH_NONE: none */
	uint32_t flags;		/* enum gspan_flags */
};

struct graph {
	const struct gnode *nodes;	/* by time, preds always before */
	const uint32_t *preds;		/* node indexes */
	const struct gspan *spans;
	uint32_t node_cnt, span_cnt;
	uint32_t root_span, start, end;	/* start and end: nodes */
	uint32_t reordered;		/* 1: references contradict the clock somewhere */
	int64_t total_ns;		/* of end, start being 0 */
	uint32_t type;			/* the root's tracepoint */
	uint32_t type_span;		/* the span that named the type: the root or one below */
	uint32_t type_point;		/* its tracepoint */
	uint32_t type_detail;		/* string id of what the root's name does not say, or 0 */
	uint64_t type_hash;		/* of the texts */
	/*
	 * By span, or NULL: set by callers whose path
	 * hashes separate values of keys (a hash of key and bin, 0: none).
	 */
	const uint64_t *bins;
	const struct tnode *tree;	/* by span, whose child it is; quick_path's, else NULL */
};

/*
 * The graph lives in arena.  -ENODATA for a trace without spans, -E2BIG for
 * one over GRAPH_SPAN_MAX.  stats is added to.
 */
int graph_build(const struct trace *trace, struct points *points, const struct strtab *strings,
		struct arena *arena, struct graph *ret, struct graph_stats *stats);

#endif /* GRAPH_H */
