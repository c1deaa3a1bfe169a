/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUP_SUMS_H
#define GROUP_SUMS_H
/*
 * All that is summed up of a set of requests: their edges as columns, exact
 * moments, distributions.  Of one exact path, or of several with the edges
 * that are the same in the same column and those that a member lacks as 0.
 *
 * Members are kept as they are and summed up ACC_RAW at a time: most groups stay
 * small, and sums are big, so that touching them for each member takes longer
 * than the sums themselves.
 *
 *	struct acc a = {0};  acc_add, acc_merge ...  acc_settle  ...  acc_release
 */
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "requests/stats/moments.h"
#include "requests/stats/path.h"
#include "requests/stats/histograms.h"

struct arena;

enum {
	ACC_RAW = 32,
	ACC_COLUMNS_MAX = 2048,	/* further edges share the column "other" */
};

struct acc {
	uint64_t cnt;
	VEC(struct edge_key) keys;	/* by column */
	VEC(uint64_t) hashes;
	struct hmap columns;		/* hash of key to column; empty for one exact path */
	VEC(int64_t) raw;		/* members: cell, edges, took_ns of each, columns of each */
	uint32_t raw_cnt;		/* how many they are; the others are summed up */
	struct moments moments;
	struct tails tails;
	struct hist *hists;		/* by column */
	uint32_t hist_cnt;
	uint32_t greatest;		/* at the bound: column of the greatest hash, and 1 */
	bool same;			/* of one exact path: raw has no columns */
	bool summed;			/* there are sums */
};

void acc_release(struct acc *a);

/* A member of the one exact path that the set is of; its edges are the columns. */
void acc_add_same(struct acc *a, const struct path *path);

/* Any member; its edges must be named. */
void acc_add(struct acc *a, const struct path *path);

void acc_merge(struct acc *to, const struct acc *from);

/* Sums up what is kept raw, sorts: to be called before reading, adding may go on after it. */
void acc_settle(struct acc *a);

/* Number and sum of totals and of their squares, raw ones too. */
struct acc_sums {
	uint64_t cnt;
	u128 total, squares;
};
struct acc_sums acc_sums(const struct acc *a);
void acc_sums_add(struct acc_sums *to, const struct acc_sums *from);

/* Sum of squares about the mean. */
long double acc_sums_squares(const struct acc_sums *s);

/* Columns by where on the path they begin in the mean, ties by hash; lives in arena. */
const uint32_t *acc_order(const struct acc *a, struct arena *arena);

/* The column, or UINT32_MAX. */
uint32_t acc_column(const struct acc *a, uint64_t hash);

#endif /* GROUP_SUMS_H */
