/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PAUSE_SPREAD_H
#define PAUSE_SPREAD_H
/*
 * Makes up for a source that leaves out more at one time than at another, as
 * it does when there is more to do: each second shall weigh about the same,
 * so of a second with more detail a part is left out, chosen by a hash.
 *
 *	even_make, even_next to walk the time to use, even_release
 *
 * No second weighs more than twice what another does, unless less than one
 * part in sixteen of that one is known.
 */
#include "model/keep/pieces.h"

struct even {
	const struct pieces *pieces;
	uint64_t first;		/* number of the first second */
	double *parts;		/* by second: to be used of what is known */
	uint64_t cnt;
};

/* pieces must outlive it. */
void even_make(struct even *e, const struct pieces *pieces, uint64_t begin_ns, uint64_t end_ns);
void even_release(struct even *e);

/* As pieces_next, without coarse time. */
bool even_next(const struct even *e, uint64_t begin_ns, uint64_t end_ns, struct stretch *ret);

#endif /* PAUSE_SPREAD_H */
