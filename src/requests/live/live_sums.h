/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIVE_SUMS_H
#define LIVE_SUMS_H
/*
 * Slices of one request type added up to a time of any length, and what they
 * say: quantiles, and the edges that hold the time and the variance.
 *
 *	struct live_edges edges = {0};	the names, of the type
 *	live_sums_slice, live_sums_add; live_sums_view
 *
 * Plain values without pointers: a sum can be kept as its bytes.
 */
#include <stdint.h>

#include "requests/live/live_types.h"

enum { LIVE_EDGE_NAMES = 64 };	/* of one type; edges over it are in no sum */

struct live_edges {
	uint32_t cnt, pad;
	struct {
		uint64_t hash;
		char name[LIVE_EDGE_LEN];
	} items[LIVE_EDGE_NAMES];
};

struct live_edge_sum {
	uint64_t hash, cnt;
	double sum_us, sum_xt;
};

struct live_sums {
	uint64_t cnt, failed_cnt;
	double sum_us, sum_sq;
	uint32_t hist[LIVE_BUCKETS];
	uint32_t edge_cnt, pad;
	struct live_edge_sum edges[LIVE_EDGES_GIVEN]; /* those with the most time */
};

struct live_share {		/* an edge's; name "": there is none */
	uint64_t hash;
	double share;		/* of all time, or of all variance */
	uint64_t mean_ns;	/* of a request */
	char name[LIVE_EDGE_LEN];
};

struct live_view {
	uint64_t cnt, failed_cnt, mean_ns, p50_ns, p99_ns;
	struct live_share time, variance;
};

/* Remembers the name of an edge, unless there are too many. */
void live_edges_name(struct live_edges *edges, uint64_t hash, const char *name);

/* Adds a slice; names that are new go into edges. */
void live_sums_slice(struct live_sums *to, struct live_edges *edges, const struct live_slice *s);

void live_sums_add(struct live_sums *to, const struct live_sums *from);

/* The value that q of all are not above, interpolated in its bucket; 0 of none. */
uint64_t live_sums_quantile(const struct live_sums *s, double q);

void live_sums_view(const struct live_sums *s, const struct live_edges *edges,
		    struct live_view *ret);

/*
 * The edge that takes most longer in now than in before, per request; share is
 * of what requests take longer.
 */
void live_sums_longer(const struct live_sums *before, const struct live_sums *now,
		      const struct live_edges *edges, struct live_share *ret);

#endif /* LIVE_SUMS_H */
