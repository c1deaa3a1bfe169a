/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALL_CHANGES_H
#define CALL_CHANGES_H
/*
 * What of the structure of requests changed between good ones and bad: a call
 * that is not made any more (they end early, or have a better way), one that is
 * new, and, in changes.h, what is called more often.  Weighed by what it makes
 * of the time, so that it can be held against the edges that got slower.
 *
 * Only the call nearest to the root is listed: what its callee would have called
 * is gone with it.
 */
#include <stdint.h>

struct arena;
struct requests_diff;

enum structure_kind {
	STRUCTURE_LESS,		/* in fewer requests than before */
	STRUCTURE_NEW,		/* in more of them, before in hardly any */
};

struct structure_change {
	enum structure_kind kind;
	uint32_t type;			/* of requests_diff's */
	uint32_t point, parent;		/* who is called, and by whom */
	double good_share, bad_share;	/* of the requests, that have such a call */
	double delta_ns;		/* of those that it changed: over the good ones' mean */
	double cost_ns;			/* its absolute value, over all of these */
};

/* Fills in diff's structure, costliest first, in arena. */
void call_changes_find(struct requests_diff *diff, struct arena *arena);

#endif /* CALL_CHANGES_H */
