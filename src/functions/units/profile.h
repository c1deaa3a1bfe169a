/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_PROFILE_H
#define FUNCTIONS_PROFILE_H
/*
 * A window as units, their clusters, and what is usual in each cluster: for
 * each call the middle and spread of ln(1 + count) and of ln(time of one).
 * Made of the window to judge, and of a good one to judge it by.
 *
 *	profile_make, profile_release
 */
#include <stdbool.h>
#include <stdint.h>

#include "functions/units/cluster.h"
#include "functions/units/feature_kinds.h"
#include "functions/units/units.h"
#include "functions/units/features.h"

struct appfns;
struct arena;
struct homes;
struct model;

/* Clusters with fewer units are not compared within themselves: PerfScope's rule. */
enum { CLUSTER_UNITS_MIN = 4 };

struct centre_dim {
	uint16_t dim;
	struct spread cnt;	/* of ln(1 + count), of the units that make it */
	struct spread cnt_all;	/* the same with 0 for the others */
	struct spread ns;	/* of ln(ns of one call), where it returned; mid 0: never */
	uint64_t having;	/* units that make it */
};

/*
 * Units of one cluster differ in some calls.  One that at least this part of
 * them makes is usual: making it is no deviation, making it more often is.
 */
#define USUAL_SHARE 0.05

struct centre {
	struct centre_dim *dims; uint32_t dim_cnt; /* ascending */
	uint64_t unit_cnt;
	uint64_t usual_ns;	/* median of a unit's time */
	struct spread busy;	/* of ln of it */
};

struct cluster {
	struct pattern first;	/* the set of calls that most of its units make */
	uint64_t key[PATTERN_WORDS]; /* the calls that at least half of them make */
	uint32_t pattern_cnt;
	uint32_t home_dim;	/* of most units' waits for work, DIM_OWN: none */
	uint64_t unit_cnt;
	uint64_t busy_ns;
	struct centre centre;
};

struct profile {
	const struct model *m;
	const struct appfns *fns; /* NULL: no stacks */
	struct dims dims;
	struct units units;	/* unit.pattern is the cluster's idx */
	struct cluster *clusters; uint32_t cluster_cnt; /* most units first */
	uint32_t pattern_cnt;
	uint64_t busy_ns;
	uint64_t bytes;		/* taken beside the arena, at most */
};

struct profile_opts {
	const struct appfns *fns; /* NULL: as if there were no stacks */
	const struct homes *homes; /* NULL: none is known beforehand */
	uint8_t rule;		/* enum units_rule */
};

void profile_make(struct profile *p, const struct model *m, const struct profile_opts *o,
		  struct arena *arena);
void profile_release(struct profile *p);

/* NULL: no unit makes that call. */
const struct centre_dim *centre_find(const struct centre *c, unsigned dim);

/* In ln: of a count, and of the time of one call of so many. */
double log_cnt(uint32_t cnt);
double log_ns(uint64_t ns, uint32_t cnt);

#endif /* FUNCTIONS_PROFILE_H */
