/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "functions/rank/context_vote.h"
#include "functions/sig/sig_build.h"

enum { CALLS = 4, FNS = 5, KIND = 6 << SIG_KIND_SHIFT };

static uint32_t rnd(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33) % below;
}

/* Where what matters is drawn from so little that places agree in part again and again. */
static struct sig_place random_place(uint64_t *state, bool gap)
{
	struct sig_place p = {.cnt = 1 + rnd(state, 8)};

	for (unsigned i = 0; i < SIG_AROUND_CNT; i++)
		p.around[i] = (uint16_t)(rnd(state, 6) ? rnd(state, CALLS) : SIG_NO_CALL);
	p.around[SIG_AT] = (uint16_t)(gap ? SIG_NO_CALL : rnd(state, CALLS));
	p.self_cnt = rnd(state, (uint32_t)p.cnt + 1);
	p.near_sum = p.cnt * rnd(state, SIG_NEAR_ONE + 1);
	p.what = rnd(state, 2) ? SIG_MAIN : 0;
	if (!gap)
		p.what |= (uint16_t)((rnd(state, 2) ? SIG_FIRST : 0) | (rnd(state, 2) ? KIND : 0) |
				     (rnd(state, 2) ? SIG_BLOCKED : 0));
	p.bin = (uint8_t)(gap || p.what & SIG_BLOCKED ? rnd(state, 12) : 0);
	return p;
}

static struct sigs *random_sigs(uint64_t *state, struct arena *arena)
{
	static const char *const calls[CALLS] = {"a", "b", "c", "d"};
	static const char *const names[FNS] = {"f", "g", "h", "i", "j"};
	struct sig_builder *b = sig_builder_new();
	struct sigs *s;

	for (unsigned i = 0; i < CALLS; i++)
		sig_builder_call(b, calls[i]);
	for (unsigned i = 0; i < FNS; i++) {
		uint32_t fn = sig_builder_fn(b, &(struct sig_fn){.name = names[i],
								 .module = SIG_NO_MODULE});

		for (uint32_t k = rnd(state, 60); k; k--) {
			struct sig_place p = random_place(state, rnd(state, 2));

			if (p.around[SIG_AT] != SIG_NO_CALL && !rnd(state, 4))
				p.what |= SIG_HOME;
			sig_builder_place(b, fn, &p);
		}
	}
	s = sig_builder_finish(b, arena);
	sig_builder_free(b);
	return s;
}

/* ---- the slow way: a level is looked at place by place */

enum { ANY_BIN = SIG_BIN_MAX + 1 };

struct slow { double share[FNS], near[FNS], all, home; };

/* what: bits of sig_what that must agree; around: of enum sig_around. */
struct level { unsigned around, what; bool gap, bins, inserted; };

#define B(at) (1u << SIG_##at)
#define AROUND2 (B(BEFORE) | B(AFTER))
#define AROUND3 (AROUND2 | B(BEFORE2))
#define AROUND5 (AROUND3 | B(BEFORE3) | B(AFTER2))
#define KIND_BITS (SIG_WHAT_MAX & -(1 << SIG_KIND_SHIFT))
#define CALL (KIND_BITS | SIG_MAIN)
#define WHAT (CALL | SIG_FIRST)
#define WAITED (WHAT | SIG_BLOCKED)
static const struct level call_levels[] = {
	{AROUND5, WAITED, false, true, false}, {AROUND5, WHAT, false, false, false},
	{AROUND3, WAITED, false, true, false}, {AROUND3, WHAT, false, false, false},
	{AROUND2, WAITED, false, true, false}, {AROUND2, WHAT, false, false, false},
	{AROUND3, SIG_MAIN, false, false, true},
	{B(BEFORE) | B(BEFORE2), WAITED, false, true, false},
	{B(BEFORE) | B(BEFORE2), WHAT, false, false, false},
	{B(BEFORE), WAITED, false, true, false}, {B(BEFORE), WHAT, false, false, false},
	{AROUND5, CALL, false, false, false}, {AROUND3, CALL, false, false, false},
	{AROUND2, CALL, false, false, false}, {B(BEFORE), CALL, false, false, false},
	{B(AFTER), WAITED, false, true, false}, {B(AFTER), WHAT, false, false, false},
	{B(AFTER), CALL, false, false, false}, {0, WAITED, false, true, false},
	{B(BEFORE), SIG_MAIN, true, true, false}, {0, 0, false, false, false}};
static const struct level gap_levels[] = {
	{AROUND3, SIG_MAIN, true, true, false}, {AROUND2, SIG_MAIN, true, true, false},
	{B(BEFORE) | B(BEFORE2), SIG_MAIN, true, true, false},
	{B(BEFORE), SIG_MAIN, true, true, false},
	{B(AFTER), SIG_MAIN, true, true, false}, {0, SIG_MAIN, true, true, false}};

enum { GAP_LEVELS = sizeof(gap_levels) / sizeof(*gap_levels) };

static bool agrees(const struct level *l, const struct sig_place *p,
		   const struct sig_place *asked)
{
	bool gap = p->around[SIG_AT] == SIG_NO_CALL;

	if (gap != l->gap || (!gap && p->around[SIG_AT] != asked->around[SIG_AT]) ||
	    ((p->what ^ asked->what) & l->what) ||
	    (l->what & SIG_BLOCKED && !(asked->what & SIG_BLOCKED)))
		return false;
	for (unsigned i = 0; i < SIG_AROUND_CNT; i++)
		if (l->around >> i & 1 && (p->around[i] != asked->around[i] ||
					   asked->around[i] == SIG_NO_CALL))
			return false;
	return true;
}

/* Stacks of one bin, or of any; of home or not. */
static double stacks_of(const struct sigs *s, const struct level *l,
			const struct sig_place *asked, int bin, bool home, double *cnt,
			double *near)
{
	double self = 0, most = 0;

	for (uint32_t f = 0; f < s->fn_cnt; f++) {
		cnt[f] = near[f] = 0;
		for (uint32_t k = 0; k < s->fns[f].place_cnt; k++) {
			const struct sig_place *p = &s->fns[f].places[k];

			if (!agrees(l, p, asked) || !(p->what & SIG_HOME) == home ||
			    (bin < ANY_BIN && p->bin != bin))
				continue;
			cnt[f] += (double)p->cnt;
			near[f] += (double)p->near_sum / SIG_NEAR_ONE;
			self += (double)p->self_cnt;
		}
		most = cnt[f] > most ? cnt[f] : most;
	}
	return self > most ? self : most;
}

static void level_slow(const struct sigs *s, const struct level *l, const struct sig_place *asked,
		       struct slow *ret)
{
	double cnt[FNS], near[FNS], sum = 0, weight;
	int nearest = 99;

	*ret = (struct slow){.all = 0};
	for (int bin = l->bins ? 0 : ANY_BIN; bin < (l->bins ? ANY_BIN : ANY_BIN + 1); bin++) {
		int far = l->bins ? abs(bin - (int)asked->bin) : 0;

		ret->home += stacks_of(s, l, asked, bin, true, cnt, near);
		if (stacks_of(s, l, asked, bin, false, cnt, near) > 0 && far < nearest)
			nearest = far;
	}
	for (int bin = l->bins ? 0 : ANY_BIN; bin < (l->bins ? ANY_BIN : ANY_BIN + 1); bin++) {
		double here = stacks_of(s, l, asked, bin, false, cnt, near);

		if (here <= 0)
			continue;
		weight = pow(0.3, l->bins ? abs(bin - (int)asked->bin) - nearest : 0) * here /
			 (here + 4);
		ret->all += here;
		sum += weight;
		for (unsigned f = 0; f < FNS; f++) {
			ret->share[f] += weight * cnt[f] / here;
			ret->near[f] += weight * near[f] / here;
		}
	}
	for (unsigned f = 0; f < FNS && sum > 0; f++) {
		ret->share[f] /= sum;
		ret->near[f] /= sum;
	}
}

/* Of calls: what place_ask has to answer.  false: the level it comes from is one of gaps. */
static bool call_slow(const struct sigs *s, const struct sig_place *asked, struct slow *ret,
		      bool *ret_home)
{
	*ret_home = false;
	for (size_t i = 0; i < sizeof(call_levels) / sizeof(*call_levels); i++) {
		const struct level *l = &call_levels[i];
		struct sig_place before = *asked;

		if (l->inserted) {
			const struct level seen = {AROUND2, CALL, false, false, false};

			level_slow(s, &seen, asked, ret);
			if (ret->all + ret->home > 0)
				continue;
			memmove(&before.around[1], &asked->around[0], 3 * sizeof(uint16_t));
		}
		if (before.around[SIG_AT] == SIG_NO_CALL)
			continue;
		level_slow(s, l, &before, ret);
		if (l->gap && ret->all >= 5)
			return false;
		*ret_home = !l->gap && !l->inserted && l->around & B(BEFORE) &&
			    ret->home > ret->all;
		*ret_home |= !l->around && !l->what && ret->home > 0 && ret->all <= 0;
		if (*ret_home || (!l->gap && ret->all > 0))
			return true;
	}
	*ret = (struct slow){.all = 0};
	return true;
}

TEST(place_vote_answers_for_calls_as_a_slow_count_does)
{
	static const uint16_t nr_of[CALLS] = {0, 1, 2, 3};
	uint64_t state = 7;
	unsigned told = 0, homes = 0;

	for (unsigned round = 0; round < 40; round++) {
		CLEANUP(arena_release) struct arena arena = {0};
		const struct sigs *s = random_sigs(&state, &arena);
		struct place_index x;

		place_index_make(&x, s, nr_of);
		for (unsigned n = 0; n < 100; n++) {
			struct sig_place asked = random_place(&state, false);
			struct place_answer a = place_ask(&x, &asked);
			struct slow slow;
			uint32_t votes = 0;
			bool home;

			if (!call_slow(s, &asked, &slow, &home))
				continue;
			EQ_U(a.home, home);
			homes += home;
			for (unsigned f = 0; f < FNS && !home; f++)
				votes += slow.share[f] > 0;
			EQ_U(a.cnt, votes);
			told += votes > 0;
			for (uint32_t v = a.first; v < a.first + a.cnt; v++) {
				const struct place_voter *at = &x.voters.items[v];

				OK(fabs((double)at->share - slow.share[at->fn]) < 1e-4);
				OK(fabs((double)at->near - slow.near[at->fn]) < 1e-4);
			}
		}
		place_index_release(&x);
	}
	OK(told > 1000 && homes > 100);
}

/* Of gaps the order is the share's times how rare; the set and the level are what is checked. */
TEST(place_vote_answers_for_gaps_by_the_most_exact_level)
{
	static const uint16_t nr_of[CALLS] = {0, 1, 2, 3};
	uint64_t state = 11;
	unsigned told = 0;

	for (unsigned round = 0; round < 40; round++) {
		CLEANUP(arena_release) struct arena arena = {0};
		const struct sigs *s = random_sigs(&state, &arena);
		struct place_index x;

		place_index_make(&x, s, nr_of);
		for (unsigned n = 0; n < 100; n++) {
			struct sig_place asked = random_place(&state, true);
			struct place_answer a = place_ask(&x, &asked);
			size_t levels = asked.bin < 8 ? 2 : GAP_LEVELS;
			struct slow slow = {.all = 0};

			for (size_t l = 0; l < levels && slow.all < 5; l++)
				level_slow(s, &gap_levels[l], &asked, &slow);
			if (slow.all < 5)
				EQ_U(a.cnt, 0);
			told += a.cnt > 0;
			for (uint32_t v = a.first; v < a.first + a.cnt; v++) {
				OK(x.voters.items[v].share <= 1);
				OK(v == a.first ||
				   x.voters.items[v].near <= x.voters.items[v - 1].near);
			}
		}
		place_index_release(&x);
	}
	OK(told > 300);
}
