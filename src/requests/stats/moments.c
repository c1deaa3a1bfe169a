/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw sums are kept, not centred ones: centred sums depend on the order in
 * which they are made.  Centring happens in the answer, about the integer part
 * of the means: sum((x - a)(y - b)) = Sxy - a Sy - b Sx + n a b holds modulo
 * 2^128, and its true value fits in 127 bits, so it does not matter that the
 * terms overflow on the way.  What the means' fractions add is below one part
 * in n of a nanosecond squared and is done in floating point.
 */
#include "requests/stats/moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/hash.h"
#include "requests/stats/tests.h"

struct sums {			/* of two quantities over some members */
	uint64_t cnt;
	u128 x, y, xy;
};

void moments_release(struct moments *m)
{
	free(m->columns);
	free(m->pairs);
	memset(m, 0, sizeof(*m));
}

uint32_t moments_cell_of(const struct trace_id *id)
{
	return hash_pair(id->hi, id->lo) % MOMENTS_CELLS;
}

static uint32_t pair_idx(uint32_t a, uint32_t b)
{
	uint32_t hi = a > b ? a : b, lo = a > b ? b : a;

	return hi * (hi - 1) / 2 + lo;
}

/* Makes room for columns below cnt; new ones are 0. */
static void grow_columns(struct moments *m, uint32_t cnt)
{
	uint32_t pairs = cnt <= MOMENTS_MATRIX ? cnt * (cnt ? cnt - 1 : 0) / 2 : 0;

	if (cnt <= m->column_cnt)
		return;
	if (cnt > m->column_cap) {
		uint32_t cap = m->column_cap ? cnt + cnt / 2 : cnt;

		m->columns = xreallocarray(m->columns, cap, sizeof(*m->columns));
		m->column_cap = cap;
	}
	memset(m->columns + m->column_cnt, 0, (cnt - m->column_cnt) * sizeof(*m->columns));
	m->column_cnt = cnt;
	if (cnt > MOMENTS_MATRIX) {
		free(m->pairs);
		m->pairs = NULL;
		m->pair_cap = 0;
	} else if (pairs > m->pair_cap) {
		m->pairs = xreallocarray(m->pairs, pairs, sizeof(*m->pairs));
		memset(m->pairs + m->pair_cap, 0, (pairs - m->pair_cap) * sizeof(*m->pairs));
		m->pair_cap = pairs;
	}
}

static uint32_t columns_needed(const uint32_t *cols, uint32_t cnt)
{
	uint32_t need = cols ? 0 : cnt;

	for (uint32_t i = 0; cols && i < cnt; i++)
		if (cols[i] >= need)
			need = cols[i] + 1;
	return need;
}

static void add_pairs(struct moments *m, const int64_t *took_ns, const uint32_t *cols,
		      uint32_t cnt)
{
	u128 *at = m->pairs;

	/* the pairs of consecutive columns are in a row */
	for (uint32_t i = 0; !cols && i < cnt; at += i++)
		for (uint32_t j = 0; j < i && took_ns[i]; j++)
			at[j] += (u128)took_ns[i] * (u128)took_ns[j];
	for (uint32_t i = 0; cols && i < cnt; i++)
		for (uint32_t j = 0; j < i && took_ns[i]; j++)
			m->pairs[pair_idx(cols[i], cols[j])] +=
				(u128)took_ns[i] * (u128)took_ns[j];
}

/* All but the pairs; false: refused. */
static bool add_member(struct moments *m, uint32_t cell, const int64_t *took_ns,
		       const uint32_t *cols, uint32_t cnt)
{
	uint64_t total = 0, begin = 0;

	if (moments_cnt(m) >= MOMENTS_CNT_MAX) {
		m->full_cnt++;
		return false;
	}
	grow_columns(m, columns_needed(cols, cnt));
	for (uint32_t i = 0; i < cnt; i++) {
		BUG_ON(took_ns[i] < 0);
		total += (uint64_t)took_ns[i];
		BUG_ON(total > (uint64_t)MOMENTS_NS_MAX);
	}
	m->cnt[cell]++;
	m->total[cell].x += total;
	m->total[cell].xt += (u128)total * total;
	for (uint32_t i = 0; i < cnt; i++) {
		struct moments_column *c = &m->columns[cols ? cols[i] : i];
		uint64_t x = (uint64_t)took_ns[i];

		c->cnt++;
		c->begin += begin;
		c->xx += (u128)x * x;
		c->cells[cell].x += x;
		c->cells[cell].xt += (u128)x * total;
		begin += x;
	}
	return true;
}

void moments_add(struct moments *m, uint32_t cell, const int64_t *took_ns, const uint32_t *cols,
		 uint32_t cnt)
{
	if (add_member(m, cell, took_ns, cols, cnt) && m->column_cnt <= MOMENTS_MATRIX)
		add_pairs(m, took_ns, cols, cnt);
}

/*
 * So many members whose edges took so little that their products, added up,
 * fit 64 bits: one sum of 128 bits for all of them.
 */
enum { ROWS = 32, ROWS_MIN = 8 };
#define ROWS_NS_MAX ((INT64_C(1) << 29) - 1)

static void add_pairs_of_rows(struct moments *m, const int64_t *rows, uint32_t row_cnt,
			      uint32_t cnt)
{
	uint32_t took[MOMENTS_MATRIX][ROWS];
	u128 *at = m->pairs;

	for (uint32_t i = 0; i < cnt; i++)
		for (uint32_t row = 0; row < ROWS; row++)
			took[i][row] = row < row_cnt ? (uint32_t)rows[row * (cnt + 2) + 2 + i] : 0;
	for (uint32_t i = 0; i < cnt; at += i++)
		for (uint32_t j = 0; j < i; j++) {
			uint64_t sum = 0;

			for (uint32_t row = 0; row < ROWS; row++)
				sum += (uint64_t)took[i][row] * took[j][row];
			at[j] += sum;
		}
}

static bool rows_are_small(const int64_t *rows, uint32_t row_cnt, uint32_t cnt)
{
	int64_t over = 0;

	if (row_cnt < ROWS_MIN || row_cnt > ROWS || cnt > MOMENTS_MATRIX)
		return false;
	for (uint32_t row = 0; row < row_cnt; row++, rows += 2 + cnt)
		for (uint32_t i = 0; i < cnt; i++)
			over |= rows[2 + i] & ~ROWS_NS_MAX;
	return !over;
}

void moments_add_rows(struct moments *m, const int64_t *rows, uint32_t row_cnt, uint32_t cnt)
{
	bool together = rows_are_small(rows, row_cnt, cnt) &&
			moments_cnt(m) + row_cnt <= MOMENTS_CNT_MAX;
	const int64_t *at = rows;

	for (uint32_t row = 0; row < row_cnt; row++, at += 2 + cnt) {
		if (together)
			add_member(m, (uint32_t)at[0], at + 2, NULL, cnt);
		else
			moments_add(m, (uint32_t)at[0], at + 2, NULL, cnt);
	}
	if (together && m->column_cnt <= MOMENTS_MATRIX)
		add_pairs_of_rows(m, rows, row_cnt, cnt);
}

static void merge_column(struct moments_column *to, const struct moments_column *from)
{
	to->cnt += from->cnt;
	to->begin += from->begin;
	to->xx += from->xx;
	for (uint32_t g = 0; g < MOMENTS_CELLS; g++) {
		to->cells[g].x += from->cells[g].x;
		to->cells[g].xt += from->cells[g].xt;
	}
}

void moments_merge(struct moments *to, const struct moments *from, const uint32_t *cols)
{
	if (moments_cnt(to) + moments_cnt(from) > MOMENTS_CNT_MAX) {
		to->full_cnt += moments_cnt(from) + from->full_cnt;
		return;
	}
	grow_columns(to, columns_needed(cols, from->column_cnt));
	to->full_cnt += from->full_cnt;
	for (uint32_t g = 0; g < MOMENTS_CELLS; g++) {
		to->cnt[g] += from->cnt[g];
		to->total[g].x += from->total[g].x;
		to->total[g].xt += from->total[g].xt;
	}
	for (uint32_t i = 0; i < from->column_cnt; i++)
		merge_column(&to->columns[cols ? cols[i] : i], &from->columns[i]);
	/* Distinct columns stay distinct: if to's fit the matrix, so do from's. */
	for (uint32_t i = 0; i < from->column_cnt && to->column_cnt <= MOMENTS_MATRIX; i++)
		for (uint32_t j = 0; j < i; j++)
			to->pairs[pair_idx(cols ? cols[i] : i, cols ? cols[j] : j)] +=
				from->pairs[pair_idx(i, j)];
}

void moments_move(struct moments *m, uint32_t col, uint32_t to)
{
	if (col >= m->column_cnt)
		return;
	grow_columns(m, to + 1);
	BUG_ON(m->column_cnt <= MOMENTS_MATRIX);
	merge_column(&m->columns[to], &m->columns[col]);
	memset(&m->columns[col], 0, sizeof(m->columns[col]));
}

uint64_t moments_cnt(const struct moments *m)
{
	uint64_t cnt = 0;

	for (uint32_t g = 0; g < MOMENTS_CELLS; g++)
		cnt += m->cnt[g];
	return cnt;
}

uint32_t moments_columns(const struct moments *m)
{
	return m->column_cnt;
}

/* A sum over cnt members as cnt times a whole number and what is over. */
struct centre {
	u128 x, whole, over;
};

static struct centre centre_of(u128 x, uint64_t cnt)
{
	struct centre c = {.x = x, .whole = x / cnt};

	c.over = x - cnt * c.whole;
	return c;
}

/* n times the population covariance; cnt is not 0. */
static long double centred_about(const struct centre *x, const struct centre *y, u128 xy,
				 uint64_t cnt)
{
	__int128 whole = (__int128)(xy - x->whole * y->x - y->whole * x->x +
				    cnt * x->whole * y->whole);

	return (long double)whole -
	       (long double)x->over * (long double)y->over / (long double)cnt;
}

static long double centred(const struct sums *s)
{
	struct centre x, y;

	if (!s->cnt)
		return 0;
	x = centre_of(s->x, s->cnt);
	y = centre_of(s->y, s->cnt);
	return centred_about(&x, &y, s->xy, s->cnt);
}

static struct sums total_sums(const struct moments *m)
{
	struct sums s = {0};

	for (uint32_t g = 0; g < MOMENTS_CELLS; g++) {
		s.cnt += m->cnt[g];
		s.x += m->total[g].x;
		s.xy += m->total[g].xt;
	}
	s.y = s.x;
	return s;
}

static struct sums column_sums(const struct moments *m, uint32_t col)
{
	struct sums s = total_sums(m);

	s.x = s.xy = 0;
	for (uint32_t g = 0; g < MOMENTS_CELLS; g++) {
		s.x += m->columns[col].cells[g].x;
		s.xy += m->columns[col].cells[g].xt;
	}
	return s;
}

static double per(long double sum, uint64_t cnt)
{
	return cnt ? (double)(sum / (long double)cnt) : 0;
}

double moments_mean(const struct moments *m)
{
	struct sums s = total_sums(m);

	return per((long double)s.x, s.cnt);
}

double moments_var(const struct moments *m)
{
	struct sums s = total_sums(m);

	return per(centred(&s), s.cnt);
}

double moments_column_mean(const struct moments *m, uint32_t col)
{
	struct sums s = column_sums(m, col);

	return per((long double)s.x, s.cnt);
}

double moments_column_var(const struct moments *m, uint32_t col)
{
	struct sums s = column_sums(m, col);

	s.y = s.x;
	s.xy = m->columns[col].xx;
	return per(centred(&s), s.cnt);
}

double moments_cov_total(const struct moments *m, uint32_t col)
{
	struct sums s = column_sums(m, col);

	return per(centred(&s), s.cnt);
}

double moments_cov(const struct moments *m, uint32_t a, uint32_t b)
{
	struct sums s;

	if (a == b)
		return moments_column_var(m, a);
	if (m->column_cnt > MOMENTS_MATRIX)
		return NAN;
	s = column_sums(m, a);
	s.y = column_sums(m, b).x;
	s.xy = m->pairs[pair_idx(a, b)];
	return per(centred(&s), s.cnt);
}

void moments_covs(const struct moments *m, double *ret)
{
	struct centre centres[MOMENTS_MATRIX];
	uint64_t cnt = moments_cnt(m);

	BUG_ON(m->column_cnt > MOMENTS_MATRIX);
	for (uint32_t i = 0; i < m->column_cnt && cnt; i++)
		centres[i] = centre_of(column_sums(m, i).x, cnt);
	for (uint32_t i = 0; i < m->column_cnt; i++)
		for (uint32_t j = 0; j < i; j++, ret++)
			*ret = cnt ? per(centred_about(&centres[i], &centres[j],
						       m->pairs[pair_idx(i, j)], cnt), cnt)
				   : 0;
}

/* The estimate: a share of variance, or a mean. */
static long double share_of(const struct sums *edge, const struct sums *total)
{
	long double var = centred(total);

	return var > 0 ? centred(edge) / var : 0;
}

static long double mean_of(const struct sums *x, const struct sums *total)
{
	(void)total;
	return x->cnt ? (long double)x->x / (long double)x->cnt : 0;
}

/* Sums of the total, or of columns together, of each cell. */
struct cell_sums {
	struct moments_cell cells[MOMENTS_CELLS];
};

static struct cell_sums sums_by_cell(const struct moments *m, const uint32_t *cols, uint32_t cnt)
{
	struct cell_sums s = {0};

	for (uint32_t i = 0; i < cnt; i++) {
		const struct moments_cell *cells = cols[i] == MOMENTS_TOTAL
							   ? m->total
							   : m->columns[cols[i]].cells;

		for (uint32_t g = 0; g < MOMENTS_CELLS; g++) {
			s.cells[g].x += cells[g].x;
			s.cells[g].xt += cells[g].xt;
		}
	}
	return s;
}

struct estimated {
	double value, error;
	uint32_t cell_cnt;	/* that have members */
};

/*
 * With the standard error by leaving out one cell at a time, cells of unequal
 * size weighted by it.
 */
static struct estimated jackknife(const struct moments *m, const struct cell_sums *by_cell,
				  long double (*estimate)(const struct sums *,
							  const struct sums *))
{
	struct sums t = total_sums(m), e = t;
	long double all, mean = 0, var = 0, left[MOMENTS_CELLS];
	struct estimated ret = {.error = INFINITY};

	e.x = e.xy = 0;
	for (uint32_t g = 0; g < MOMENTS_CELLS; g++) {
		e.x += by_cell->cells[g].x;
		e.xy += by_cell->cells[g].xt;
	}
	all = estimate(&e, &t);
	ret.value = (double)all;
	for (uint32_t g = 0; g < MOMENTS_CELLS; g++) {
		struct sums lt = t, le = e;

		if (!m->cnt[g] || m->cnt[g] == t.cnt)
			continue;
		lt.cnt = le.cnt = t.cnt - m->cnt[g];
		lt.x = lt.y = le.y = t.x - m->total[g].x;
		lt.xy = t.xy - m->total[g].xt;
		le.x = e.x - by_cell->cells[g].x;
		le.xy = e.xy - by_cell->cells[g].xt;
		left[g] = estimate(&le, &lt);
		mean += all - left[g] * (1 - (long double)m->cnt[g] / (long double)t.cnt);
		ret.cell_cnt++;
	}
	for (uint32_t g = 0; g < MOMENTS_CELLS; g++) {
		long double h, d;

		if (!m->cnt[g] || m->cnt[g] == t.cnt)
			continue;
		h = (long double)t.cnt / (long double)m->cnt[g];
		d = h * all - (h - 1) * left[g] - mean;
		var += d * d / (h - 1);
	}
	if (ret.cell_cnt > 1)
		ret.error = (double)sqrtl(var / ret.cell_cnt);
	return ret;
}

struct moments_share moments_share_of(const struct moments *m, const uint32_t *cols, uint32_t cnt)
{
	struct cell_sums sums = sums_by_cell(m, cols, cnt);
	struct estimated e = jackknife(m, &sums, share_of);
	double width = INFINITY;

	if (e.cell_cnt > 1)
		width = e.error * stats_t_975(e.cell_cnt - 1);
	return (struct moments_share){
		.value = e.value, .low = e.value - width, .high = e.value + width};
}

struct moments_share moments_share(const struct moments *m, uint32_t col)
{
	return moments_share_of(m, &col, 1);
}

double moments_mean_error(const struct moments *m, uint32_t col)
{
	struct cell_sums sums = sums_by_cell(m, &col, 1);

	return jackknife(m, &sums, mean_of).error;
}
