/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the function engine against slow, obvious references. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "functions/units/cluster.h"
#include "functions/units/outliers.h"
#include "functions/rank/rank.h"
#include "functions/units/features.h"
#include "unit.h"

static uint64_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

/* ---- bins */

TEST(functions_bins_keep_an_eighth)
{
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t random = (uint64_t)any(UINT32_MAX) << 32 | any(UINT32_MAX);
		uint64_t v = i < 4096 ? i : random >> any(64);
		double mid = bin_mid(bin_of(v));

		OK(bin_of(v) < BINS);
		OK(bin_of(v) <= bin_of(v + (v < UINT64_MAX)));
		NEAR(mid, (double)v, (double)v / 8 + 0.5);
	}
}

static double itself(double v)
{
	return v;
}

TEST(functions_spread_is_median_and_mad)
{
	uint32_t bins[BINS] = {0};
	struct spread s = bins_spread(bins, itself);

	EQ_U((unsigned)s.mid, 0);
	bins[1] = 3;
	bins[2] = 4;
	bins[7] = 2;
	/* 1 1 1 2 2 2 2 7 7: middle 2, distances 0 0 0 0 1 1 1 5 5 */
	s = bins_spread(bins, itself);
	NEAR(s.mid, 2, 0);
	NEAR(s.dev, 1.4826, 1e-9);
}

/* ---- clustering */

/* Merges the nearest two, again and again: the definition. */
static void cluster_slow(const uint16_t *dist, uint32_t n, unsigned cut, uint32_t *of)
{
	for (uint32_t i = 0; i < n; i++)
		of[i] = i;
	for (;;) {
		unsigned best = cut + 1;
		uint32_t a = 0, b = 0;

		for (uint32_t x = 0; x < n; x++)
			for (uint32_t y = 0; y < x; y++) {
				unsigned far = 0;

				if (of[x] != x || of[y] != y)
					continue;
				for (uint32_t i = 0; i < n; i++)
					for (uint32_t k = 0; k < n; k++)
						if (of[i] == x && of[k] == y &&
						    dist[i * n + k] > far)
							far = dist[i * n + k];
				if (far < best) {
					best = far;
					a = y;
					b = x;
				}
			}
		if (best > cut)
			return;
		for (uint32_t i = 0; i < n; i++)
			if (of[i] == b)
				of[i] = a;
	}
}

TEST(functions_cluster_is_complete_linkage)
{
	for (unsigned round = 0; round < 300; round++) {
		enum { MAX = 14 };
		uint32_t n = 1 + any(MAX), slow[MAX], fast[MAX];
		uint16_t dist[MAX * MAX] = {0}, order[MAX * MAX], copy[MAX * MAX];
		uint32_t pairs = n * (n - 1) / 2, at = 0;

		ROW(round);
		for (uint32_t i = 0; i < pairs; i++)
			order[i] = (uint16_t)(i + 1);
		for (uint32_t i = 1; i < pairs; i++) { /* distinct distances: no ties */
			uint32_t k = any(i + 1);
			uint16_t t = order[i];

			order[i] = order[k];
			order[k] = t;
		}
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < i; k++)
				dist[i * n + k] = dist[k * n + i] = order[at++];
		memcpy(copy, dist, sizeof(copy));
		cluster_slow(dist, n, pairs / 2, slow);
		cluster_matrix(copy, n, pairs / 2, fast);
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < n; k++)
				EQ_U(fast[i] == fast[k], slow[i] == slow[k]);
	}
}

static void patterns_fill(struct pattern *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		p[i].cnt = 1 + any(5);
		for (unsigned b = 0; b < 12; b++)
			if (any(3) == 0)
				p[i].bits[b % 2] |= UINT64_C(1) << b;
	}
	qsort(p, n, sizeof(*p), pattern_cmp);
}

/* No two sets of a cluster are too far from each other, and no two clusters could be one. */
TEST(functions_cluster_cut_is_tight)
{
	for (unsigned round = 0; round < 100; round++) {
		enum { MAX = 60 };
		struct pattern p[MAX];
		uint32_t n = 1 + any(MAX), of[MAX], cnt;

		ROW(round);
		memset(p, 0, sizeof(p));
		patterns_fill(p, n);
		cnt = cluster_patterns(p, n, of);
		for (uint32_t a = 0; a < cnt; a++)
			for (uint32_t b = 0; b <= a; b++) {
				unsigned far = 0;

				for (uint32_t i = 0; i < n; i++)
					for (uint32_t k = 0; k < n; k++)
						if (of[i] == a && of[k] == b &&
						    pattern_distance(&p[i], &p[k]) > far)
							far = pattern_distance(&p[i], &p[k]);
				OK(a == b ? far <= CLUSTER_DIAMETER : far > CLUSTER_DIAMETER);
			}
	}
}

/* ---- nearest neighbours */

static double at_axis(const struct point *p, const struct coord *c, unsigned axis)
{
	for (uint32_t i = 0; i < p->cnt; i++)
		if (c[p->first + i].axis == axis)
			return c[p->first + i].at;
	return 0;
}

static int cmp_double(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return a < b ? -1 : a > b;
}

/* Each unit by itself, all distances sorted. */
static double knn_slow(const struct point *p, uint32_t n, const struct coord *c, uint32_t at)
{
	double all[512], sum = 0;
	uint32_t cnt = 0, k;

	for (uint32_t i = 0; i < n; i++)
		for (uint64_t u = i == at; u < p[i].unit_cnt; u++) {
			double d = 0;

			for (unsigned axis = 0; axis < 8; axis++)
				d += pow(at_axis(&p[i], c, axis) - at_axis(&p[at], c, axis), 2);
			all[cnt++] = sqrt(d);
		}
	qsort(all, cnt, sizeof(*all), cmp_double);
	k = cnt < KNN_K ? cnt : KNN_K;
	for (uint32_t i = 0; i < k; i++)
		sum += all[i];
	return k ? sum / k : 0;
}

TEST(functions_knn_is_that_of_single_units)
{
	for (unsigned round = 0; round < 200; round++) {
		struct point p[40];
		struct coord c[40 * 8];
		uint32_t n = 1 + any(40), cnt = 0;

		ROW(round);
		memset(p, 0, sizeof(p));
		for (uint32_t i = 0; i < n; i++) {
			p[i].first = cnt;
			p[i].unit_cnt = 1 + any(7);
			for (unsigned axis = 0; axis < 8; axis++)
				if (any(3) == 0)
					c[cnt++] = (struct coord){(uint16_t)axis,
								  (int16_t)(any(20) - 9)};
			p[i].cnt = cnt - p[i].first;
		}
		knn_scores(p, n, c);
		for (uint32_t i = 0; i < n; i++)
			NEAR((double)p[i].score, knn_slow(p, n, c, i), 1e-4);
	}
}

/* ---- ranking */

TEST(functions_score_puts_the_guilty_first)
{
	/* only harm; harm and all usual work; part of the harm only; none */
	NEAR(rank_score(1, 1, 0), 1, 1e-12);
	NEAR(rank_score(1, 1, 1), sqrt(0.5), 1e-12);
	NEAR(rank_score(0.25, 0.25, 0), 0.5, 1e-12);
	NEAR(rank_score(0, 0, 0.5), 0, 0);
	OK(rank_score(0.5, 0.5, 0) > rank_score(0.5, 0.5, 0.1));
}

/* What a person would check a list by: who stands where, told pair by pair. */
static double place_slow(const struct fn_report *fns, size_t cnt, const struct fn_report *f)
{
	double best = f->score;

	for (size_t i = 0; i < cnt && f->group; i++)
		if (fns[i].group == f->group && fns[i].score > best)
			best = fns[i].score;
	return best;
}

static bool ties(const struct fn_report *a, double pa, const struct fn_report *b, double pb)
{
	if (a->group || b->group)
		return a->group == b->group;
	return fabs(pa - pb) <= 0 && fabs(a->self - b->self) <= 0;
}

/* Of those of equal place the ungrouped come first, then groups by number. */
static bool stands_before(const struct fn_report *a, double pa, const struct fn_report *b,
			  double pb)
{
	if (pa > pb || pa < pb)
		return pa > pb;
	if (a->group != b->group)
		return a->group < b->group;
	return !a->group && a->self > b->self;
}

TEST(functions_rank_is_what_a_comparison_of_pairs_gives)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
					    "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"};
	seed = 5;
	for (unsigned round = 0; round < 300; round++) {
		struct fn_report fns[20], was[20];
		struct functions_result r = {.fns = fns, .fn_cnt = 1 + any(20)};
		size_t cnt = r.fn_cnt;
		double best = 0;

		for (size_t i = 0; i < cnt; i++)
			fns[i] = (struct fn_report){
				.name = names[i], .module = "m", .score = any(12) / 11.0,
				.self = any(3) / 2.0,
				.group = any(2) ? 0 : 1 + any(3)};
		memcpy(was, fns, sizeof(fns));
		for (size_t i = 0; i < cnt; i++)
			best = was[i].score > best ? was[i].score : best;
		rank_sort(&r);
		EQ_U(r.candidate_cnt, cnt);
		for (size_t i = 0, at = 0; i < cnt; i++) {
			double place = place_slow(was, cnt, &was[i]);
			size_t before = 0, same = 0;

			for (at = 0; at < r.fn_cnt && fns[at].name != was[i].name; at++)
				;
			EQ_U(at < r.fn_cnt, place > 0 && place >= LISTED_SHARE * best);
			if (at == r.fn_cnt)
				continue;
			for (size_t k = 0; k < cnt; k++) {
				double other = place_slow(was, cnt, &was[k]);

				before += stands_before(&was[k], other, &was[i], place) &&
					  !ties(&was[k], other, &was[i], place);
				same += ties(&was[k], other, &was[i], place);
			}
			EQ_U(fns[at].rank, before + 1);
			EQ_U(fns[at].tie_cnt, same);
			EQ_U(fns[at].tie != 0, same > 1);
		}
	}
}
