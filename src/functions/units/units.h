/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_UNITS_H
#define FUNCTIONS_UNITS_H
/*
 * Execution units: what one thread did between two idle waits.
 *
 * A thread's *home* is the place where it most often waits for work: the call
 * and, with stacks, the function that made it; without, the kind of what it
 * waits for.  Without stacks all waits in a futex that ended are home if one
 * kind of them is: the waits for locks among them look the same.
 *
 * A unit begins where such a wait ended, and its first call is that wait,
 * whose time is not the unit's.  A wait at home that did not give up the CPU
 * ends a unit too, since the thread asked for more work, unless all that it
 * got done before came to nothing (EAGAIN, end of file, an error): such a
 * loop is one unit.
 *
 * Where a recorder took blocking calls only (CALLF_WAIT) a unit is made of
 * these, from one to the next, also where there is none between two waits for
 * work: what else the thread did is its own time.  A unit that such a time
 * begins or ends in is torn.  Without stacks there are no units of this kind.
 *
 * A thread without a home is cut where it makes no call for far longer than
 * it usually does, at least GAP_MIN_NS.
 *
 * UNITS_PAPER is PerfScope's rule for traces of others: the order of all
 * calls is cut where the next one is another thread's or on another CPU, or
 * 0.6 s after the unit's begin.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "functions/units/feature_kinds.h"

struct appfns;
struct call;
struct homes;
struct model;

#define GAP_MIN_NS UINT64_C(50000000) /* shorter pauses are a disk's or a scheduler's */
#define PAPER_GAP_NS UINT64_C(600000000)
/*
 * A loop that never comes home still makes units to compare: several in a
 * window of seconds.  Pieces of work end before, but for those that hang.
 */
enum { UNIT_CALLS_MAX = 10000 };
#define UNIT_LONG_NS UINT64_C(1000000000)

struct unit {			/* 16 bytes; calls[first, first + cnt) of one thread */
	uint32_t first;
	uint32_t cnt : 31, at_home : 1; /* at_home: the first call is the wait for work */
	uint32_t pattern;	/* later: its cluster's idx */
	uint32_t shape;		/* later: idx of its shape */
};

enum { HOME_KEYS = 16 };

struct home {			/* of one thread */
	uint64_t key;		/* as call_key gives it; 0: none */
	uint64_t others[HOME_KEYS - 1]; /* of the same call, nearly as often; 0: none */
	uint8_t cls;		/* enum call_class */
};

struct units {
	VEC(struct unit) units;	/* by thread, then time */
	struct home *homes;	/* by thread */
	uint64_t idle_cnt;	/* units that were nothing but a wait for work */
	uint64_t torn_cnt;	/* left out: the recorder was away at their begin or end */
	uint64_t noise_cnt;	/* calls that are in no unit's features */
	bool has_switches;
	uint64_t blocked_ns;	/* without: longer than a call works */
};

struct units_opts {
	const struct dims *dims;
	const struct appfns *fns; /* NULL: without stacks */
	const struct homes *homes; /* known beforehand; NULL: nothing is */
	uint8_t rule;		/* enum units_rule */
};

void units_make(struct units *u, const struct model *m, const struct units_opts *o);
void units_release(struct units *u);

/*
 * Where a call waits: of calls that can wait for work, else 0.  before: the
 * thread's call before it without noise, NULL; what a read follows tells one
 * kind of reading from another where there are no stacks.
 */
uint64_t call_key(const struct units_opts *o, const struct call *c, const struct call *before);

/*
 * The key is the home's; of a call without a stack among others with one, its
 * kind of call.  Where there are no stacks at all, any wait of the home's call
 * counts that is over; one that is not (pending) has to follow what waits for
 * work are known to follow, for it may be a hang.
 */
bool key_is_home(const struct home *home, uint64_t key, bool pending);

/* The call gave its CPU up, or took so long that it must have. */
bool call_blocked(const struct units *u, const struct call *c);

#endif /* FUNCTIONS_UNITS_H */
