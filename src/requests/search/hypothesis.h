/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HYPOTHESIS_H
#define HYPOTHESIS_H
/*
 * The hypothesis forest while it grows: nodes with the evidence of their
 * traces.  Private to the control logic; requests/forest/forest.h is what others see.
 *
 * A hypothesis is two nodes made together: its number and the next, with and
 * without its tracepoint on the critical path.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "requests/search/control.h"
#include "requests/forest/evidence.h"
#include "requests/forest/hidden_points.h"
#include "requests/stats/attr_samples.h"
#include "requests/search/pick_point.h"
#include "requests/stats/sequential.h"
#include "requests/forest/space.h"
#include "requests/search/usual_span.h"

struct hyp_node {
	uint32_t parent, point, other;
	uint8_t sides;		/* enum sides: what of the point the hypothesis is about */
	bool present;
	bool active;		/* all that it needs is on: traces can be classed */
	bool pending;		/* it has edges that are not sure yet, or wait for larger ones */
	uint8_t status;		/* enum hypothesis_status */
	uint32_t round;
	struct sequential looks;
	uint8_t *on;		/* by point: what its traces are stripped to; its own */
	struct evidence e, young; /* young: what takes the place of e in time (evidence_age.c) */
	uint64_t edge_key;	/* of the parent's edge that it is to split; 0: root */
	/*
	 * Hash of the path that the root sees, of the requests it is about: all
	 * others of the type are what is usual.  0: it is about all.
	 */
	uint64_t only;
	double expected;	/* score that edge had */
	struct seen *usual;	/* the space's traces as stripped; in arena */
	uint32_t usual_cnt;	/* of them in this node */
	struct arena arena;
	struct hmap done;	/* keys of edges that are dealt with */
	struct samples samples;	/* for what keys explain */
};

struct found {			/* an edge that was located in a node's requests */
	uint64_t key;		/* of the edge, in whatever group, by who was found to run in it */
	uint64_t asked;		/* of the edge as the node has it, by who seemed to */
	uint64_t group;		/* hash of the path; 0: all of the node's requests */
	uint32_t node;
	double score;
};

struct hyp_tree {
	const struct space_type *type;
	struct known *known;	/* its samples */
	uint32_t known_cnt;
	struct usual_learnt learnt;
	VEC(struct hyp_node *) nodes;
	uint8_t *barred;	/* by point: sides that explained nothing here */
	bool young;		/* its nodes collect young evidence too, since young_round */
	uint32_t young_round, began_round;
	double look_cnt;	/* requests that a look is made of */
	uint64_t seen_cnt;	/* requests since it was weighed last */
	bool finished;
	bool deferred;		/* others lost more time and are looked at first */
	bool waiting;		/* in this round some node had too little to tell */
	double top;		/* in this round: largest score that is asked or waited for */
	double located;		/* score of what was localised */
	VEC(struct found) found;
	double base_ns;		/* all of the excess, once the root has evidence */
	double now_ns;		/* as the root tells it in this round; 0: nothing sure */
	double weight_ns;	/* by which its requests are slower, all together; 0: no shift */
	double top_share;	/* of the usual variance, with everything on: the largest edge's */
	uint64_t only, only_bins; /* MODE_SLOW: path and bins of the group that is looked at */
	uint8_t mode;		/* enum hyp_mode */
	struct arena arena;
};

enum hyp_mode {
	MODE_UNKNOWN = 0,
	MODE_SHIFT,		/* slower than the search space knows it: means */
	/*
	 * Shares of the variance, of all paths together: so the edges that other paths lack
	 * show a path that is always slow.
	 */
	MODE_VARIANCE,
	/* Neither, but the requests of one path take longer than all others: means. */
	MODE_SLOW,
};

struct control {
	const struct space *space;
	struct space_view view;
	struct control_opts opts;
	struct points *points;
	struct strtab *strings;
	struct arena arena;	/* view: for life */
	struct arena words;	/* of decisions */
	struct arena scratch;	/* one trace or one decision */
	struct arena round_arena;
	VEC(struct hyp_tree *) trees;
	struct hmap by_type;
	/*
	 * enum sides by point; size point_size, all points that there were at some
	 * time.  known: what the space has.
	 */
	uint8_t *always, *on, *ever, *known;
	uint32_t point_size;
	double *trust;
	uint32_t trust_cnt;
	VEC(struct forest_decision) decisions;
	VEC(struct control_located) located;
	uint64_t forgotten_cnt;	/* decisions that are not kept any more */
	uint32_t round, round_first; /* first decision of the round at hand */
	uint32_t new_cnt;	/* hypotheses made in this round */
	bool paused;
	struct key_vars vars;
	struct graph_stats stats;
	uint64_t trace_cnt, bad_trace_cnt, other_type_cnt;
};

/* ---- hypothesis.c */

struct hyp_tree *hyp_tree_new(struct control *c, const struct space_type *type);
void hyp_tree_free(struct hyp_tree *t);
void hyp_node_free(struct hyp_node *n);

/* the edges that a new pair of nodes looks at */
struct hyp_want {
	uint32_t tree, node;	/* parent */
	uint32_t point;
	uint8_t sides;
	const uint8_t *on;	/* by point: point and what bounds the focus; always-on ones */
	struct forest_event from, to; /* focus; from.point FOREST_NONE: the whole path */
	uint64_t edge_key, only;
	double expected;
};

/* Returns the number of the present node; FOREST_NONE when the tree is full. */
uint32_t hyp_pair_new(struct control *c, const struct hyp_want *want);

/* The tree of a trace and its root's view of it; NULL: none.  In c->scratch. */
struct hyp_tree *hyp_tree_of(struct control *c, const struct trace *t, struct seen *ret_root);

/* Which nodes a trace comes through: came has room for all; seen may be NULL. */
void hyp_walk(struct control *c, struct hyp_tree *tree, const struct trace *t,
	      const struct seen *root, bool *came, bool count);

/* Keys that go with the time of a node's requests, the strongest first; in arena. */
void hyp_keys_add(struct control *c, struct hyp_node *n, const struct seen *s);
const struct forest_key *hyp_keys_find(const struct control *c, const struct hyp_node *n,
				       struct arena *arena, uint32_t *ret_cnt);

#endif /* HYPOTHESIS_H */
