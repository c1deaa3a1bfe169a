/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mining, counting and finding of episodes, each held against the slowest
 * thing that is obviously right, over random inputs from small alphabets.
 */
#include "unit.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "functions/sig/automaton.h"
#include "functions/sig/episodes.h"
#include "functions/units/normalize.h"
#include "model/calls/calls.h"

/* A generator of our own: the same numbers everywhere. */
static uint32_t rnd(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33) % below;
}

static uint32_t random_seq(uint64_t *state, uint32_t kinds, uint32_t max, uint16_t *out)
{
	uint32_t len = 1 + rnd(state, max);

	for (uint32_t i = 0; i < len; i++)
		out[i] = (uint16_t)rnd(state, kinds);
	return len;
}

static bool holds(const uint16_t *big, unsigned big_len, const uint16_t *small, unsigned len)
{
	for (unsigned at = 0; at + len <= big_len; at++)
		if (memcmp(big + at, small, len * sizeof(*small)) == 0)
			return true;
	return false;
}

/* ---- the slow way: every episode of every length over the alphabet */

static uint64_t slow_support(const struct seqs *s, const struct episode *e)
{
	uint64_t cnt = 0;

	VEC_FOREACH(&s->seqs, q)
		if (holds(&s->syms.items[q->first], q->len, e->syms, e->len))
			cnt += q->cnt;
	return cnt;
}

static bool slow_closed(const struct seqs *s, const struct episode *e, uint32_t kinds,
			unsigned max_len)
{
	uint64_t support = slow_support(s, e);

	for (uint16_t k = 0; k < kinds && e->len < max_len; k++) {
		struct episode right = *e, left = *e;

		right.syms[right.len++] = k;
		memmove(left.syms + 1, e->syms, e->len * sizeof(*e->syms));
		left.syms[0] = k;
		left.len++;
		if (slow_support(s, &right) == support || slow_support(s, &left) == support)
			return false;
	}
	return true;
}

/* The n-th episode of this length over the alphabet. */
static struct episode nth(uint32_t n, unsigned len, uint32_t kinds)
{
	struct episode e = {.len = (uint8_t)len};

	for (unsigned i = 0; i < len; i++, n /= kinds)
		e.syms[i] = (uint16_t)(n % kinds);
	return e;
}

static void mine_against_slow(const struct seqs *s, uint32_t kinds, unsigned max_len,
			      uint32_t min, double share)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct mine_opts opts = {.min_support = min, .min_share = share, .max_len = max_len};
	size_t cnt, found = 0;
	struct mined *mined = episodes_mine(s, &opts, &arena, &cnt);
	uint64_t least = min;

	while ((double)least < share * (double)s->cnt)
		least++;
	least = least < s->cnt ? least : s->cnt;
	for (unsigned len = 1, all = kinds; len <= max_len; len++, all *= kinds)
		for (uint32_t n = 0; n < all; n++) {
			struct episode e = nth(n, len, kinds);
			uint64_t support = slow_support(s, &e);
			bool want = support >= least && slow_closed(s, &e, kinds, max_len);

			for (size_t i = 0; i < cnt; i++) {
				if (episode_cmp(&mined[i].ep, &e) != 0)
					continue;
				OK(want);
				EQ_U(mined[i].support, support);
				found++;
				want = false;
			}
			OK(!want);
		}
	EQ_U(found, cnt);
	for (size_t i = 1; i < cnt; i++)
		OK(mined[i - 1].support >= mined[i].support);
}

TEST(episodes_mined_are_all_closed_frequent_ones)
{
	uint64_t state = 1;

	for (int round = 0; round < 150; round++) {
		CLEANUP(seqs_release) struct seqs s = {0};
		uint32_t kinds = 2 + rnd(&state, 2);
		uint16_t syms[SEQ_LEN_MAX];

		ROW(round);
		for (uint32_t n = 1 + rnd(&state, 12); n; n--) {
			uint32_t len = random_seq(&state, kinds, 12, syms);

			if (rnd(&state, 3) == 0) /* a gap */
				syms[rnd(&state, len)] = SYM_NONE;
			seqs_add(&s, syms, len, 1 + rnd(&state, 3));
		}
		mine_against_slow(&s, kinds, 1 + rnd(&state, 5), 1 + rnd(&state, 3),
				  0.05 + 0.1 * rnd(&state, 5));
	}
}

TEST(episodes_of_eight_and_a_function_seen_once)
{
	static const uint16_t once[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	CLEANUP(arena_release) struct arena arena = {0};
	CLEANUP(seqs_release) struct seqs s = {0};
	struct mined *mined;
	size_t cnt;

	mined = episodes_mine(&s, NULL, &arena, &cnt);
	EQ_U(cnt, 0);
	seqs_add(&s, once, 9, 1);
	mined = episodes_mine(&s, NULL, &arena, &cnt);
	EQ_U(cnt, 2); /* its first eight and its last eight */
	EQ_U(mined[0].ep.len, 8);
	EQ_U(mined[0].ep.syms[0], 1);
	EQ_U(mined[1].ep.syms[7], 9);
	EQ_U(mined[1].support, 1);
}

TEST(seqs_join_equal_ones_and_are_bounded)
{
	CLEANUP(seqs_release) struct seqs s = {0};

	for (unsigned i = 0; i < SEQS_MAX + 10; i++) {
		uint16_t syms[2] = {(uint16_t)(i & 255), (uint16_t)(i >> 8)};

		seqs_add(&s, syms, 2, 1);
		seqs_add(&s, syms, 2, 2);
	}
	EQ_U(s.seqs.cnt, SEQS_MAX);
	EQ_U(s.cnt, 3 * SEQS_MAX);
	EQ_U(s.dropped_cnt, 30);
	EQ_U(s.seqs.items[7].cnt, 3);
}

/* ---- finite-state counting */

/* Greedy: the earliest end of each occurrence leaves the most room for the next. */
static uint64_t slow_serial(const struct seqs *s, const struct episode *e)
{
	uint64_t cnt = 0;

	VEC_FOREACH(&s->seqs, q) {
		unsigned have = 0;

		for (unsigned i = 0; i < q->len; i++) {
			if (s->syms.items[q->first + i] != e->syms[have])
				continue;
			if (++have == e->len) {
				cnt += q->cnt;
				have = 0;
			}
		}
	}
	return cnt;
}

/* The most pairwise disjoint occurrences there are, by trying all starts and ends. */
static unsigned most_disjoint(const uint16_t *syms, unsigned len, const struct episode *e)
{
	unsigned best = 0;

	for (unsigned end = e->len; end <= len; end++) {
		unsigned have = e->len, at = end;

		while (have && at) /* the latest begin of an occurrence that ends by end */
			have -= syms[--at] == e->syms[have - 1];
		if (have == 0) {
			unsigned with = 1 + most_disjoint(syms, at, e);

			best = with > best ? with : best;
		}
	}
	return best;
}

TEST(episodes_fsm_counts_non_overlapped_occurrences)
{
	uint64_t state = 2;

	for (int round = 0; round < 200; round++) {
		CLEANUP(seqs_release) struct seqs s = {0};
		struct episode eps[20] = {0};
		uint64_t cnts[20];
		uint16_t syms[SEQ_LEN_MAX];
		uint32_t kinds = 1 + rnd(&state, 4);

		ROW(round);
		for (uint32_t n = rnd(&state, 5); n; n--) {
			uint32_t len = random_seq(&state, kinds, 14, syms);

			seqs_add(&s, syms, len, 1 + rnd(&state, 4));
		}
		for (unsigned i = 0; i < 20; i++)
			eps[i].len = (uint8_t)random_seq(&state, kinds, 4, eps[i].syms);
		episodes_fsm(eps, 20, &s, cnts);
		for (unsigned i = 0; i < 20; i++) {
			uint64_t most = 0;

			EQ_U(cnts[i], slow_serial(&s, &eps[i]));
			VEC_FOREACH(&s.seqs, q)
				most += q->cnt * most_disjoint(&s.syms.items[q->first], q->len,
							       &eps[i]);
			EQ_U(cnts[i], most);
		}
	}
}

/* ---- the automaton */

struct found {
	uint32_t cnts[64];
	uint64_t sum;
	size_t last_end;
	unsigned last_len;
	const struct episode *eps;
	const uint16_t *trace;
	const uint16_t *nr_of;
};

static void note(void *ctx, uint32_t id, size_t end)
{
	struct found *f = ctx;
	const struct episode *e = &f->eps[id];

	OK(end + 1 >= e->len);
	for (unsigned i = 0; i < e->len; i++)
		EQ_U(f->trace[end + 1 - e->len + i],
		     f->nr_of ? f->nr_of[e->syms[i]] : e->syms[i]);
	OK(end > f->last_end || f->sum == 0 || e->len < f->last_len);
	f->last_end = end;
	f->last_len = e->len;
	f->cnts[id]++;
	f->sum++;
}

static unsigned distinct_episodes(uint64_t *state, uint32_t kinds, struct episode *eps)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < 40; i++) {
		struct episode e = {0};
		bool old = false;

		e.len = (uint8_t)random_seq(state, kinds, EPISODE_LEN_MAX, e.syms);
		for (unsigned k = 0; k < cnt; k++)
			old = old || episode_cmp(&eps[k], &e) == 0;
		if (!old)
			eps[cnt++] = e;
	}
	return cnt;
}

static uint32_t slow_matches(const struct episode *e, const uint16_t *nr_of,
			     const uint16_t *trace, size_t len)
{
	struct episode m = *e;
	uint32_t cnt = 0;

	for (unsigned i = 0; i < e->len; i++) {
		m.syms[i] = nr_of ? nr_of[e->syms[i]] : e->syms[i];
		if (m.syms[i] == SYM_NONE)
			return 0;
	}
	for (size_t at = 0; at + e->len <= len; at++)
		cnt += memcmp(trace + at, m.syms, e->len * sizeof(*m.syms)) == 0;
	return cnt;
}

static void automaton_against_slow(uint64_t *state, size_t dense_max, bool map)
{
	/* numbers far from the symbols, and a symbol without one */
	static const uint16_t nrs[] = {300, 0, 65534, 7, SYM_NONE};
	struct episode eps[40];
	uint32_t kinds = 1 + rnd(state, map ? 5 : 6);
	unsigned cnt = distinct_episodes(state, kinds, eps);
	uint16_t trace[400];
	const uint16_t *nr_of = map ? nrs : NULL;
	struct found f = {.eps = eps, .trace = trace, .nr_of = nr_of};
	struct automaton *a = automaton_new(eps, cnt, nr_of, dense_max);
	uint64_t sum = 0;
	uint32_t at = 0;

	for (unsigned i = 0; i < 400; i++) {
		trace[i] = (uint16_t)rnd(state, kinds + 1);
		trace[i] = map && trace[i] < 4 ? nrs[trace[i]] : trace[i];
	}
	EQ_U(automaton_run(a, trace, 400, note, &f), f.sum);
	for (unsigned i = 0; i < cnt; i++) {
		EQ_U(f.cnts[i], slow_matches(&eps[i], nr_of, trace, 400));
		sum += f.cnts[i];
	}
	EQ_U(sum, f.sum);
	for (unsigned i = 0; i < 400; i++) {
		const uint32_t *ids;

		at = automaton_step(a, at, trace[i]);
		sum -= automaton_out(a, at, &ids);
	}
	EQ_U(sum, 0);
	OK(automaton_bytes(a) > 0);
	automaton_free(a);
}

TEST(automaton_finds_what_a_search_at_each_place_finds)
{
	uint64_t state = 3;

	for (int round = 0; round < 300; round++) {
		ROW(round);
		automaton_against_slow(&state, 0, round & 1);
		automaton_against_slow(&state, 1, round & 1); /* compact */
	}
	automaton_free(NULL);
}

TEST(automaton_of_nothing)
{
	static const uint16_t trace[] = {0, 1, 65535};
	struct episode none = {0};
	struct automaton *a = automaton_new(NULL, 0, NULL, 0);

	EQ_U(automaton_run(a, trace, 3, NULL, NULL), 0);
	automaton_free(a);
	a = automaton_new(&none, 1, NULL, 0);
	EQ_U(automaton_run(a, trace, 3, NULL, NULL), 0);
	automaton_free(a);
}

/* ---- normalisation */

TEST(norm_drops_noise_and_joins_repeats)
{
	static const char *const names[] = {"read", "mmap", "write", "clock_gettime", NULL};
	static const uint16_t nrs[] = {1, 0, 0, 3, 0, 2, 2, 1, 1, 0, 4, 4};
	static const struct { uint16_t sym; uint32_t first, reps; } want[] = {
		{0, 11, 3}, {2, 15, 2}, {0, 19, 1}, {4, 20, 2}};
	CLEANUP(arena_release) struct arena arena = {0};
	struct call calls[24] = {0};
	struct norm n = {0};
	uint8_t *noise = norm_noise(names, 5, &arena);

	for (unsigned i = 0; i < 12; i++)
		calls[10 + i].nr = nrs[i];
	for (int again = 0; again < 2; again++) {
		norm_calls(&n, calls, 10, 12, noise);
		EQ_U(n.cnt, 4);
		EQ_U(n.noise_cnt, 4);
		for (unsigned i = 0; i < 4; i++) {
			ROW(i);
			EQ_U(n.syms[i], want[i].sym);
			EQ_U(n.first[i], want[i].first);
			EQ_U(n.reps[i], want[i].reps);
		}
	}
	norm_calls(&n, calls, 10, 0, noise);
	EQ_U(n.cnt, 0);
	norm_calls(&n, calls, 10, 12, NULL);
	EQ_U(n.cnt, 8);
	norm_release(&n);
}
