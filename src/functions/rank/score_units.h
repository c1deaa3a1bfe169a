/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_SCORE_UNITS_H
#define FUNCTIONS_SCORE_UNITS_H
/*
 * Whether a unit is abnormal, in which calls, and what that cost.
 *
 * A unit is compared with the middle of its cluster.  Where a good window is
 * given, with the middle of that window's like cluster instead.  A cluster of
 * fewer than four has no middle: its units are abnormal by PerfScope's rule,
 * at RARE_PRIOR of the weight, and are compared with the nearest larger cluster,
 * unless what was learnt beside signatures knows that kind of work.
 * Units that take far longer than others of their cluster, and those of a whole
 * cluster that takes far longer than the usual kind of work, are abnormal at
 * LONG_PRIOR: calls that not all units make are what they differ in.
 */
#include "functions/units/functions_result.h"
#include "functions/units/outliers.h"
#include "functions/units/profile.h"

/* Rare and healthy, as a timer or a log's rotation, is as frequent as rare and ill. */
#define RARE_PRIOR 0.5
/* A kind of request may well be heavy; it still is where the time goes. */
#define LONG_PRIOR 0.35
/* With a good window: a kind of work that was never seen when all was well. */
#define NEW_PRIOR 0.7
/* A call that does not return counts at most this much where it is most likely a wait for work. */
#define RESTS_WEIGHT 0.002
/* Work that no request waits for: it may still be what the program is for. */
#define UNFELT_WEIGHT 0.1
/* Requests that wait for a thread for less than this part of what it runs meet it by chance. */
#define FELT_SHARE 0.01
/* A program that has requests open for less of the time does other things as well. */
#define REQUESTS_SHARE 0.1

struct held;
struct sigs;
struct reference {
	const struct centre *centre;
	double prior;		/* of a unit's weight when it is abnormal */
	uint32_t always;	/* enum unit_reason when all units count as abnormal, else 0 */
	uint32_t reasons;	/* added to those of abnormal units */
};

struct deviation {
	uint16_t dim;
	uint8_t kind;		/* enum dev_kind */
	const struct centre_dim *usual; /* NULL: none */
	double usual_cnt, usual_ns; /* calls, and of one call */
	double harm_ns;		/* not weighed */
};

struct judged {
	uint32_t reasons;	/* enum unit_reason, 0: normal */
	double weight;		/* 0 to 1 */
	double harm_ns;		/* weighed sum */
	struct deviation devs[2 * DIMS_MAX]; uint32_t dev_cnt;
};

struct judge {
	struct profile *p;
	struct reference *refs;	/* by cluster */
	const struct centre **long_refs; /* by cluster: the usual kind, NULL */
	struct outliers outliers;
	double *stuck_weight;	/* by thread: of a call that does not return; 1 is all */
	double *felt;		/* by thread: of all that it does, see judge_feel; 1 is all */
	bool baseline;
};

/* good may be NULL, and sigs, whose baselines hold where there is no good window. */
void judge_make(struct judge *j, struct profile *p, const struct profile *good,
		const struct sigs *sigs, struct arena *arena);

/*
 * Where it is known what requests wait for (function_requests.h), threads that none waits
 * for count less: a compiler or a collector at work in the background deviates
 * as it likes.
 */
void judge_feel(struct judge *j, const struct held *held);
void judge_release(struct judge *j);

/* v is the unit's. */
void judge_unit(const struct judge *j, const struct unit *u, const struct vectors *v,
		struct judged *ret);

#endif /* FUNCTIONS_SCORE_UNITS_H */
