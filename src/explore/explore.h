/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORE_H
#define EXPLORE_H
/*
 * The search for the function that holds requests up.  Functions and who calls whom
 * come from stacks; tracepoints are entries of functions.  Round by round:
 *
 *	0. nothing is on: which requests are slow
 *	1. the outermost functions are on, then the callees of what was found;
 *	2. requests are cut into parts by the entries (timelines.h), and the part is found
 *	   in which slow ones take longer (looks.h);
 *	3. the function that begins that part, or asks for the answer, is split next: its
 *	   callees, and those that its callers call after it, are switched on;
 *	4. it ends when nothing is left to switch on there.
 *
 * Only looks that are evidence decide (looks.h): others go on, for EXPLORE_AGAIN rounds.
 * As VAIF's search, it starts with few tracepoints and adds some where the variance is
 * (VAIF, SoCC'21, 3.2); unlike it, its space is not known before, and grows.
 *
 *	explore_new, then rounds: explore_next, explore_enough, explore_take; explore_result
 *
 * Pure: no files, clocks or BPF.  Numbers of tracepoints are those of functions.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "explore/looks.h"
#include "explore/values.h"
#include "wire/path_events.h"

struct arena;
struct explore;
struct timelines;

#define EXPLORE_NONE UINT32_MAX
#define EXPLORE_ON_MAX 32	/* functions in one round */
#define EXPLORE_ROUNDS_MAX 16
#define EXPLORE_AGAIN 3
#define EXPLORE_CALLERS 6

struct explore_fn {
	const char *name, *module;
	uint64_t ns;		/* of stacks that have it, waits for work left out */
	double depth;		/* functions outside of it on the stack, mean by time */
	bool usable;		/* may have a tracepoint */
	bool own;		/* not of the C library */
};

struct explore_call {
	uint32_t caller, callee; /* idx of functions */
	uint64_t ns;		/* of stacks in which the one called the other */
};

struct explore_graph {		/* borrowed for the search's life */
	const struct explore_fn *fns;
	size_t fn_cnt;
	const struct explore_call *calls; /* by caller, then ns, largest first */
	size_t call_cnt;
	uint64_t all_ns;	/* of all stacks */
};

struct explore_round {
	const uint32_t *on;	/* functions; in the result's arena */
	uint32_t on_cnt;
	uint32_t hot_cnt;	/* of these: taken off, they would cost too much */
	struct look look;
	uint32_t top;		/* function or PART_* with the largest share; EXPLORE_NONE */
};

enum explore_end {
	EXPLORE_GOING = 0,
	EXPLORE_FOUND,		/* nothing smaller is left */
	EXPLORE_ROUNDS,		/* EXPLORE_ROUNDS_MAX */
	EXPLORE_QUIET,		/* no look was evidence, however often it was made */
};

struct explore_result {
	enum explore_end end;	/* GOING: it was ended by time or a signal */
	bool varies;		/* else all requests take alike */
	uint64_t p50_ns, p99_ns, slow_ns;
	uint64_t rare_ns;	/* the longest, where it and the next are too rare; 0 */
	double cv;
	uint64_t request_cnt, slow_cnt;	/* of all looks */
	/* The answer: EXPLORE_NONE when no look was evidence, or PART_*. */
	uint32_t top;
	struct look_point point;	/* of the last look that was evidence */
	struct path_sock asked;		/* PART_ASK: whom the slowest of its requests asked, */
	uint32_t asker;			/* and in which function most of that time; or NONE */
	bool after;		/* it is in the caller, after a call of .callee returned */
	uint32_t callee;
	uint32_t inner;		/* of the C library, found in what top calls; or NONE */
	uint32_t hot;		/* most of it is in this callee, which is hit too often; or NONE */
	uint32_t callers[EXPLORE_CALLERS]; /* of top, heaviest; EXPLORE_NONE ends them */
	struct explore_value values[EXPLORE_VALUES_MAX];
	uint32_t value_cnt;
	const struct explore_round *rounds;
	uint32_t round_cnt;
	uint32_t ever_cnt;	/* functions that were on at some time */
};

struct explore *explore_new(const struct explore_graph *graph);
/* NULL is fine. */
void explore_free(struct explore *e);

/* The functions of the next round, at most EXPLORE_ON_MAX; false: the search is over. */
bool explore_next(struct explore *e, uint32_t *ret_fns, uint32_t *ret_cnt);

/* A function of this round is off again: it is hit too often. */
void explore_hot(struct explore *e, uint32_t fn);

/* Does a request that takes so long count as slow, as far as is known? */
bool explore_is_slow(const struct explore *e, uint64_t ns);
/* Are so many requests of this round, some of them slow, likely to be evidence? */
bool explore_enough(const struct explore *e, uint64_t cnt, uint64_t slow_cnt);

/*
 * The round's requests; decides what comes next.  whole: the round took all the time that
 * one may, and was not ended to keep the cost down.
 */
void explore_take(struct explore *e, const struct timelines *t, bool whole);

/* Is the next round the same look, gone on with?  Then t is to keep the requests it has. */
bool explore_goes_on(const struct explore *e);

/* Valid as long as e and the arena. */
void explore_result(struct explore *e, struct arena *arena, struct explore_result *ret);

#endif /* EXPLORE_H */
