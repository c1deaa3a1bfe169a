/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_OUTLIERS_H
#define FUNCTIONS_OUTLIERS_H
/*
 * Which units of a cluster are unlike the others, and in what.
 *
 * Each unit becomes a vector of robust deviations: for each call of its
 * cluster, how many spreads its count and its time lie from the middle, in
 * whole ones, with those below DEV_IGNORED as 0.  On that grid nearly all units of a
 * cluster are one point, and a window of millions has some hundred points:
 * their nearest neighbours are found by comparing all with all.  Where there
 * are more than POINTS_MAX the grid is made coarser.
 *
 * A unit's score is the mean distance to its k = min(5, n - 1) nearest
 * neighbours.  It is abnormal over median + 3 MAD of its cluster's scores; or,
 * since several units hit by the same thing are near neighbours of each other,
 * when one of its deviations is over CENTRE_MAX.
 */
#include <stdint.h>

#include "functions/units/profile.h"

enum { KNN_K = 5, POINTS_MAX = 2048, DEV_CAP = 40 };

#define DEV_IGNORED 2.0	/* robust deviations that 1 of 20 values of a normal distribution exceeds */
#define CENTRE_MAX 3.5	/* Iglewicz and Hoaglin's, for modified z-scores */
#define SCORE_MIN 3.0	/* of a cluster whose scores are mostly 0: three deviations */

/* Least spreads: a call more, a third slower is nothing. */
#define CNT_SPREAD_MIN 0.2
#define NS_SPREAD_MIN 0.3

struct point {			/* of one cluster: units with the same deviations */
	uint32_t first, cnt;	/* run of coords, ascending */
	uint32_t cluster;
	uint64_t unit_cnt;
	float score;
	float top;		/* largest deviation upwards */
	uint8_t reasons;	/* enum unit_reason: UNIT_NEIGHBOUR, UNIT_CENTRE */
};

struct coord { uint16_t axis; int16_t at; }; /* axis: dim * 2, + 1 of times; at: deviations */

struct outliers {
	struct point *points; uint32_t point_cnt; /* by cluster; unit.shape is the idx */
	struct coord *coords; size_t coord_cnt;
	uint64_t bytes;
};

/* centres: by cluster, what to compare it with. */
void outliers_make(struct outliers *o, struct profile *p, const struct centre *const *centres);
void outliers_release(struct outliers *o);

/*
 * Deviations of one call's count or time from what is usual; dim may be NULL:
 * it never occurs.  Not making a usual call is none.
 */
double dev_cnt(const struct centre *c, const struct centre_dim *dim, uint32_t cnt);
double dev_busy(const struct centre *c, uint64_t busy_ns);
double dev_ns(const struct centre_dim *dim, uint64_t ns, uint32_t cnt);

/*
 * The part below: mean distances to the k nearest of all units, for the n
 * points of one cluster; what is at the same point has distance 0.
 */
void knn_scores(struct point *points, uint32_t n, const struct coord *coords);

#endif /* FUNCTIONS_OUTLIERS_H */
