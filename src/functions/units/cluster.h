/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_CLUSTER_H
#define FUNCTIONS_CLUSTER_H
/*
 * Which units do similar things: complete linkage on the sets of calls they
 * make, cut where two units of a cluster differ in more than four calls
 * (PerfScope's diameter).  Units by the million make sets by the hundred, so
 * the distinct sets are clustered, and the result is the same.
 *
 * Complete linkage by the nearest-neighbour chain: O(n^2) for n sets, and what
 * two clusters that are each other's nearest merge to does not depend on the
 * order.  Ties go to the lower index: give the sets in an order of their own.
 */
#include <stddef.h>
#include <stdint.h>

#include "functions/units/feature_kinds.h"

enum {
	CLUSTER_DIAMETER = 4,
	PATTERN_WORDS = DIMS_MAX / 64,
	/* Distances of so many sets take 8 MiB; rarer sets join the cluster they are next to,
	 * which may then be up to twice as wide. */
	CLUSTER_EXACT_MAX = 2048,
	CLUSTERS_MAX = 4096,
};

struct pattern {		/* a set of calls */
	uint64_t bits[PATTERN_WORDS];
	uint64_t cnt;		/* units with it */
};

static inline unsigned pattern_distance(const struct pattern *a, const struct pattern *b)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < PATTERN_WORDS; i++)
		sum += (unsigned)__builtin_popcountll(a->bits[i] ^ b->bits[i]);
	return sum;
}

/* By units, most first, then by bits: the order to cluster in. */
int pattern_cmp(const void *a, const void *b);

/*
 * ret_of: by pattern, its cluster; numbers by the lowest pattern in them.
 * Returns how many there are.
 */
uint32_t cluster_patterns(const struct pattern *patterns, uint32_t cnt, uint32_t *ret_of);

/*
 * The part below: dist is an n*n matrix, symmetric, which is overwritten;
 * clusters whose distance is at most cut are merged.
 */
uint32_t cluster_matrix(uint16_t *dist, uint32_t n, unsigned cut, uint32_t *ret_of);

#endif /* FUNCTIONS_CLUSTER_H */
