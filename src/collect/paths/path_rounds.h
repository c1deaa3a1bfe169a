/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATH_ROUNDS_H
#define PATH_ROUNDS_H
/*
 * Tracepoints of a search, round by round: what a hit costs is measured on a child,
 * new tracepoints are only counted at first, and those that would cost too much are
 * taken off before anything is recorded.
 *
 *	path_rounds_start, then for each round _on, _count and _over now and then, _off;
 *	path_rounds_release
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/points/point_links.h"
#include "collect/points/point_price.h"

struct err;

/* All tracepoints of a round together may take so much of one CPU while they are on. */
#define PATH_ROUND_SHARE 0.08

struct path_round {		/* a round as the search wants it */
	const struct point_place *places;
	const bool *slow;	/* by place: point_site.slow */
	size_t cnt;
	uint64_t max_ns;	/* of following */
};

struct path_rounds {
	int prog_fd, hits_fd, cpu_cnt;
	struct point_price price;
	struct point_links links;
	uint32_t round;		/* from 1 */
	VEC(struct point_place) on;
	VEC(bool) slow;		/* by place that is on */
	VEC(uint64_t) hits;	/* by place that is on, when they were read last */
	VEC(struct point_place) ever;	/* each place that was on at some time */
	uint64_t hit_cnt;
	double cost_ns;		/* of all hits so far */
	/* When recording began: */
	uint64_t begin_ns;
	double begin_cost_ns;
	VEC(uint64_t) begin_hits;
};

int path_rounds_start(struct path_rounds *r, int prog_fd, int hits_fd, struct err *err);
void path_rounds_release(struct path_rounds *r);

/*
 * Switches the places on and counts for a tenth of a second; hot has those that are too
 * dear, which are off again: point, and hits in a second of its processes together.
 */
int path_rounds_on(struct path_rounds *r, const struct path_round *want, const uint32_t *tgids,
		   size_t tgid_cnt, void (*hot)(void *ctx, uint32_t point, double hits_s),
		   void *ctx, struct err *err);

/* Reads the counters: hit_cnt, cost_ns. */
void path_rounds_count(struct path_rounds *r);

/* Does the round cost far more than it may, as counted last?  *ret_point has most of it. */
bool path_rounds_over(const struct path_rounds *r, uint32_t *ret_point, double *ret_hits_s);

void path_rounds_off(struct path_rounds *r);

#endif /* PATH_ROUNDS_H */
