/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/stats/tests.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "base/keysort.h"

/* Both stop long before: the fraction takes O(sqrt(max(a, b))) steps. */
enum { BETA_STEPS_MAX = 20000, QUANTILE_STEPS = 200 };

/* The continued fraction of the incomplete beta function by Lentz' method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < BETA_STEPS_MAX; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 4 * DBL_EPSILON)
			break;
	}
	return h;
}

double stats_beta(double a, double b, double x)
{
	double front;

	if (!(x > 0))
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	/* The fraction converges fast only on this side; the function is symmetric. */
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_t_p(double t, double df)
{
	if (isnan(t))
		return 1;
	if (isinf(t))
		return 0;
	return stats_beta(df / 2, 0.5, df / (df + t * t));
}

double stats_t_quantile(double p, double df)
{
	/* the density is scale * (1 + t^2 / df)^(-(df + 1) / 2) */
	double scale = exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * M_PI);
	double t = 0;

	/* The distribution is concave above 0: Newton's steps come from below and end there. */
	for (int i = 0; i < QUANTILE_STEPS; i++) {
		double lacks = p - (1 - stats_t_p(t, df) / 2);
		double step = lacks / (scale * pow(1 + t * t / df, -(df + 1) / 2));

		if (!(step > 1e-12 * t))
			break;
		t += step;
	}
	return t;
}

double stats_t_975(uint32_t df)
{
	static const double known[] = {
		0,
		12.706204736174676, 4.3026527297494583, 3.18244630528371, 2.7764451051969554,
		2.5705818356362542, 2.4469118511449608, 2.3646242515927813, 2.3060041352041667,
		2.2621571627982053, 2.2281388519862753, 2.2009851600916401, 2.1788128296672276,
		2.1603686564627926, 2.1447866879178044, 2.1314495455597751,
	};

	return df && df < sizeof(known) / sizeof(*known) ? known[df] : stats_t_quantile(0.975, df);
}

double stats_f_p(double f, double df1, double df2)
{
	if (isnan(f) || f <= 0)
		return 1;
	if (isinf(f))
		return 0;
	return stats_beta(df2 / 2, df1 / 2, df2 / (df2 + df1 * f));
}

double stats_r_p(double r, uint32_t cnt)
{
	double df = cnt - 2.0;

	if (cnt < 4 || isnan(r))
		return 1;
	if (fabs(r) >= 1)
		return 0;
	return stats_t_p(r * sqrt(df / ((1 - r) * (1 + r))), df);
}

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

double stats_hyper_p(uint32_t all, uint32_t good, uint32_t cnt, uint32_t hits)
{
	uint32_t most = cnt < good ? cnt : good;
	double p = 0, whole = log_choose(all, cnt);

	for (uint32_t k = hits; k <= most; k++)
		if (cnt - k <= all - good)
			p += exp(log_choose(good, k) + log_choose(all - good, cnt - k) - whole);
	return p < 1 ? p : 1;
}

static int by_value(const void *a, const void *b, void *ctx)
{
	const double *x = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	CMP(x[i], x[j]);
	CMP(i, j);
	return 0;
}

/* Numbers that are not NaN in their order: of negative ones all bits count backwards. */
static uint64_t sort_key(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

void stats_ranks(const double *x, uint32_t cnt, uint32_t *order, double *ret_rank)
{
	CLEANUP_FREE struct keyed *items = xmalloc((cnt + 1) * 2 * sizeof(*items));

	for (uint32_t i = 0; i < cnt; i++)
		items[i] = (struct keyed){.key = sort_key(x[i]), .idx = i};
	keysort(items, items + cnt, cnt);
	for (uint32_t i = 0; i < cnt; i++)
		order[i] = items[i].idx;
	stats_ranks_in(x, order, cnt, ret_rank);
}

void stats_ranks_in(const double *x, const uint32_t *order, uint32_t cnt, double *ret_rank)
{
	for (uint32_t i = 0, end; i < cnt; i = end) {
		for (end = i + 1; end < cnt && x[order[end]] == x[order[i]]; end++)
			;
		for (uint32_t j = i; j < end; j++)
			ret_rank[order[j]] = (i + end + 1) / 2.0;
	}
}

void stats_fdr(const double *p, size_t cnt, double *ret_q)
{
	CLEANUP_FREE uint32_t *order = xmalloc((cnt + 1) * sizeof(*order));
	double least = 1;

	for (size_t i = 0; i < cnt; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, cnt, sizeof(*order), by_value, (void *)p);
	for (size_t i = cnt; i-- > 0;) {
		double q = p[order[i]] * (double)cnt / (double)(i + 1);

		if (q < least)
			least = q;
		ret_q[order[i]] = least;
	}
}

double stats_r(const double *x, const double *y, uint32_t cnt)
{
	long double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		mx += x[i];
		my += y[i];
	}
	mx /= cnt ? cnt : 1;
	my /= cnt ? cnt : 1;
	for (uint32_t i = 0; i < cnt; i++) {
		xx += (x[i] - mx) * (x[i] - mx);
		yy += (y[i] - my) * (y[i] - my);
		xy += (x[i] - mx) * (y[i] - my);
	}
	return xx > 0 && yy > 0 ? (double)(xy / sqrtl(xx * yy)) : 0;
}
