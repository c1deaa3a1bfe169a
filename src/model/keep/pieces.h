/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PIECES_H
#define PIECES_H
/*
 * Which time is kept of a window that holds too many waits, for src/model only.
 *
 * Time is cut into slices of 134 ms.  Halved once, of two neighbours one is
 * kept; halved again, of four; and so on, or, where few slices would be left,
 * half of each.  A hash of the place says which, so that what comes
 * at regular times is neither always nor never met; what is kept after a
 * halving was kept before it.
 *
 *	pieces_halve when memory is full; pieces_coarse for time of which not
 *	all is known; pieces_next to walk what is kept; pieces_release
 *
 * All-zero keeps all.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct stretch {
	uint64_t begin_ns, end_ns;
};

struct pieces {
	uint8_t level;	/* of 2^level slices one */
	uint8_t narrow; /* of that one, the 2^narrow-th part */
	VEC(struct stretch) coarse; /* ordered, apart */
};

/* Halves what is kept of a window this long; false: what is left is too small for that. */
bool pieces_halve(struct pieces *p, uint64_t window_ns);

/* The same by leaving whole slices out, though few are left; false: too few. */
bool pieces_fewer(struct pieces *p, uint64_t window_ns);

/* Not all waits are known between; false where it is not after those before. */
bool pieces_coarse(struct pieces *p, uint64_t begin_ns, uint64_t end_ns);

/* The first kept stretch in [begin, end), clipped to it.  clear: without what is coarse. */
bool pieces_next(const struct pieces *p, uint64_t begin_ns, uint64_t end_ns, bool clear,
		 struct stretch *ret);

/* Forgets what is coarse outside of what is kept. */
void pieces_prune(struct pieces *p);

void pieces_release(struct pieces *p);

#endif /* PIECES_H */
