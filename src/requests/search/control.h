/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_H
#define CONTROL_H
/*
 * Decides which tracepoints are on.  Traces come in as what is on shows them;
 * at the end of each round the hypotheses are weighed and the next
 * tracepoints chosen.  Pure logic: no files, sockets or clocks; the same for
 * recorded traces (requests/replay/replay.h) and running programs.
 *
 *	control_new; then rounds: control_wants tells what to hide, control_add
 *	for each trace, control_decide; control_forest at any time; control_free
 *
 * The order of the traces of a round changes nothing.  A trace is seen by the
 * forest's nodes with what their hypotheses need and no more (forest.h), so
 * what is on for one never disturbs another, and traces of earlier rounds
 * stay good evidence.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "trace/points.h"
#include "requests/stats/attr_bins.h"
#include "requests/forest/forest.h"
#include "requests/graph/span_ends.h"

struct space;
struct trace;
struct control;

enum strategy {
	STRATEGY_HEDGE = 0,	   /* ours: the fewest tracepoints that can be expected */
	STRATEGY_FLAT = 1,	   /* the paper's: the middle by happens-before */
	STRATEGY_HIERARCHICAL = 2, /* the paper's: the middle child span */
};
enum { STRATEGIES = 3 };

struct control_opts {	   /* a zero field means its default */
	enum strategy strategy;
	double cv_min;	   /* a group over it varies; 0.10 */
	double slow_pct;   /* percentile of the type's times a slow group's mean is over; 95 */
	uint32_t min_cnt;  /* no decision on fewer traces; 20 */
	uint32_t budget;   /* tracepoints switched on in one round; 8 */
	uint32_t nodes_max; /* of one tree; 256 */
	/*
	 * Traces that will come at most; 0: no end.  A search that may see few
	 * must decide on less.
	 */
	uint64_t most_cnt;
	double alpha;	   /* chance of a wrong decision in a whole search; 0.05 */
	double enough;	   /* share of the excess to be localised before a search ends; 0.80 */
	/*
	 * What was seen so many rounds ago, or at most twice as many, counts no
	 * more, once there is enough that is younger; a search that has ended
	 * begins anew then.  64: no search of those measured took half of it.
	 */
	uint32_t age_rounds;
	bool keep_going;   /* look for what is left after the first finding too */
	/*
	 * The begin and the end of a span are two tracepoints, switched each for
	 * itself (as the paper has it); else a span is one.
	 */
	bool apart;
	/*
	 * The bins of these separate requests too: they are part of the
	 * hash of a path, and what varies between them alone is explained.
	 * Borrowed for control's life.
	 */
	struct key_specs keys;
	const struct forest *earlier; /* prior from an earlier run, same points; may be NULL */
};

struct control_located {	/* each edge once, of whatever nodes and trees */
	uint32_t tree, node;	/* where it was found first */
	uint32_t round, last_round; /* in which it was located, and was again */
	uint64_t key;		/* of the edge: a hash of its texts */
	struct forest_event from, to;
	uint32_t owner;		/* tracepoint that ran in it */
	uint64_t group;
	double share_variance;	/* of the node's */
	double excess_ns;	/* mean time over what was usual; over 0 when that is not known */
	double score;		/* 0-1: of all that is to be explained where it was found */
	double weight_ns;	/* lost by all requests for it; 0: no shift, variance */
};

struct control_round {		/* valid until the next control_decide */
	uint32_t round;
	bool finished;		/* nothing left to look for */
	const struct sided *on, *off; /* tracepoints to switch, those of a span together */
	uint32_t on_cnt, off_cnt;
	const struct forest_decision *decisions; /* of this round */
	uint32_t decision_cnt;
	uint32_t located_cnt;
	const struct control_located *located;	/* all so far, by weight, then score */
};

struct control_counts {		/* tracepoints: spans, or apart their begins and ends */
	uint32_t point_cnt;	/* in the space */
	uint32_t always_cnt;	/* of these always on */
	uint32_t on_cnt;	/* on now, without those */
	uint32_t ever_cnt;	/* on at any time, without those */
	uint64_t trace_cnt, bad_trace_cnt, other_type_cnt; /* seen; refused; of no known type */
};

/* All but opts (copied) is borrowed for its life; points and strings are those of the space. */
struct control *control_new(const struct space *space, const struct control_opts *opts,
			    struct points *points, struct strtab *strings);
void control_free(struct control *c);

/*
 * The sides of a point that are on now: enum sides. Points outside the space are
 * never asked for.
 */
uint8_t control_wants(const struct control *c, uint32_t point);

/* A trace as seen with what is on.  What cannot be used is counted. */
void control_add(struct control *c, const struct trace *t);

/* Ends a round. */
void control_decide(struct control *c, struct control_round *ret);

void control_counts(const struct control *c, struct control_counts *ret);

/* Tells of a full queue: while paused nothing is switched on. */
void control_pause(struct control *c, bool paused);

/* The forest as of now; in arena. */
const struct forest *control_forest(const struct control *c, struct arena *arena);

/* The leaves that a trace ends in, deepest first; returns how many were written. */
uint32_t control_walk(const struct control *c, const struct trace *t, uint32_t *ret_nodes,
		      uint32_t max);

/* The sides to disable at the end: all that is on without being always on. */
uint32_t control_shutdown(struct control *c, struct sided *ret, uint32_t max);

#endif /* CONTROL_H */
