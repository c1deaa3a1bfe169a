/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEW_H
#define SKEW_H
/*
 * Clocks of several hosts that contradict each other.
 *
 * A host is what struct span's host says, or the service where that is 0.
 * What a host's clock says of two events on it is believed; clocks of two
 * hosts are compared by what must have been so:
 *
 *	a child began after its parent did;
 *	it also ended before it, when it is waited for and not the longer one;
 *	a span that is SPAN_REF_AFTER another began after that one ended.
 *
 * Each bounds by how much one clock must be moved against the other; of the
 * offsets that contradict the fewest, the one nearest to none is taken if none
 * is among them, else the middle of them (as if the way there took as long as
 * the way back).  So an offset is right to half the width of those: sure_ns.
 *
 * In one trace (skew_mend_tree, done by graph_build) clocks are moved only
 * when something impossible was seen, by over a millisecond (some clocks tick
 * so slowly): began before its parent, or a server without error that was not
 * inside its client; that a child outlives its parent may be true.
 *
 * Over many traces (struct skew) a host's clock is moved when moving it mends
 * at least half of the bounds between it and another that are contradicted (by
 * over a millisecond), and more than CLOCK_SHARE_PCT % of them are impossible as
 * above, or more than half contradicted: fewer children that outlive their
 * parents are work left behind.  Where nothing is contradicted by a millisecond,
 * what the clocks of the two hosts are seen to tick in is taken for it (95 % of
 * begins or ends are whole ones of it), down to a microsecond; then one offset must
 * leave at most CLOCK_LEFT_PCT % contradicted.  It is right to much less, since the tightest
 * bounds of all requests count.  Where one offset leaves more contradicted
 * than that, the clock was set on the way or runs at another speed, and it gets an
 * offset for each piece of time (clock_fit.h).  A step is known to between two
 * of the bounds kept, so requests near it may be left to what is done for one
 * trace, as are those during which it came.  Pairs of hosts of which even so
 * more is impossible are named (unsettled).
 *
 *	skew_new, _learn for every trace, _finish, then _mend for every trace
 *
 * Which of many bounds of a pair are kept depends on ids alone, so the order of
 * traces changes nothing.
 */
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct graph_stats;
struct skew;
struct span_tree;
struct strtab;
struct trace;

enum {
	SKEW_TRACE_HOSTS_MAX = 64,	/* hosts of one trace: above, it stays as it is */
	SKEW_PAIRS_MAX = 4096,		/* pairs of hosts that are compared */
	SKEW_FITS_MAX = 64,		/* of these, the ones that get pieces: about 40 ms each */
	SKEW_ROWS_MAX = 4096,		/* pieces of hosts that are listed */
	SKEW_UNSETTLED_MAX = 16,
};

struct skew_host {		/* of one piece of time */
	uint32_t host;		/* string id of the host, or of the service that has none */
	uint32_t against;	/* the same of the host it was compared with */
	uint32_t reference;	/* and of that whose times the offset is against */
	int64_t offset_ns;	/* what is added to its times; with drift at at_ns */
	int64_t from_ns, to_ns;	/* the piece; INT64_MIN, _MAX: open */
	bool by_own;		/* which its own clock shows, else against's does */
	int64_t at_ns;
	double drift;		/* what more is to be added, ns for each ns */
	int64_t sure_ns;	/* right to this, against against's; -1: at least so much */
	uint32_t bound_cnt;	/* of those two, the ones looked at */
	uint32_t broken_before, broken_after;	/* of these, contradicted */
};

struct skew_unsettled {		/* nothing mends these */
	uint32_t host, against;
	uint32_t bound_cnt, impossible_cnt;
};

struct skew_result {
	const struct skew_host *hosts;	/* those moved, by name and time */
	uint32_t host_cnt;
	uint64_t untold_cnt;		/* over SKEW_ROWS_MAX: moved too */
	uint32_t reference;		/* string id: the host with the most spans */
	const struct skew_unsettled *unsettled;	/* of these the first, by name */
	uint32_t unsettled_cnt;
	uint64_t unseen_cnt;		/* bounds of pairs of hosts over SKEW_PAIRS_MAX */
};

/* strings is borrowed until _free. */
struct skew *skew_new(const struct strtab *strings);
void skew_free(struct skew *s);
void skew_learn(struct skew *s, const struct trace *trace);

/* Call once.  What it returns is borrowed until _free. */
const struct skew_result *skew_finish(struct skew *s);

/* *ret is trace, or, where its hosts' clocks were moved, with spans copied to arena. */
void skew_mend(struct skew *s, const struct trace *trace, struct arena *arena,
	       struct trace *ret);

/* Moves the spans of tree in place; root's host stays.  For graph_build. */
void skew_mend_tree(struct span_tree *tree, struct arena *arena, struct graph_stats *stats);

#endif /* SKEW_H */
