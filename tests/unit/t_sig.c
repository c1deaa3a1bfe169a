/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "functions/units/normalize.h"
#include "functions/sig/sig.h"
#include "functions/sig/sig_build.h"

static uint32_t rnd(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33) % below;
}

static const char *const calls[] = {"write", "read", "futex", "epoll_wait", "a b\n\\"};

/* From a small world, so that two of them have much in common. */
static struct sigs *random_sigs(uint64_t *state, struct arena *arena)
{
	struct sig_builder *b = sig_builder_new();
	struct sigs *s;
	uint16_t syms[5];
	uint32_t skip = rnd(state, 5);

	for (uint32_t i = 0; i < 5; i++) /* not in the same order each time */
		syms[(i + skip) % 5] = sig_builder_call(b, calls[(i + skip) % 5]);
	for (uint32_t n = 1 + rnd(state, 12); n; n--) {
		struct sig_module mod = {.name = rnd(state, 2) ? "server" : "libx.so.1",
					 .build_id = {(uint8_t)rnd(state, 2)}, .build_id_len = 20};
		char name[2] = {(char)('a' + rnd(state, 6)), '\0'};
		struct sig_fn fn = {.name = name, .module = SIG_NO_MODULE};
		uint32_t place;

		if (rnd(state, 4))
			fn.module = sig_builder_module(b, &mod);
		fn.begin = rnd(state, 3) * 0x1000;
		fn.end = fn.begin + rnd(state, 100);
		fn.invocations = 1 + rnd(state, 9);
		fn.calls = rnd(state, 1000);
		fn.self_calls = fn.calls / 2;
		place = sig_builder_fn(b, &fn);
		for (uint32_t k = rnd(state, 100); k; k--) {
			struct episode ep = {.len = (uint8_t)(1 + rnd(state, 3))};

			for (unsigned i = 0; i < ep.len; i++)
				ep.syms[i] = syms[rnd(state, 5)];
			sig_builder_ep(b, place, &ep, 1 + rnd(state, (uint32_t)fn.invocations),
				       rnd(state, 50));
		}
		for (uint32_t k = rnd(state, 9) ? rnd(state, 9) : 2 * SIG_PLACES_MAX; k; k--) {
			struct sig_place at = {
				.what = (uint16_t)rnd(state, SIG_WHAT_MAX + 1),
				.bin = (uint8_t)rnd(state, SIG_BIN_MAX + 1),
				.cnt = 5 + rnd(state, 5), .self_cnt = rnd(state, 5),
				.near_sum = rnd(state, 5 * SIG_NEAR_ONE)};

			for (unsigned i = 0; i < SIG_AROUND_CNT; i++)
				at.around[i] = rnd(state, 3) ? syms[rnd(state, 5)] : SIG_NO_CALL;
			sig_builder_place(b, place, &at);
		}
	}
	for (uint32_t n = rnd(state, 4); n; n--) {
		struct sig_dim dims[2] = {{syms[3], rnd(state, 3) / 3.0, 0.1, 12.5, 1e-9},
					  {syms[rnd(state, 3)], 1, 0, 0.1 * rnd(state, 9), 2}};
		uint16_t key[2] = {syms[rnd(state, 2)], syms[3]};

		sig_builder_base(b, &(struct sig_base){key, 2, dims, 2, 1 + rnd(state, 3)});
	}
	sig_builder_window(b, rnd(state, 1000));
	s = sig_builder_finish(b, arena);
	sig_builder_free(b);
	return s;
}

static char *text_of(const struct sigs *s, struct arena *arena)
{
	CLEANUP(buf_release) struct buf out = {0};

	sig_write(s, &out);
	return arena_strdup(arena, buf_str(&out));
}

TEST(sig_reads_back_what_it_wrote)
{
	uint64_t state = 1;

	for (int round = 0; round < 60; round++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct sigs *s = random_sigs(&state, &arena), *back = NULL;
		char *text = text_of(s, &arena);
		struct err err = {0};

		ROW(round);
		EQ_I(sig_read(text, strlen(text), &arena, &back, &err), 0);
		EQ_S(text_of(back, &arena), text);
		EQ_U(back->group_cnt, s->group_cnt);
		for (uint32_t i = 0; i < s->fn_cnt; i++) {
			EQ_U(back->fns[i].ep_cnt, s->fns[i].ep_cnt);
			EQ_U(back->fns[i].group, s->fns[i].group);
			EQ_U(back->fns[i].place_cnt, s->fns[i].place_cnt);
			OK(s->fns[i].place_cnt <= SIG_PLACES_MAX);
		}
	}
}

TEST(sig_merge_has_no_order_and_no_echo)
{
	uint64_t state = 2;

	for (int round = 0; round < 60; round++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct sigs *a = random_sigs(&state, &arena), *b = random_sigs(&state, &arena);
		struct sigs *c = random_sigs(&state, &arena);
		struct sigs *ab = sig_merge(a, b, &arena), *bc = sig_merge(b, c, &arena);
		char *all = text_of(sig_merge(ab, c, &arena), &arena);

		ROW(round);
		EQ_S(text_of(sig_merge(a, bc, &arena), &arena), all);
		EQ_S(text_of(sig_merge(b, a, &arena), &arena), text_of(ab, &arena));
		EQ_S(text_of(sig_merge(ab, ab, &arena), &arena), text_of(ab, &arena));
		EQ_S(text_of(sig_merge(ab, b, &arena), &arena), text_of(ab, &arena));
	}
}

/* ---- what is derived */

static bool inside(const struct episode *small, const struct episode *big)
{
	for (unsigned at = 0; at + small->len <= big->len; at++)
		if (memcmp(big->syms + at, small->syms, small->len * 2u) == 0)
			return true;
	return false;
}

static bool same_person(const struct sigs *s, uint32_t a, uint32_t b)
{
	uint32_t ma = s->fns[a].module, mb = s->fns[b].module;

	return strcmp(s->fns[a].name, s->fns[b].name) == 0 &&
	       strcmp(ma == SIG_NO_MODULE ? "" : s->modules[ma].name,
		      mb == SIG_NO_MODULE ? "" : s->modules[mb].name) == 0;
}

static bool fn_has(const struct sigs *s, uint32_t fn, uint32_t id)
{
	for (uint32_t k = 0; k < s->fns[fn].all_cnt; k++)
		if (inside(&s->episodes[id], &s->episodes[s->fns[fn].eps[k].id]))
			return true;
	return false;
}

/* Functions of this name in any build; the first of them stands for all. */
static uint32_t slow_having(const struct sigs *s, uint32_t id, bool any)
{
	uint32_t cnt = 0;

	for (uint32_t f = 0; f < s->fn_cnt; f++) {
		bool has = false, first = true;

		for (uint32_t g = 0; g < s->fn_cnt; g++) {
			if (!same_person(s, f, g))
				continue;
			first = first && g >= f;
			has = has || (any ? s->fns[g].all_cnt > 0 : fn_has(s, g, id));
		}
		cnt += first && has;
	}
	return cnt;
}

static bool same_choice(const struct sigs *s, const struct sig_fn *a, const struct sig_fn *b)
{
	if (a->ep_cnt != b->ep_cnt)
		return false;
	for (uint32_t i = 0; i < a->ep_cnt; i++) {
		bool found = false;

		for (uint32_t k = 0; k < b->ep_cnt; k++)
			found = found || a->eps[i].id == b->eps[k].id;
		if (!found)
			return false;
	}
	(void)s;
	return true;
}

static void choice_is_right(const struct sigs *s, const struct sig_fn *fn, uint32_t fns)
{
	bool rarer = false;

	OK(fn->ep_cnt <= SIG_CHOSEN_MAX && fn->all_cnt <= SIG_EPS_MAX);
	OK(fn->ep_cnt > 0 || fn->all_cnt == 0);
	for (uint32_t i = 0; i < fn->ep_cnt; i++)
		rarer = rarer || 2 * s->having[fn->eps[i].id] <= fns;
	for (uint32_t i = 0; i < fn->ep_cnt; i++) {
		const struct sig_ep *ep = &fn->eps[i];

		OK(s->chosen[ep->id]);
		OK(!rarer || 2 * s->having[ep->id] <= fns);
		OK(i == 0 || s->specificity[ep->id] * (double)ep->support <=
				     s->specificity[ep[-1].id] * (double)ep[-1].support);
		for (uint32_t k = 0; k < fn->all_cnt; k++)
			OK(fn->eps[k].id == ep->id || fn->eps[k].support != ep->support ||
			   !inside(&s->episodes[ep->id], &s->episodes[fn->eps[k].id]));
	}
}

TEST(sig_derives_what_a_slow_count_derives)
{
	uint64_t state = 3;

	for (int round = 0; round < 40; round++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct sigs *s = random_sigs(&state, &arena);
		uint32_t fns = slow_having(s, 0, true), grouped = 0;

		ROW(round);
		for (uint32_t i = 0; i < s->episode_cnt; i++) {
			EQ_U(s->episodes[i].id, i);
			EQ_U(s->having[i], slow_having(s, i, false));
			NEAR(s->specificity[i], log((double)fns / s->having[i]), 1e-12);
		}
		for (uint32_t i = 0; i < s->fn_cnt; i++) {
			choice_is_right(s, &s->fns[i], fns);
			OK((s->fns[i].group == SIG_NO_GROUP) == (s->fns[i].ep_cnt == 0));
			for (uint32_t k = 0; k < i && s->fns[i].ep_cnt; k++)
				EQ_I(s->fns[i].group == s->fns[k].group,
				     same_choice(s, &s->fns[i], &s->fns[k]));
		}
		for (uint32_t g = 0; g < s->group_cnt; g++) {
			grouped += s->groups[g].cnt;
			OK(g == 0 || s->groups[g].cnt <= s->groups[g - 1].cnt);
		}
		for (uint32_t i = 0; i < s->fn_cnt; i++)
			grouped -= s->fns[i].group != SIG_NO_GROUP;
		EQ_U(grouped, 0);
	}
}

/* ---- files from anywhere */

static const char good[] = "heldup-signatures 2\nwindow 5\ncall read\ncall write\n"
			   "module 0a0b srv\nmodule - libx.so\n"
			   "fn 0 10 20 4 9 3 a\\x0ab\nep 4 7 0 1\nep 2 2 1\n"
			   "at 8 5 4 2 3000 - - 0 - 1 1\nat 511 31 3 0 6 0 1 0 1 - -\n"
			   "fn - 0 0 1 1 0 js\nbase 3 0 1\ndim 0 1.5 0 2 0.25\nend 14\n";
static const char old[] = "heldup-signatures 1\nwindow 5\ncall read\n"
			  "fn - 0 0 1 1 0 js\nep 1 1 0\nend 5\n";

TEST(sig_read_understands)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct sigs *s = NULL;
	struct err err = {0};

	EQ_I(sig_read(good, sizeof(good) - 1, &arena, &s, &err), 0);
	EQ_U(s->fn_cnt, 2);
	EQ_S(s->fns[0].name, "a\nb");
	EQ_S(s->modules[s->fns[0].module].name, "srv");
	EQ_U(s->fns[0].all_cnt, 2);
	EQ_U(s->fns[0].eps[0].support, 4);
	EQ_U(s->fns[1].module, SIG_NO_MODULE);
	EQ_U(s->fns[1].group, SIG_NO_GROUP);
	EQ_U(s->base_cnt, 1);
	NEAR(s->bases[0].dims[0].ns_dev, 0.25, 0);
	EQ_U(sig_find(s, "srv", "a\nb"), 0);
	EQ_U(sig_find(s, NULL, "js"), 1);
	EQ_U(sig_find(s, "srv", "js"), UINT32_MAX);
	EQ_U(s->fns[0].place_cnt, 2);
	EQ_U(s->fns[0].places[0].cnt, 4);
	EQ_U(s->fns[0].places[0].bin, 5);
	EQ_U(s->fns[0].places[0].near_sum, 3000);
	EQ_U(s->fns[0].places[0].around[SIG_AT], SIG_NO_CALL);
	EQ_U(s->fns[0].places[0].around[SIG_AFTER], 1);
	EQ_U(s->fns[0].places[1].what, SIG_WHAT_MAX);
	EQ_U(s->fns[0].places[1].around[SIG_AT], 1);
	EQ_U(s->fns[1].place_cnt, 0);
}

TEST(sig_reads_its_first_version)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct sigs *s = NULL;
	struct err err = {0};

	EQ_I(sig_read(old, sizeof(old) - 1, &arena, &s, &err), 0);
	EQ_U(s->fns[0].all_cnt, 1);
	EQ_U(s->fns[0].place_cnt, 0);
	HAS(text_of(s, &arena), "heldup-signatures 2\n");
}

TEST(sig_read_refuses)
{
	static const struct { const char *from, *to, *why; } rows[] = {
		{"heldup", "helped", "not a file of signatures"},
		{"signatures 2", "signatures 3", "version 3"},
		{"signatures 2", "signatures 1", "line 10: not understood"},
		{"end 14\n", "", "cut short"},
		{"end 14", "end 13", "number of lines"},
		{"end 14\n", "end 14\nx", "line 15: more after"},
		{"call write", "call read", "line 4: a call twice"},
		{"call write", "call ", "no name"},
		{"0a0b", "0a0", "build id"},
		{"0a0b", "000102030405060708090a0b0c0d0e0f1011121314", "build id"},
		{"fn 0 10", "fn 2 10", "a function's module"},
		{"10 20 4", "21 20 4", "addresses"},
		{"4 9 3", "4 9 10", "counts"},
		{"4 9 3", "4 99999999999999999999 3", "counts"},
		{"a\\x0ab", "a\\x00b", "no name"},
		{"a\\x0ab", "a\\x0", "no name"},
		{"ep 4 7", "ep 5 7", "support"},
		{"ep 4 7", "ep 0 7", "support"},
		{"ep 4 7 0 1", "ep 4 7 0 2", "calls"},
		{"ep 4 7 0 1", "ep 4 7 0 1 0 1 0 1 0 1 0", "calls"},
		{"ep 4 7 0 1", "ep 4 7", "without calls"},
		{"at 8 5 4", "at 512 5 4", "a place's numbers"},
		{"at 8 5 4", "at 8 32 4", "a place's numbers"},
		{"at 8 5 4 2", "at 8 5 4 5", "a place's numbers"},
		{"at 8 5 4 2 3000", "at 8 5 4 2 5000", "a place's numbers"},
		{"at 8 5 4 2", "at 8 5 0 0", "a place's numbers"},
		{"- 1 1\n", "- 1 2\n", "a place's calls"},
		{"- 1 1\n", "- 1\n", "a place's calls"},
		{"- 1 1\n", "-1 1\n", "a place's calls"},
		{"1 - -\n", "1 - - -\n", "a place's calls"},
		{"fn - 0 0 1 1 0 js", "fn 0 0 0 1 1 0 a\\x0ab", "a function twice"},
		{"base 3", "base 0", "units"},
		{"base 3 0 1", "base 3 1 0", "order"},
		{"dim 0 1.5", "dim 0 nan", "numbers"},
		{"0 2 0.25", "0 2 -1", "numbers"},
		{"0.25", "0.25 1", "more than"},
		{"base 3 0 1\n", "", "of no baseline"},
		{"window 5", "door 5", "not understood"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(arena_release) struct arena arena = {0};
		const char *at = strstr(good, rows[i].from);
		char *text = arena_printf(&arena, "%.*s%s%s", (int)(at - good), good, rows[i].to,
					  at + strlen(rows[i].from));
		struct sigs *s = NULL;
		struct err err = {0};

		ROW(i);
		EQ_I(sig_read(text, strlen(text), &arena, &s, &err), -EINVAL);
		HAS(err.msg, rows[i].why);
		OK(s == NULL);
	}
}

TEST(sig_binds_names_to_numbers)
{
	static const char *const names[] = {NULL, "write", "ioctl", NULL, "read"};
	CLEANUP(arena_release) struct arena arena = {0};
	struct sigs *s = NULL;
	uint16_t *nrs;

	EQ_I(sig_read(good, sizeof(good) - 1, &arena, &s, NULL), 0);
	nrs = sig_bind(s, names, 5, &arena);
	EQ_U(nrs[0], 4);
	EQ_U(nrs[1], 1);
	nrs = sig_bind(s, names, 4, &arena);
	EQ_U(nrs[0], SYM_NONE);
}

TEST(sig_check_knows_another_build)
{
	struct sig_module fits[] = {{"libc.so.6", {1}, 1}, {"srv", {10, 11}, 2}};
	struct sig_module other[] = {{"srv", {10, 12}, 2}};
	struct sig_module absent[] = {{"else", {10, 11}, 2}};
	struct sig_module none[] = {{"srv", {0}, 0}};
	CLEANUP(arena_release) struct arena arena = {0};
	struct sigs *s = NULL;
	struct sig_check c;

	EQ_I(sig_read(good, sizeof(good) - 1, &arena, &s, NULL), 0);
	c = sig_check(s, fits, 2, &arena);
	EQ_S(sig_check_text(&c, &arena), NULL);
	EQ_U(c.known_cnt, 2);
	c = sig_check(s, other, 1, &arena);
	EQ_S(sig_check_text(&c, &arena),
	     "learnt for another build of srv: 1 of 2 functions known");
	c = sig_check(s, absent, 1, &arena);
	EQ_U(c.fn_cnt, 1);
	c = sig_check(s, none, 1, &arena);
	EQ_U(c.fn_cnt, 2);
	EQ_U(c.known_cnt, 1);
	EQ_S(sig_check_text(&c, &arena), NULL);
}
