/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEW_INT_H
#define SKEW_INT_H
/* What bounds the clocks of two hosts in one trace; between skew.c and skew_learn.c. */
#include "requests/tree.h"

struct skew_bound {
	uint32_t host, moved;	/* spans on the two clocks */
	int64_t low, high;	/* of what must be added to moved's times; OFFSET_NO_* */
	bool impossible;	/* as they are, something that cannot be */
};

/* Whose clock it is: two spans with the same number share one. */
uint64_t skew_clock(const struct span *span);

/* Of a span with a parent; false when both are on one clock. */
bool skew_child_bound(const struct span_tree *tree, uint32_t child, struct skew_bound *ret);
bool skew_ref_bound(const struct span_tree *tree, const struct tref *ref, struct skew_bound *ret);

void skew_span_move(struct tnode *node, int64_t by);

#endif /* SKEW_INT_H */
