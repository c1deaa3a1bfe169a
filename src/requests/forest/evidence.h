/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EVIDENCE_H
#define EVIDENCE_H
/*
 * What the traces of one hypothesis node say: times of the edges of their
 * critical paths, over all of them and by group of identical path, beside
 * what was usual for the same edges in the search space's traces.
 *
 *	struct evidence e = {0};  evidence_begin, evidence_add ...
 *	evidence_release
 *
 * Sums are exact (requests/stats/moments.h): order changes nothing.  A node may look
 * at a stretch of the path only (its focus); the rest is one column then.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "trace/points.h"
#include "trace/trace.h"
#include "requests/stats/attr_bins.h"
#include "requests/graph/critical.h"
#include "requests/forest/forest.h"
#include "requests/graph/graph.h"
#include "requests/stats/moments.h"
#include "requests/stats/histograms.h"

enum {
	EVIDENCE_GROUPS_MAX = 2048,  /* of one node; those of the largest hash go */
	EVIDENCE_CLASSES_MAX = 4096, /* of one node; later ones are in the rest */
};

/* One trace, ready to be counted. */
struct seen {
	const struct trace *trace;
	struct graph graph;
	struct cpath path;
	uint64_t bins;		/* hash of the bins on the path; 0: no keys were given */
};

/* An edge as all paths of a node share it. */
struct edge_class {
	struct forest_event from, to;
	uint32_t owner;		/* tracepoint */
	uint32_t pad;
	uint64_t key;		/* hash of the texts */
};

/* Times of an edge wherever it is, on the critical path or beside it. */
struct beside {
	__int128 sum_ns, sum_sq_ns;
	uint64_t cnt;
	struct hist hist;
};

struct besides {
	VEC(struct beside) items;
	struct hmap by_key;
};

struct part {			/* requests whose path has the same bins */
	u128 sum_ns, sum_sq_ns;
	uint64_t cnt;
};

struct times {			/* a distribution as it is counted */
	int64_t min_ns, max_ns;
	uint32_t buckets[FOREST_BUCKETS];
};

struct evidence_group {
	uint64_t hash, bins;	   /* bins as in struct seen */
	struct path_bins names;	   /* of those, in order of the path */
	struct forest_edge *edges; /* from, to and owner; edge_cnt */
	uint32_t edge_cnt;
	struct moments moments;	   /* column: edge */
	struct times total;
	struct hist fine;	   /* of the total too, for ranks */
	struct times *edge_times;  /* edge_cnt */
	struct trace_id fastest, slowest;
	struct trace_id by_bucket[FOREST_BUCKETS]; /* the smallest id of each bucket */
};

struct evidence {
	struct forest_event from, to; /* focus; from.point FOREST_NONE: the whole path */
	uint32_t split;		/* tracepoint that was switched on to split the focus */
	uint8_t split_sides;	/* what of it: enum sides */
	const struct points *points;
	VEC(struct edge_class) classes; /* column: index + 1; column 0 is the rest */
	struct hmap by_key;
	struct moments live, usual;
	struct besides live_beside, usual_beside;
	VEC(struct evidence_group) groups;
	struct hmap by_hash;
	VEC(struct part) parts;
	struct hmap by_bins;
	bool parts_over;	/* more than EVIDENCE_GROUPS_MAX: they tell nothing */
	uint64_t other_cnt;	/* traces of groups that went */
	uint64_t refused_cnt;	/* requests without an edge, or longer than moments can hold */
	uint64_t class_dropped_cnt; /* edges over EVIDENCE_CLASSES_MAX, counted in the rest */
	/* room for one path */
	VEC(int64_t) took, by_col;
	VEC(uint32_t) cols;
	VEC(bool) marks;
};

void evidence_begin(struct evidence *e, const struct points *points, struct forest_event from,
		    struct forest_event to, uint32_t split, uint8_t split_sides);
void evidence_release(struct evidence *e);

/* A trace of now; a trace of the space. */
void evidence_add(struct evidence *e, const struct seen *s);
void evidence_add_usual(struct evidence *e, const struct seen *s);

/*
 * Variance of the requests' times; where keys were given, what is left of it
 * within the same bins.
 */
double evidence_var(const struct evidence *e);

/* NULL when there is no such group. */
struct evidence_group *evidence_group(const struct evidence *e, uint64_t hash);

/* NULL when there is no such edge. */
const struct beside *beside_find(const struct besides *b, uint64_t key);

uint64_t evidence_key(const struct points *points, struct forest_event from,
		      struct forest_event to, uint32_t owner);
/* Index of the class, made if it is new; UINT32_MAX when there are too many. */
uint32_t evidence_class(struct evidence *e, struct forest_event from, struct forest_event to,
			uint32_t owner);

uint32_t times_bucket(int64_t ns);

static inline bool event_same(struct forest_event a, struct forest_event b)
{
	return a.point == b.point && a.kind == b.kind;
}

/* The tracepoint of a span of the graph. */
uint32_t graph_point(const struct graph *g, uint32_t span);
/* The pred that came last; GRAPH_NONE: none. */
uint32_t graph_last_pred(const struct graph *g, uint32_t node);
/* Tracepoint of the span that ran between pred and node. */
uint32_t graph_owner(const struct graph *g, uint32_t pred, uint32_t node);

#endif /* EVIDENCE_H */
