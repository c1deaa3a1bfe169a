/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOOKS_H
#define LOOKS_H
/*
 * One look: the requests of a round and in which of their parts the time goes that
 * slow ones take longer than others.
 *
 * All requests of all looks are pooled to say which are slow, so that a look without
 * a slow one, or with one that an outlier made, is known from one that says something:
 * it is evidence when it has LOOK_SLOW_MIN slow ones and LOOK_MIN in all.
 *
 * The largest two times count as the third (two requests are an accident).  Times
 * vary when their coefficient of variation is at least LOOK_CV: then those are slow that
 * take more than half of what the ones take that hold most of the time over the
 * median, and a part's share is the mean, over slow requests, of its time over what is
 * usual in the others.  Each slow request counts alike: so one of a minute does not
 * outweigh a hundred of a second.  Where times
 * do not vary all requests are slow ones, and a share is that of all time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct timelines;

#define LOOK_MIN 20
#define LOOK_SLOW_MIN 5
#define LOOK_CV 0.3	/* of times on a machine that others use, too: 0.1 to 0.25 was seen */

struct pool {		/* all zero is valid */
	VEC(uint64_t) ns;
	bool varies;
	bool settled;	/* the largest two are no more than all others over the median */
	double cv;
	uint64_t p50_ns, p99_ns, slow_ns; /* slow_ns: from here on; 0: all are */
};

struct look_point {
	uint32_t point;		/* or PART_* */
	double share;
	double slow_ns, usual_ns; /* in a slow request, in another one: mean, median */
	double slow_hits, usual_hits;	/* means */
	double cost_share;	/* of it and what hits cost in it: that cost */
	double wait_share;	/* of slow_ns: asleep */
	uint32_t wait_kind;	/* PART_WAIT_*: most of that */
};

struct look {
	VEC(struct look_point) points;	/* by share, largest first */
	uint32_t request_cnt, slow_cnt;
	double slow_ns, usual_ns;	/* of whole requests: mean, median */
	bool telling;
};

/* The requests of t from the one at idx first on. */
void pool_add(struct pool *p, const struct timelines *t, size_t first);
void pool_judge(struct pool *p);
void pool_release(struct pool *p);

/* *ret is all zero before. */
void look_make(struct look *ret, const struct timelines *t, const struct pool *p);
void look_release(struct look *l);

/* NULL: the look does not have it. */
const struct look_point *look_point(const struct look *l, uint32_t point);

#endif /* LOOKS_H */
