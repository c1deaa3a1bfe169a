/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "requests/stats/moments.h"
#include "requests/stats/tests.h"

#include "unit.h"

enum { COLS = 5, MEMBERS = 400 };

struct member {
	struct trace_id id;
	int64_t took[COLS];
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Edges of very different sizes; the second follows the first, the fourth is heavy tailed. */
static void make_members(struct member *members, uint32_t cnt, uint64_t seed)
{
	for (uint32_t i = 0; i < cnt; i++) {
		struct member *m = &members[i];

		m->id.hi = next_random(&seed);
		m->id.lo = next_random(&seed);
		m->took[0] = 1000000 + (int64_t)(next_random(&seed) % 500000);
		m->took[1] = 3 * m->took[0] + (int64_t)(next_random(&seed) % 1000);
		m->took[2] = 7;
		m->took[3] = (int64_t)(1e9 / (1 + next_random(&seed) % 1000));
		m->took[4] = next_random(&seed) % 2 ? 0 : 50000000000;
	}
}

static void add_member(struct moments *m, const struct member *one)
{
	moments_add(m, moments_cell_of(&one->id), one->took, NULL, COLS);
}

static long double total_of(const struct member *m)
{
	long double t = 0;

	for (uint32_t i = 0; i < COLS; i++)
		t += m->took[i];
	return t;
}

/* Two passes in long double: slow, obvious, and good to many digits. */
static long double cov_of(const struct member *members, uint32_t cnt, int a, int b)
{
	long double ma = 0, mb = 0, sum = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		ma += a < 0 ? total_of(&members[i]) : members[i].took[a];
		mb += b < 0 ? total_of(&members[i]) : members[i].took[b];
	}
	for (uint32_t i = 0; i < cnt; i++)
		sum += ((a < 0 ? total_of(&members[i]) : members[i].took[a]) - ma / cnt) *
		       ((b < 0 ? total_of(&members[i]) : members[i].took[b]) - mb / cnt);
	return sum / cnt;
}

static bool near(double got, long double want, double rel)
{
	return fabsl(got - want) <= rel * fabsl(want) + 1e-6;
}

TEST(moments_are_those_of_two_passes)
{
	static struct member members[MEMBERS];
	struct moments m = {0};
	double sum = 0, whole = 0;

	make_members(members, MEMBERS, 42);
	for (uint32_t i = 0; i < MEMBERS; i++)
		add_member(&m, &members[i]);
	EQ_U(moments_cnt(&m), MEMBERS);
	OK(near(moments_var(&m), cov_of(members, MEMBERS, -1, -1), 1e-12));
	for (uint32_t a = 0; a < COLS; a++) {
		sum += moments_share(&m, a).value;
		whole += moments_column_mean(&m, a);
		OK(near(moments_column_var(&m, a), cov_of(members, MEMBERS, a, a), 1e-12));
		OK(near(moments_cov_total(&m, a), cov_of(members, MEMBERS, a, -1), 1e-12));
		for (uint32_t b = 0; b < COLS; b++)
			OK(near(moments_cov(&m, a, b), cov_of(members, MEMBERS, a, b), 1e-9));
	}
	OK(near(sum, 1, 1e-14));
	OK(near(whole, moments_mean(&m), 1e-14));
	moments_release(&m);
}

static bool same_bits(const struct moments *a, const struct moments *b)
{
	return a->column_cnt == b->column_cnt && !memcmp(a->cnt, b->cnt, sizeof(a->cnt)) &&
	       !memcmp(a->total, b->total, sizeof(a->total)) &&
	       !memcmp(a->columns, b->columns, a->column_cnt * sizeof(*a->columns)) &&
	       !memcmp(a->pairs, b->pairs,
		       a->column_cnt * (a->column_cnt - 1) / 2 * sizeof(*a->pairs));
}

TEST(moments_do_not_know_the_order_nor_the_parts)
{
	static struct member members[MEMBERS];
	struct moments forth = {0}, back = {0}, parts[3] = {};

	make_members(members, MEMBERS, 7);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		add_member(&forth, &members[i]);
		add_member(&back, &members[MEMBERS - 1 - i]);
		add_member(&parts[i % 3], &members[i]);
	}
	OK(same_bits(&forth, &back));
	moments_merge(&parts[2], &parts[0], NULL);
	moments_merge(&parts[2], &parts[1], NULL);
	OK(same_bits(&forth, &parts[2]));
	for (uint32_t i = 0; i < 3; i++)
		moments_release(&parts[i]);
	moments_release(&forth);
	moments_release(&back);
}

/* Columns by number: what a member lacks is 0, however the columns came. */
TEST(moments_of_columns_in_any_place)
{
	struct moments one = {0}, other = {0}, direct = {0};
	const uint32_t cols[] = {0, 2}, to[] = {2, 1};
	const int64_t took[][2] = {{10, 20}, {30, 50}}, third[] = {5, 6};
	struct trace_id id = {1, 2};
	uint32_t cell = moments_cell_of(&id);

	for (uint32_t i = 0; i < 2; i++) {
		moments_add(&one, cell, took[i], NULL, 2);
		moments_add(&direct, cell, took[i], to, 2);
	}
	moments_add(&other, cell, third, cols, 2);
	moments_add(&direct, cell, third, cols, 2);
	moments_merge(&other, &one, to);
	EQ_U(moments_columns(&direct), 3);
	OK(same_bits(&direct, &other));
	EQ_U(direct.columns[0].cnt, 1);
	EQ_U(direct.columns[2].cnt, 3);
	OK(near(moments_column_mean(&direct, 0), 5.0L / 3, 1e-15));
	OK(near(moments_cov(&direct, 1, 2), 1700 / 3.0L - 70 / 3.0L * 46 / 3, 1e-12));
	moments_release(&one);
	moments_release(&other);
	moments_release(&direct);
}

/* Many members at once give the bits that they give one by one, of times short and long. */
TEST(moments_of_rows)
{
	static const uint32_t cnts[] = {0, 1, 7, 8, 31, 32, 33};
	struct member members[33];

	make_members(members, 33, 77);
	for (uint32_t i = 0; i < 2 * sizeof(cnts) / sizeof(*cnts); i++) {
		uint32_t cnt = cnts[i / 2];
		struct moments by_one = {0}, at_once = {0};
		int64_t rows[33][2 + COLS];
		double covs[COLS * (COLS - 1) / 2], *cov = covs;

		ROW(i);
		for (uint32_t k = 0; k < cnt; k++) {
			struct member *m = &members[k];

			rows[k][0] = moments_cell_of(&m->id);
			rows[k][1] = COLS;
			for (uint32_t c = 0; c < COLS; c++) {
				/* the longest that are added up in 64 bits, and longer ones */
				if (i % 2 == 0 && m->took[c] > (1 << 29) - 1)
					m->took[c] = (1 << 29) - 1;
				rows[k][2 + c] = m->took[c];
			}
			add_member(&by_one, m);
		}
		moments_add_rows(&at_once, rows[0], cnt, COLS);
		if (cnt)
			OK(same_bits(&by_one, &at_once));
		moments_covs(&at_once, covs);
		for (uint32_t a = 0; a < at_once.column_cnt; a++)
			for (uint32_t b = 0; b < a; b++)
				OK(*cov++ == moments_cov(&by_one, a, b));
		moments_release(&by_one);
		moments_release(&at_once);
		make_members(members, 33, 77 + i);
	}
}

TEST(moments_at_the_limit_do_not_overflow)
{
	struct moments m = {0};
	int64_t most = MOMENTS_NS_MAX, none = 0;

	for (uint32_t i = 0; i < 2000; i++)
		moments_add(&m, i % MOMENTS_CELLS, i % 2 ? &most : &none, NULL, 1);
	OK(near(sqrt(moments_var(&m)), MOMENTS_NS_MAX / 2.0L, 1e-15));
	OK(near(moments_share(&m, 0).value, 1, 1e-15));
	/* as if there had been 2^26: squares then fill 126 bits */
	for (uint32_t i = 0; i < 15; i++) {
		struct moments twice = {0};

		moments_merge(&twice, &m, NULL);
		moments_merge(&m, &twice, NULL);
		moments_release(&twice);
	}
	EQ_U(moments_cnt(&m), 2000u << 15);
	OK(near(sqrt(moments_var(&m)), MOMENTS_NS_MAX / 2.0L, 1e-15));
	moments_release(&m);
}

TEST(moments_nothing_varies)
{
	struct moments m = {0};
	int64_t took[] = {3, 4};

	OK(moments_mean(&m) == 0 && moments_var(&m) == 0);
	for (uint32_t i = 0; i < 50; i++)
		moments_add(&m, i % MOMENTS_CELLS, took, NULL, 2);
	OK(moments_var(&m) == 0);
	OK(moments_share(&m, 0).value == 0);
	OK(moments_mean_error(&m, MOMENTS_TOTAL) < 1e-9);
	moments_release(&m);
}

/* The 95 % interval holds the true share nearly as often as it says. */
TEST(moments_interval_holds_the_truth)
{
	uint64_t state = 99;
	uint32_t held = 0, runs = 400;

	for (uint32_t run = 0; run < runs; run++) {
		struct moments m = {0};
		struct moments_share s;

		/* the widths make 10 + 20 of uniform noise: shares 1/5 and 4/5 */
		for (uint32_t i = 0; i < 300; i++) {
			int64_t took[] = {(int64_t)(next_random(&state) % 10000000),
					  (int64_t)(next_random(&state) % 20000000)};

			moments_add(&m, next_random(&state) % MOMENTS_CELLS, took, NULL, 2);
		}
		s = moments_share(&m, 0);
		held += s.low <= 0.2 && 0.2 <= s.high;
		OK(s.high - s.low < 0.2);
		moments_release(&m);
	}
	OK(held >= runs * 90 / 100 && held <= runs * 99 / 100);
}

/* Against tables of the distributions. */
TEST(stats_distributions)
{
	OK(near(stats_t_p(2.228, 10), 0.05, 1e-3));
	OK(near(stats_t_p(12.706, 1), 0.05, 1e-3));
	OK(near(stats_t_p(1.96, 1e6), 0.05, 1e-3));
	OK(near(stats_t_quantile(0.975, 15), 2.13145, 1e-5));
	for (uint32_t df = 1; df <= 16; df++)
		OK(near(stats_t_975(df), stats_t_quantile(0.975, df), 1e-14));
	OK(near(stats_f_p(4.10, 2, 10), 0.05, 2e-3));
	OK(near(stats_f_p(1.0, 7, 7), 0.5, 1e-9));
	OK(near(stats_beta(2, 3, 0.4), 0.5248, 1e-9));
	OK(near(stats_beta(0.5, 0.5, 0.5), 0.5, 1e-9));
	OK(near(stats_r_p(0.85, 15), 5.96e-5, 2e-2));
	EQ_I(stats_r_p(1, 3), 1);
	EQ_I(stats_r_p(1, 30), 0);
}

TEST(stats_ranks_and_false_discoveries)
{
	const double x[] = {3, 1, 3, 2}, y[] = {6, 2, 6, 4}, p[] = {0.04, 0.01, 0.03, 0.5};
	double rank[4], q[4];
	uint32_t order[4];

	stats_ranks(x, 4, order, rank);
	OK(rank[0] == 3.5 && rank[1] == 1 && rank[2] == 3.5 && rank[3] == 2);
	OK(near(stats_r(x, y, 4), 1, 1e-12));
	stats_fdr(p, 4, q);
	OK(near(q[1], 0.04, 1e-12) && near(q[2], 0.04 * 4 / 3, 1e-12));
	OK(near(q[0], 0.04 * 4 / 3, 1e-12) && near(q[3], 0.5, 1e-12));
	stats_fdr(p, 0, q);
}

/* Of a deck of 52: four aces in a hand of five, and the like. */
TEST(stats_draws_without_putting_back)
{
	OK(fabs(stats_hyper_p(52, 4, 5, 0) - 1) < 1e-12);
	OK(fabs(stats_hyper_p(52, 4, 5, 1) - 0.341158) < 1e-6);
	OK(fabs(stats_hyper_p(52, 4, 5, 4) - 48.0 / 2598960) < 1e-12);
	EQ_U(stats_hyper_p(52, 4, 5, 5) > 0, 0);
	OK(fabs(stats_hyper_p(10, 8, 5, 3) - 1) < 1e-12);	/* two at most are not good */
}
