/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSISTENTLY_SLOW_H
#define CONSISTENTLY_SLOW_H
/*
 * Which requests are slow though they vary little: a group of one critical
 * path whose CV is under the bound and whose mean is over the given percentile
 * of all other requests of its type; and by which edges.  Others of the type
 * are what is usual, so nothing need be known from before.
 */
#include <stdbool.h>
#include <stdint.h>

#include "requests/forest/evidence.h"

struct arena;
struct hmap;

struct slow_opts {
	double cv_min, slow_pct;
	uint32_t min_cnt;
	const struct hmap *skip; /* by hash of groups that are not wanted; may be NULL */
};

/* The group of which all requests together lost the most; NULL: none is. */
const struct evidence_group *slow_find(const struct evidence *e, const struct slow_opts *opts);

/* Times of all groups; to be given back to hist_release. */
struct hist slow_times(const struct evidence *e);

/* Is a mean of g, whose requests are among those times, over pct of the others'. */
bool slow_over(const struct hist *all, uint64_t all_cnt, const struct evidence_group *g,
	       double mean_ns, double pct);

struct slow_edge {
	double gain_ns;		/* mean time over that of the others that have the edge */
	double error_ns;	/* of that */
	double usual_ns;	/* of the others; < 0: none has it */
	double mean_ns;		/* the group's */
	bool on_path;		/* the group has it */
};

/* By class of e; in arena. */
const struct slow_edge *slow_edges(struct evidence *e, const struct evidence_group *g,
				   struct arena *arena);

/* Mean of all groups but g; < 0: there are none. */
double slow_others_mean(const struct evidence *e, const struct evidence_group *g);

#endif /* CONSISTENTLY_SLOW_H */
