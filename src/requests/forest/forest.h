/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FOREST_H
#define FOREST_H
/*
 * The hypothesis forest as values: what the control logic tried, for which
 * group of requests, moved by which numbers, and what it showed.  One tree
 * per request type.  A hypothesis is "whether this tracepoint is in a trace
 * tells slow from fast, or tells where the time goes"; it has two nodes, for
 * the traces that have the tracepoint and for those that do not.  The root of
 * a tree has the traces as the always-on tracepoints show them; in a node's
 * traces only those and the hypotheses on its way to the root are seen, all
 * others were stripped before grouping.
 *
 * requests/search/control.h makes it; requests/forest/forest_file.h stores and reads it.
 * Arrays live in one arena and are in an order that only depends on what was
 * seen: trees by text of the type, nodes by number (a parent before its
 * children), groups by count, then hash.
 */
#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

struct arena;
struct path_bin;

enum {
	FOREST_NONE = UINT32_MAX,
	FOREST_BUCKETS = 64,
	FOREST_BINS_MAX = 64,	/* named of one group */
};

/* Counts of times: bucket b holds [2^(b/2), 2^((b+1)/2)) us, the first and last what is beyond. */
struct forest_times {
	uint64_t cnt;
	double mean_ns, sd_ns, min_ns, max_ns;
	uint32_t buckets[FOREST_BUCKETS];
};

struct forest_event {
	uint32_t point;
	uint32_t kind; /* enum node_kind */
};

/* From one event seen on the critical path to the next. */
struct forest_edge {
	struct forest_event from, to;
	uint32_t owner;		   /* tracepoint of the span that ran; FOREST_NONE: not known */
	uint32_t hidden_cnt;	   /* tracepoints of the space that can be between */
	double share_time;	   /* of the group's time */
	double share_variance;	   /* covariance with the total over its variance: adds to 1 */
	double share_low, share_high; /* 95 % interval of share_variance */
	double usual_ns;	   /* what it took in the search space; < 0: not known */
	struct forest_times times;
};

struct forest_key {		   /* a key whose values go with the time */
	uint32_t point, key;
	bool numeric;
	double strength;	   /* r, or eta² of a key of words */
	double p, q;		   /* q: false discovery rate */
	uint64_t cnt;
};

struct forest_group {
	uint64_t hash;
	const struct forest_edge *edges; /* of its path, in order */
	uint32_t edge_cnt, bin_cnt;
	const struct path_bin *bins; /* of keys that were given: part of the path */
	bool variable;		   /* CV over the threshold */
	bool slow;		   /* mean over the percentile of the type's other times */
	uint16_t pad;
	struct trace_id representative; /* the trace nearest to the mean; ties by id */
	struct trace_id fastest, slowest;
	struct forest_times times;
};

enum hypothesis_status {
	HYP_OPEN = 0,	   /* more traces are needed */
	HYP_EXPLORED = 1,  /* its traces led to the hypotheses below it */
	HYP_CALM = 2,	   /* its groups neither vary nor are slow */
	HYP_LOCALISED = 3, /* down to edges that nothing can split further */
	HYP_USELESS = 4,   /* the tracepoint explained nothing: switched off */
	HYP_STOPPED = 5,   /* a bound was reached */
};

/* One decision and the numbers that moved it. */
enum decision_kind {
	DECIDE_ON = 0,	     /* switch the point on, to split the edge */
	DECIDE_OFF = 1,	     /* switch the point off: it explained nothing, or no more */
	DECIDE_LOCALISED = 2, /* the edge is as small as the space allows */
	DECIDE_CALM = 3,     /* nothing to explain in the node */
	DECIDE_WAIT = 4,     /* more traces are needed to decide */
	DECIDE_STOP = 5,     /* bound reached */
};

struct forest_decision {
	uint32_t kind;		/* enum decision_kind */
	uint32_t round;		/* from 1 */
	uint32_t tree, node;	/* the node whose groups moved it */
	uint32_t point;		/* FOREST_NONE where no tracepoint is meant */
	uint32_t sides;		/* what of it: enum sides (requests/graph/span_ends.h) */
	uint32_t hidden_cnt;	/* tracepoints that could be on the edge */
	uint64_t group;		/* hash; 0: all groups of the node */
	struct forest_event from, to; /* the edge; point FOREST_NONE: none */
	uint32_t owner;
	uint32_t trace_cnt;
	double cv, mean_ns;	/* of the group, or the node */
	double usual_ns;	/* < 0: not known */
	double share_variance, share_time;
	double p;		/* chance of a difference as large where there is none */
	double explained;	/* eta² of the tree, or the node, when it was taken */
	const char *why;	/* one sentence */
};

struct forest_node {
	uint32_t parent;	/* FOREST_NONE: root */
	uint32_t point;		/* the hypothesis' tracepoint; of the root the type's */
	bool present;		/* traces with it, or without */
	uint8_t status;		/* enum hypothesis_status */
	uint8_t sides;		/* what of the point: enum sides */
	uint8_t pad;
	uint32_t other;		/* the node of the other sign; FOREST_NONE for a root */
	uint32_t round;		/* in which it was made */
	uint64_t trace_cnt;
	double mean_ns, cv;
	double explained;	/* eta²: variance of its traces that its groups explain */
	double split;		/* eta² of present against absent, kept at the parent's children */
	const struct forest_group *groups;
	const struct forest_key *keys;
	uint32_t group_cnt, key_cnt;
	uint64_t other_trace_cnt; /* in groups over the bound */
	uint64_t refused_cnt;	/* requests without an edge, or too long: left out */
	uint64_t edge_over_cnt;	/* edges over the bound on kinds: in none of them */
};

struct forest_tree {
	uint64_t type;		/* hash of the type's text */
	uint32_t point;		/* the root's tracepoint */
	uint32_t node_cnt;
	const struct forest_node *nodes;
	uint64_t trace_cnt;
	double explained;	/* eta² over the leaves */
};

struct forest {
	const struct forest_tree *trees;
	const struct forest_decision *decisions; /* all, in order of round */
	uint32_t tree_cnt, decision_cnt;
	uint32_t round;
	uint32_t pad;
	uint64_t fingerprint;	/* of the space it was made with */
};

/* FOREST_NONE when there is none of that type. */
uint32_t forest_find(const struct forest *f, uint64_t type);

/*
 * The nodes a trace comes through, the root first, then by number: on_path says by point (up to
 * point_cnt) what is on its critical path, as enum sides.  Returns how many were written.
 */
uint32_t forest_walk(const struct forest_tree *tree, const uint8_t *on_path, uint32_t point_cnt,
		     uint32_t *ret_nodes, uint32_t max);

enum forest_seen {
	FOREST_SEEN_NOT = 0,	/* the search never asked for it */
	FOREST_SEEN_ALWAYS = 1,	/* on from the beginning */
	FOREST_SEEN_ON = 2,	/* switched on by `by` */
	FOREST_SEEN_OFF = 3,	/* switched off again by `by` */
};

struct forest_sight {		/* whether, and by what, a tracepoint was on */
	enum forest_seen seen;
	uint32_t sides;		/* what of it was on last: enum sides */
	const struct forest_decision *by;
};

/* By point, point_cnt of them, of requests of the tree; lives in arena. */
const struct forest_sight *forest_sights(const struct forest *f, uint32_t tree,
					 uint32_t point_cnt, struct arena *arena);

#endif /* FOREST_H */
