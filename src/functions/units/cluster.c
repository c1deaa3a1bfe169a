/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/cluster.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cmp.h"

int pattern_cmp(const void *pa, const void *pb)
{
	const struct pattern *a = pa, *b = pb;

	CMP(b->cnt, a->cnt);
	for (unsigned i = 0; i < PATTERN_WORDS; i++)
		CMP(a->bits[i], b->bits[i]);
	return 0;
}

struct chain_state {
	uint16_t *dist;
	uint32_t n;
	uint8_t *gone;		/* merged into another, or done */
	uint32_t *into;		/* by index: what it was merged into */
};

/* The nearest that is left; prefer is taken when it is as near: the chain then ends. */
static uint32_t nearest(const struct chain_state *s, uint32_t at, uint32_t prefer)
{
	const uint16_t *row = s->dist + (size_t)at * s->n;
	uint32_t best = prefer;

	for (uint32_t i = 0; i < s->n; i++) {
		if (i == at || s->gone[i])
			continue;
		if (best == UINT32_MAX || row[i] < row[best])
			best = i;
	}
	return best;
}

/* The farther of two distances is that of the union. */
static void merge(struct chain_state *s, uint32_t a, uint32_t b)
{
	uint32_t keep = a < b ? a : b, drop = a < b ? b : a;

	for (uint32_t i = 0; i < s->n; i++) {
		uint16_t *x = &s->dist[(size_t)keep * s->n + i];
		uint16_t y = s->dist[(size_t)drop * s->n + i];

		if (y > *x)
			*x = y;
		s->dist[(size_t)i * s->n + keep] = *x;
	}
	s->gone[drop] = 1;
	s->into[drop] = keep;
}

static uint32_t root_of(const struct chain_state *s, uint32_t at)
{
	while (s->into[at] != at)
		at = s->into[at];
	return at;
}

static void chain_from(struct chain_state *s, uint32_t start, uint32_t *chain, unsigned cut)
{
	uint32_t len = 0;

	chain[len++] = start;
	while (len) {
		uint32_t at = chain[len - 1], before = len > 1 ? chain[len - 2] : UINT32_MAX;
		uint32_t next = nearest(s, at, before);

		if (next == UINT32_MAX || s->dist[(size_t)at * s->n + next] > cut) {
			/* the nearest is too far, and merging others only moves it away */
			s->gone[at] = 1;
			len--;
		} else if (next == before) {
			merge(s, at, before);
			len -= 2;
		} else {
			chain[len++] = next;
		}
	}
}

uint32_t cluster_matrix(uint16_t *dist, uint32_t n, unsigned cut, uint32_t *ret_of)
{
	CLEANUP_FREE uint8_t *gone = xcalloc(n + 1, 1);
	CLEANUP_FREE uint32_t *into = xcalloc(n + 1, sizeof(*into));
	CLEANUP_FREE uint32_t *chain = xcalloc(n + 1, sizeof(*chain));
	struct chain_state s = {dist, n, gone, into};
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < n; i++)
		into[i] = i;
	for (uint32_t i = 0; i < n; i++) {
		/* a merge keeps the lower index, which may be this one again */
		while (!gone[i])
			chain_from(&s, i, chain, cut);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t root = root_of(&s, i);

		ret_of[i] = root == i ? cnt++ : ret_of[root];
	}
	return cnt;
}

/*
 * A rare set joins the cluster whose first set is nearest, when that is near
 * enough or there are too many clusters; else it is a new one.
 */
static uint32_t join(const struct pattern *patterns, uint32_t at, const uint32_t *firsts,
		     uint32_t cluster_cnt)
{
	uint32_t best = 0;
	unsigned best_dist = UINT32_MAX;

	for (uint32_t i = 0; i < cluster_cnt; i++) {
		unsigned dist = pattern_distance(&patterns[firsts[i]], &patterns[at]);

		if (dist < best_dist) {
			best_dist = dist;
			best = i;
		}
	}
	return best_dist <= CLUSTER_DIAMETER || cluster_cnt >= CLUSTERS_MAX ? best : cluster_cnt;
}

uint32_t cluster_patterns(const struct pattern *patterns, uint32_t cnt, uint32_t *ret_of)
{
	uint32_t n = cnt < CLUSTER_EXACT_MAX ? cnt : CLUSTER_EXACT_MAX, cluster_cnt;
	CLEANUP_FREE uint16_t *dist = xcalloc((size_t)n * n + 1, sizeof(*dist));
	CLEANUP_FREE uint32_t *firsts = xcalloc(CLUSTERS_MAX + 1, sizeof(*firsts));

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < i; k++)
			dist[(size_t)i * n + k] = dist[(size_t)k * n + i] =
				(uint16_t)pattern_distance(&patterns[i], &patterns[k]);
	cluster_cnt = cluster_matrix(dist, n, CLUSTER_DIAMETER, ret_of);
	for (uint32_t i = n; i-- > 0;)
		firsts[ret_of[i]] = i;
	for (uint32_t i = n; i < cnt; i++) {
		ret_of[i] = join(patterns, i, firsts, cluster_cnt);
		if (ret_of[i] == cluster_cnt)
			firsts[cluster_cnt++] = i;
	}
	return cluster_cnt;
}
