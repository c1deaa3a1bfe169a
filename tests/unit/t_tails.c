/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/cmp.h"
#include "requests/stats/histograms.h"

#include "unit.h"

enum { MEMBERS = 1000 };

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	CMP(*x, *y);
	return 0;
}

TEST(tails_buckets_are_without_gaps)
{
	for (uint32_t bits = 2; bits <= 6; bits++) {
		const uint64_t top = UINT64_C(1) << 52;

		for (uint64_t v = 0; v < top; v += 1 + v / 7) {
			uint32_t b = bucket_of(v, bits);

			OK(bucket_low(b, bits) <= v && v < bucket_low(b + 1, bits));
			OK(b == 0 || bucket_of(bucket_low(b, bits) - 1, bits) == b - 1);
			OK((double)(bucket_low(b + 1, bits) - bucket_low(b, bits)) <=
			   fmax(1, ldexp((double)v, -(int)bits)));
		}
	}
}

TEST(tails_quantiles_are_those_of_a_sorted_array)
{
	const double qs[] = {0.01, 0.25, 0.5, 0.9, 0.99, 1};
	uint64_t values[MEMBERS], state = 5;
	double at_once[sizeof(qs) / sizeof(*qs)];
	struct hist h = {0};
	struct tails t = {0};

	for (uint32_t i = 0; i < MEMBERS; i++) {
		int64_t v = (int64_t)(next_random(&state) >> (20 + next_random(&state) % 40));

		values[i] = (uint64_t)v;
		hist_add(&h, (uint64_t)v);
		tails_add(&t, &v, NULL, 1, v);
	}
	tails_sort(&t);
	qsort(values, MEMBERS, sizeof(*values), by_number);
	hist_quantiles(&h, 7, qs, sizeof(qs) / sizeof(*qs), at_once);
	for (size_t i = 0; i < sizeof(qs) / sizeof(*qs); i++) {
		double want = (double)values[(size_t)ceil(qs[i] * MEMBERS) - 1];
		double padded = (double)values[(size_t)ceil(qs[i] * MEMBERS * 1.0) - 1];

		ROW(i);
		OK(fabs(tails_quantile(&t, qs[i]) - want) <= 1 + want / 64);
		OK(fabs(hist_quantile(&h, 0, qs[i]) - padded) <= 1 + padded / 32);
		OK(hist_quantile(&h, 7, qs[i]) == at_once[i]);
		OK(fabs(tails_rank(&t, (uint64_t)want) - qs[i]) < 0.02);
		OK(fabs(hist_rank(&h, 0, (uint64_t)want) - qs[i]) < 0.02);
	}
	/* as many again that count as 0 */
	OK(hist_quantile(&h, MEMBERS, 0.5) == 0);
	OK(fabs(hist_quantile(&h, MEMBERS, 0.75) - hist_quantile(&h, 0, 0.5)) <=
	   hist_quantile(&h, 0, 0.5) / 32);
	hist_release(&h);
	tails_release(&t);
}

/* 97 members whose first edge varies by 10 %, and three whose second took 100 times as long. */
static void make_tail(struct tails *t, uint32_t first, uint32_t step)
{
	for (uint32_t i = first; i < 100; i += step) {
		int64_t took[2] = {100000 + (int64_t)(i % 10) * 2000, 1000};

		if (i % 33 == 1 && i < 97)
			took[1] = 10000000;
		tails_add(t, took, NULL, 2, took[0] + took[1]);
	}
}

TEST(tails_with_and_without_the_slowest)
{
	struct tails t = {0};
	double share[2], var;

	make_tail(&t, 0, 1);
	tails_sort(&t);
	OK(tails_effective_cnt(&t) > 2.5 && tails_effective_cnt(&t) < 3.5);
	tails_slowest(&t, 0.03, 2, share);
	OK(share[1] > 0.99 && fabs(share[0] + share[1] - 1) < 1e-12);
	var = tails_trimmed(&t, 0.03, 2, share);
	OK(share[0] > 0.999 && fabs(share[0] + share[1] - 1) < 1e-12);
	OK(sqrt(var) > 5000 && sqrt(var) < 6500);
	tails_trimmed(&t, 0.01, 2, share);
	OK(share[1] > 0.99);
	tails_release(&t);
}

TEST(tails_merge_as_adding)
{
	struct tails all = {0}, parts[2] = {};
	double a[2], b[2];

	make_tail(&all, 0, 1);
	make_tail(&parts[0], 0, 2);
	make_tail(&parts[1], 1, 2);
	tails_merge(&parts[1], &parts[0], NULL);
	tails_sort(&all);
	tails_sort(&parts[1]);
	EQ_U(all.cnt, parts[1].cnt);
	for (double q = 0; q <= 1; q += 0.1)
		OK(tails_quantile(&all, q) == tails_quantile(&parts[1], q));
	OK(tails_trimmed(&all, 0.01, 2, a) == tails_trimmed(&parts[1], 0.01, 2, b));
	OK(a[0] == b[0] && a[1] == b[1]);
	OK(tails_effective_cnt(&all) == tails_effective_cnt(&parts[1]));
	tails_release(&all);
	tails_release(&parts[0]);
	tails_release(&parts[1]);
}

TEST(tails_of_nothing)
{
	struct tails t = {0};
	struct hist h = {0};
	double share[1] = {1};

	OK(tails_quantile(&t, 0.5) == 0 && tails_rank(&t, 5) == 0);
	OK(tails_trimmed(&t, 0.01, 1, share) == 0 && share[0] == 0);
	tails_slowest(&t, 0.05, 1, share);
	OK(share[0] == 0 && tails_effective_cnt(&t) == 0);
	OK(hist_quantile(&h, 0, 0.5) == 0 && hist_quantile(&h, 3, 0.5) == 0);
	OK(hist_rank(&h, 0, 7) == 0);
}

TEST(tails_rank_test_sees_a_shift_below_a_heavy_tail)
{
	struct hist a = {0}, b = {0}, few = {0};

	/* powers of two, and half as much more: of 40 pairs 21 are over */
	for (uint64_t i = 0; i < 200; i++) {
		hist_add(&a, UINT64_C(3) << (i % 20 + 10));
		hist_add(&b, UINT64_C(2) << (i % 20 + 10));
	}
	for (uint64_t i = 0; i < 7; i++)
		hist_add(&few, i);
	NEAR(hist_above_p(&a, &a), 0.5, 1e-9);
	/* U is 20000 + 1000; its variance 200 * 200 / 12 * (401 - 40 * 990 / (400 * 399)) */
	NEAR(hist_above_p(&a, &b), 0.5 * erfc(1000 / sqrt(2 * 40000.0 / 12 *
		(401 - 40 * 990 / (400.0 * 399)))), 1e-9);
	NEAR(hist_above_p(&a, &b) + hist_above_p(&b, &a), 1, 1e-9);
	NEAR(hist_above_p(&few, &a), 1, 0);
	hist_release(&few);
	for (uint64_t i = 0; i < 200; i++)
		hist_add(&few, 5);
	NEAR(hist_above_p(&few, &few), 1, 0);	/* nothing but ties */
	hist_release(&a);
	hist_release(&b);
	hist_release(&few);
}
