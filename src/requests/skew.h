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
 * Over many traces (struct skew) clocks are moved when more than
 * SKEW_SHARE_PCT % of what bounds a pair of hosts contradicts them as they
 * are and moving them mends at least half of that.  It is right to much less,
 * since the tightest bounds of all requests count; but it takes clocks to run
 * at one speed: over hours, read in parts.
 *
 *	skew_new, _learn for every trace, _finish, then _mend for every trace
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
	SKEW_HOSTS_MAX = 4096,		/* of all; later ones are not compared */
	SKEW_SAMPLES = 512,		/* bounds kept of a pair of hosts: a fair draw */
	SKEW_SAMPLES_MIN = 20,		/* fewer do not move a clock */
	SKEW_SHARE_PCT = 5,		/* bounds broken by other causes: timeouts, lost parents */
};

/* Moves the spans of tree in place; root's host stays.  For graph_build. */
void skew_mend_tree(struct span_tree *tree, struct arena *arena, struct graph_stats *stats);

#endif /* SKEW_H */
