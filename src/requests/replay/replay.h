/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPLAY_H
#define REPLAY_H
/*
 * How few tracepoints would have been enough?  Plays recorded traces, in which
 * everything was on, to a strategy that sees only what it switched on, and
 * tells what it switched on, how many rounds that took, and what it found.
 * Beside our control logic and the paper's two stand simple rules, to compare.
 *
 *	replay_new(&input, &opts), replay_run for each strategy, replay_free
 *
 * A round shows a strategy a batch of traces, then it decides.  The live
 * traces come in an order drawn from the seed; with something to inject they
 * come again when all have been shown, with other draws of it.  Without, the
 * replay ends then: the same trace shown twice is no more evidence than once.
 * All strategies get the same.  Pure values: the traces are the caller's, no
 * files, no clock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/points.h"
#include "trace/trace.h"
#include "requests/search/control.h"
#include "requests/replay/inject.h"

struct arena;
struct replay;

enum replay_strategy {
	REPLAY_HEDGE,		/* control.h's, in its order */
	REPLAY_FLAT,
	REPLAY_HIERARCHICAL,
	/*
	 * One tracepoint a round until the first edge by covariance share holds
	 * nothing hidden: a random one ("historic" in the paper's code), ...
	 */
	REPLAY_RANDOM,
	/* ... as the paper's published code: groups of one path, the edge of most variance, ... */
	REPLAY_VARIANCE,
	/* ... the edge whose mean moved most against the undisturbed traces. */
	REPLAY_SHIFT,
	REPLAY_ASTRAEA,		/* beliefs and sampling for each span, see replay_astraea.c */
	REPLAY_ALL,		/* everything on: the edges by covariance share */
};
enum { REPLAY_STRATEGIES = REPLAY_ALL + 1 };

const char *replay_strategy_name(enum replay_strategy strategy);
/* -EINVAL when there is none of that name. */
int replay_strategy_parse(const char *name, enum replay_strategy *ret_strategy);

struct replay_input {	/* borrowed until replay_free */
	const struct trace *const *learn; /* the search space, and what was usual, is from these */
	size_t learn_cnt;
	const struct trace *const *live;
	size_t live_cnt;
	const struct inject_plan *plan;	/* into the live ones; NULL: they are as they are */
	const struct space *space;	/* learnt already, from learn and maybe more; NULL: not */
	struct points *points;		/* added to */
	struct strtab *strings;
};

struct replay_opts {		/* a zero field means its default */
	uint32_t batch;		/* traces in a round; 100, or see replay_batch */
	uint32_t rounds_max;	/* 50 */
	uint64_t seed;
	struct control_opts control; /* strategy is replay_run's */
	/* Asked before each round (from 1); false ends the run there.  NULL: none asks. */
	bool (*goes_on)(void *ctx, enum replay_strategy strategy, uint32_t round);
	void *ctx;
};

struct replay_located {
	struct forest_event from, to;
	uint32_t owner;		/* tracepoint that ran in it; FOREST_NONE: not known */
	uint32_t round;
	uint32_t hidden_cnt;	/* tracepoints that may still be between */
	double share;		/* of the excess to explain */
};

/*
 * Of each tracepoint that something was injected at.  A delay counts where it
 * is on the critical path of the whole trace: beside it, or beside a longer
 * one, it slowed nobody.
 */
struct replay_truth {
	uint32_t point;
	double share;		/* of all the delay on critical paths */
	bool felt;		/* a share to be found: see REPLAY_FELT_MIN */
	uint32_t rank;		/* of the first located edge that it owns, from 1; 0: none */
	uint32_t round;		/* when that was located */
};

/* A search leaves less than this unexplained (control_opts.enough): no truth to find. */
#define REPLAY_FELT_MIN 0.2

struct replay_result {
	enum replay_strategy strategy;
	uint32_t round_cnt;	/* until it ended */
	bool ended;		/* by itself, not by the bound on rounds or by a lack of traces */
	bool stopped;		/* by goes_on */
	bool right;		/* the felt truths are the first it located; false without any */
	uint64_t trace_cnt;	/* shown */
	uint64_t other_type_cnt; /* of these, of no type that was learnt: not looked at */
	uint64_t span_cnt;	/* in them */
	uint64_t seen_span_cnt;	/* of these, of tracepoints that were on */
	uint32_t point_cnt;	/* tracepoints of the space: spans, or apart their two sides */
	uint32_t always_cnt;	/* of these on from the start, for the path to be seen */
	double enabled_cnt;	/* on at any time beyond those (with sampling: on average) */
	double on_cnt;		/* of these, still on at the end */
	uint32_t least_cnt;	/* tracepoints at the ends of the edges that were slowed, without
				 * those always on: with fewer nobody can tell */
	uint32_t located_cnt, truth_cnt, decision_cnt;
	const struct replay_located *located;	/* best first */
	const struct replay_truth *truths;
	const struct forest *forest;	/* of control.h's strategies; NULL for others */
	const struct forest_decision *decisions; /* the forest's */
	struct inject_hits hits;
};

struct replay *replay_new(const struct replay_input *input, const struct replay_opts *opts);
void replay_free(struct replay *r);

/* The result lives in arena. */
void replay_run(struct replay *r, enum replay_strategy strategy, struct arena *arena,
		struct replay_result *ret);

/* Tracepoints of the space, and those always on. */
void replay_points(const struct replay *r, uint32_t *ret_cnt, uint32_t *ret_always);

/* Traces in a round, after the defaults. */
uint32_t replay_batch(const struct replay *r);

/* Borrowed until replay_free. */
const struct space *replay_space(const struct replay *r);

#endif /* REPLAY_H */
