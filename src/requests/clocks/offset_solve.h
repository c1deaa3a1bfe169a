/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFSET_SOLVE_H
#define OFFSET_SOLVE_H
/*
 * Offsets of clocks from bounds: of a pair of hosts, then of all hosts
 * against one.  For skew.c and skew_learn.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OFFSET_NO_LOW (INT64_MIN / 4)
#define OFFSET_NO_HIGH (INT64_MAX / 4)

struct bound {			/* low <= (how much b's clock must be moved against a's) <= high */
	int64_t low, high;
	uint32_t a, b;		/* hosts, numbered from 0; a < b */
};

struct offset {			/* of a pair */
	uint32_t a, b;
	int64_t offset_ns;	/* to be added to b's times */
	int64_t sure_ns;	/* half the width of what would do as well */
	uint32_t cnt;		/* bounds */
	uint32_t broken_before, broken_after;
};

/* The bound with the hosts in order. */
struct bound bound_of(uint32_t host, uint32_t moved, int64_t low, int64_t high);

int bound_cmp(const void *a, const void *b);	/* by a, b, low, high */

/* Offset from the bounds of one pair; sorts them by low. highs is scratch for cnt numbers. */
struct offset offset_find(struct bound *bounds, size_t cnt, int64_t *highs);

struct offsets {		/* by host, all zero before the first spread */
	int64_t *ns, *unsure;
	bool *known;
	uint32_t *via;		/* may be NULL; 1 + index of the pair that led there */
};

/*
 * Hosts against start, along the pairs with the most bounds first, of those
 * the surest, of those the first.  Hosts that no pair leads to stay unknown.
 */
void offsets_spread(struct offsets *o, const struct offset *pairs, size_t pair_cnt,
		    uint32_t start);

#endif /* OFFSET_SOLVE_H */
