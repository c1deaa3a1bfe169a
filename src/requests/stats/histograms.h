/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTOGRAMS_H
#define HISTOGRAMS_H
/*
 * Distributions in buckets of fixed bounds, so that neither order nor merging
 * matters: struct hist counts durations of one edge, struct tails keeps for
 * each bucket of the total the sums of all edges, from which come what the
 * slowest requests spend their time on and what is left without them.
 *
 * A bucket of struct hist is up to 3.1 % wide and interpolated, one of struct
 * tails up to 1.6 % and stood for by the mean of its members.
 *
 * All-zero structs are valid; columns are as in moments.h.
 */
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "requests/stats/moments.h"

enum { HIST_BITS = 5, TAILS_BITS = 6 };	/* 2^bits buckets to a doubling */

/* The bucket of v; bucket_low(bucket + 1) is the first value not in it. */
uint32_t bucket_of(uint64_t v, uint32_t bits);
uint64_t bucket_low(uint32_t bucket, uint32_t bits);

struct hist {
	uint32_t *cnts;		/* of bucket first and on */
	uint32_t first, bucket_cnt;
	uint64_t min, max;	/* exact; only if there are any */
};

void hist_release(struct hist *h);
void hist_add(struct hist *h, uint64_t v);

/* A member: took_ns[i] goes to hists[cols[i]], of i itself if cols is NULL. */
void hists_add(struct hist *hists, const int64_t *took_ns, const uint32_t *cols, uint32_t cnt);

void hist_merge(struct hist *to, const struct hist *from);

/* The value that q of all are not above; zero_cnt more members count as 0. */
double hist_quantile(const struct hist *h, uint64_t zero_cnt, double q);

/* Several quantiles, the least first. */
void hist_quantiles(const struct hist *h, uint64_t zero_cnt, const double *qs, uint32_t cnt,
		    double *ret);

/* Which part is below v, those in its bucket in proportion. */
double hist_rank(const struct hist *h, uint64_t zero_cnt, uint64_t v);

/*
 * Chance that so many members of a rank over those of b if both are alike (Mann and Whitney,
 * those of one bucket are ties); 1 where either has too few to tell.
 */
double hist_above_p(const struct hist *a, const struct hist *b);

/* Places of the members, those of one bucket in its middle. */
struct hist_middle {
	double at, cnt;
};

/* Writes buckets with members, up to bucket_cnt; returns how many. */
uint32_t hist_middles(const struct hist *h, struct hist_middle *ret);

struct tails_bucket {
	uint32_t no, column_cnt;
	uint64_t cnt;
	u128 total;
	u128 *sums;		/* by column */
};

struct tails {
	VEC(struct tails_bucket) buckets;	/* ascending after tails_sort */
	struct hmap by_no;
	uint64_t cnt;
	uint64_t min, max;
	bool unsorted;
};

void tails_release(struct tails *t);
void tails_add(struct tails *t, const int64_t *took_ns, const uint32_t *cols, uint32_t cnt,
	       int64_t total_ns);
void tails_merge(struct tails *to, const struct tails *from, const uint32_t *cols);

/* Adds column col to column to, and empties it. */
void tails_move(struct tails *t, uint32_t col, uint32_t to);

/* To be called after adding, before any of those below. */
void tails_sort(struct tails *t);

double tails_quantile(const struct tails *t, double q);

/* Quantile of several together; INFINITY where there are no members. */
double tails_quantile_of(const struct tails *const *sets, uint32_t cnt, double q);
double tails_rank(const struct tails *t, uint64_t ns);

/*
 * How many members the variance rests on: (sum d^2)^2 / sum d^4 of the
 * deviations d.  A third of them where they are normal, the number of the
 * outliers where few are far from all others.
 */
double tails_effective_cnt(const struct tails *t);

/*
 * Shares of variance without the slowest part of members (at least one), of
 * column_cnt columns; adds to 1 unless nothing varies.  Returns the variance.
 */
double tails_trimmed(const struct tails *t, double part, uint32_t column_cnt, double *ret_share);

/*
 * Mean of each column in the slowest part (at least one member), less that in
 * the rest, over the same difference of the total; adds to 1, or is all 0.
 */
void tails_slowest(const struct tails *t, double part, uint32_t column_cnt, double *ret_share);

#endif /* HISTOGRAMS_H */
