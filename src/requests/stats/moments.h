/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOMENTS_H
#define MOMENTS_H
/*
 * Exact co-moments of the edges of a path and their total: means, variances,
 * covariances, and what share of the total's variance each edge carries.
 *
 * All sums are integers of nanoseconds, 128 bits wide and never rounded, so
 * adding in another order, or adding parts and merging, gives the same bits.
 * The one rounding is in the answer.  Members are dealt into MOMENTS_CELLS by
 * a hash of their trace id; leaving out one cell at a time (grouped jackknife)
 * gives the errors, whatever the distribution's shape.
 *
 *	struct moments m = {0};  moments_add, moments_merge ...  moments_release
 *
 * An all-zero struct is valid.  Columns are edges; a column that a member does
 * not have counts as 0 for it, so paths that differ can be merged.
 */
#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

/*
 * With durations under 2^50 ns and 2^27 members no sum of products reaches
 * 2^127: 13 days, 134 million requests of one path.
 */
#define MOMENTS_NS_MAX ((INT64_C(1) << 50) - 1)
#define MOMENTS_CNT_MAX (UINT64_C(1) << 27)

enum {
	MOMENTS_CELLS = 16,	/* the error's own error is then 1 / sqrt(2 * 15), 18 % */
	MOMENTS_MATRIX = 64,	/* up to as many columns all covariances are kept */
};

typedef unsigned __int128 u128;

struct moments_cell {
	u128 x, xt;
};

struct moments_column {
	u128 xx;
	uint64_t cnt;		/* members that have it */
	u128 begin;		/* sum of where it begins */
	struct moments_cell cells[MOMENTS_CELLS];
};

struct moments {
	uint64_t cnt[MOMENTS_CELLS];
	struct moments_cell total[MOMENTS_CELLS];	/* xt: of squares */
	struct moments_column *columns;
	u128 *pairs;		/* (i, j), j < i, at i * (i - 1) / 2 + j; NULL: too many columns */
	uint32_t column_cnt, column_cap, pair_cap;
	uint64_t full_cnt;	/* refused, being over MOMENTS_CNT_MAX */
};

struct moments_share {		/* of the total's variance */
	double value;
	double low, high;	/* 95 %; -INFINITY and INFINITY if unknown */
};

void moments_release(struct moments *m);

/* The cell of a member; any other hash of it will do as well. */
uint32_t moments_cell_of(const struct trace_id *id);

/*
 * One member: took_ns[i] belongs to column cols[i] (i itself if cols is NULL),
 * in order of the path.  Each column at most once; more often (as that of what
 * is left over) only where there are too many columns for a matrix, and its
 * variance is then that of the parts.  Each is in 0..MOMENTS_NS_MAX and so is
 * their sum, which is the total.
 */
void moments_add(struct moments *m, uint32_t cell, const int64_t *took_ns, const uint32_t *cols,
		 uint32_t cnt);

/*
 * row_cnt members, each with columns 0..cnt-1.  Of each rows holds cell, cnt
 * and took_ns, 2 + cnt numbers.  The same sums as by moments_add in less time.
 */
void moments_add_rows(struct moments *m, const int64_t *rows, uint32_t row_cnt, uint32_t cnt);

/* from's column i becomes to's column cols[i]; NULL: the same. */
void moments_merge(struct moments *to, const struct moments *from, const uint32_t *cols);

/* Adds column col to column to, and empties it; only with too many columns for a matrix. */
void moments_move(struct moments *m, uint32_t col, uint32_t to);

uint64_t moments_cnt(const struct moments *m);
uint32_t moments_columns(const struct moments *m);

/* Population variance; 0 of nothing. */
double moments_mean(const struct moments *m);
double moments_var(const struct moments *m);
double moments_column_mean(const struct moments *m, uint32_t col);
double moments_column_var(const struct moments *m, uint32_t col);

/* With the total, and of two columns; the latter NAN where there are too many columns. */
double moments_cov_total(const struct moments *m, uint32_t col);
double moments_cov(const struct moments *m, uint32_t a, uint32_t b);

/*
 * moments_cov of all pairs, at i * (i - 1) / 2 + j for j < i; only where there
 * are no more than MOMENTS_MATRIX columns.
 */
void moments_covs(const struct moments *m, double *ret);

/* Cov(column, total) / Var(total); adds to 1 over all columns; 0 where nothing varies. */
struct moments_share moments_share(const struct moments *m, uint32_t col);

/* The same of several columns together. */
struct moments_share moments_share_of(const struct moments *m, const uint32_t *cols,
				      uint32_t cnt);

/* Standard error of the mean of a column by the same jackknife; MOMENTS_TOTAL: of the total. */
#define MOMENTS_TOTAL UINT32_MAX
double moments_mean_error(const struct moments *m, uint32_t col);

#endif /* MOMENTS_H */
