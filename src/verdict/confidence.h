/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFIDENCE_H
#define CONFIDENCE_H
/*
 * How sure a finding is, from what could have refuted it.  A finding that
 * was not given the chance to fail is not high; each doubt lowers the level, and
 * none raises it.
 *
 *	confidence_judge once, when the verdict is made
 *	confidence_differs, where functions tell of something else (agreement.h)
 *
 * No other file sets a level.
 */
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct cand;
struct context;
struct finding;
struct verdict;

enum doubt {
	DOUBT_TIME,	/* watched for a short time */
	DOUBT_REQUESTS,	/* few requests, or few stalls */
	DOUBT_LOST,	/* records lost */
	DOUBT_SAMPLE,	/* how exact the shares are is not known */
	DOUBT_SHARE,	/* it leaves much of the waiting unexplained */
	DOUBT_SECOND,	/* another finding explains nearly as much */
	DOUBT_OPEN,	/* requests hang that it does not explain */
	DOUBT_SLOW,	/* slow requests without a cause */
	DOUBT_EVIDENCE,	/* what its class should show was not seen */
	DOUBT_SMALL,	/* may be the usual work: little for each request */
	DOUBT_INCONCLUSIVE, /* its class says so */
	DOUBT_CNT
};

struct grounds {	/* what a finding had to stand up to */
	double seconds;	/* watched */
	uint64_t seen;	/* requests answered or open; of the tail, stalls */
	bool of_tail;
	bool always;	/* something was open all the time: time is the sample, not requests */
	double lost;	/* of the records, 0..1 */
	double error;	/* of shares, 0..1; below 0: not known */
	double share;	/* of the waiting that it explains, 0..1 */
	double second;	/* ... that the next finding does */
	uint64_t open;	/* requests that hang and that it does not explain */
	double slow;	/* part of the requests that is slow, and nothing says why */
	uint8_t lacks;	/* levels that missing evidence costs */
	bool small;
	bool inconclusive;
};

/* enum confidence; by: how many levels each doubt costs, by enum doubt. */
unsigned confidence_level(const struct grounds *g, uint8_t by[DOUBT_CNT]);

/* Sets conf and doubts of all findings, candidates and stalls of v. */
void confidence_judge(struct context *k, struct verdict *v);

/* Lowers the first finding by a level: what ("its system calls") points to this function. */
void confidence_differs(struct verdict *v, const char *what, const char *first,
			struct arena *arena);

#endif /* CONFIDENCE_H */
