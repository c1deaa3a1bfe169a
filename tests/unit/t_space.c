/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "requests/graph/graph.h"
#include "requests/search/path_match.h"
#include "requests/stats/sequential.h"
#include "requests/forest/space.h"
#include "trace_make.h"
#include "unit.h"

static const struct trace *done(struct made *m, uint64_t id)
{
	made_trace(m);
	m->trace.id = (struct trace_id){0, id};
	return &m->trace;
}

/* Spans are numbered from 1; times in us. */
static void span(struct made *m, const char *point, uint64_t parent, int64_t from, int64_t to)
{
	made_span(m, m->spans.cnt + 1, parent, point, from * 1000, to * 1000);
}

static uint32_t point(struct made *m, const char *name)
{
	return points_add(&m->points, &m->strings, strtab_add(&m->strings, "s"),
			  strtab_add(&m->strings, name));
}

/* top calls first and then second, which calls two at the same time. */
static const struct trace *shop(struct made *m, uint64_t id, int64_t x)
{
	made_clear(m);
	span(m, "s/top", 0, 0, 1000 + x);
	span(m, "s/first", 1, 100, 200);
	span(m, "s/second", 1, 300, 900 + x);
	span(m, "s/left", 3, 350, 500);
	span(m, "s/right", 3, 360, 800 + x);
	return done(m, id);
}

TEST(space_learns_paths_and_forks)
{
	struct made m = {0};
	struct space *s = space_new(&m.points, &m.strings);
	struct arena a = {0};
	struct space_view v;

	for (uint64_t i = 1; i <= 3; i++)
		EQ_I(space_add(s, shop(&m, i, 0)), 0);
	space_view(s, &a, &v);
	EQ_U(v.type_cnt, 1);
	EQ_U(v.trace_cnt, 3);
	EQ_U(v.point_cnt, 5);
	/* By way of right, which is critical, and of left. */
	EQ_U(v.types[0].path_cnt, 2);
	EQ_U(v.types[0].paths[0].critical_cnt, 3);
	EQ_U(v.types[0].paths[0].branch_cnt, 0);
	EQ_U(v.types[0].paths[1].branch_cnt, 3);
	EQ_U(v.types[0].paths[0].step_cnt, 8);
	EQ_U(v.types[0].sample_cnt, 3);
	EQ_U(v.types[0].context_cnt, 5);
	OK(space_always(s, point(&m, "top")));
	OK(space_always(s, point(&m, "second")));
	OK(space_always(s, point(&m, "right")));
	OK(!space_always(s, point(&m, "first")));
	OK(space_has(s, point(&m, "first")));
	OK(!space_has(s, point(&m, "never")));
	arena_release(&a);
	space_free(s);
	made_release(&m);
}

/*
 * What shop is when spans (bits: first 2, second 4, left 8, right 16) were lost,
 * or when the second part lost its parent, or is a request of its own then.
 */
static const struct trace *torn(struct made *m, uint64_t id, unsigned int lost, bool orphan,
				bool alone)
{
	static const char *const names[] = {"s/top", "s/first", "s/second", "s/left", "s/right"};
	static const uint64_t parents[] = {0, 1, 1, 3, 3};
	static const int64_t times[][2] = {{0, 1000}, {100, 200}, {190, 900}, {350, 500},
					   {360, 800}};

	made_clear(m);
	for (size_t i = alone ? 2 : 0; i < 5; i++) {
		uint64_t parent = i == 2 && (orphan || alone) ? 0 : parents[i];
		/* Off its place it is beside first; as it is it comes after. */
		int64_t from = times[i][0] + (i == 2 && parent ? 110 : 0);

		if (!(lost & 1u << i))
			made_span(m, i + 1, parent, names[i], from * 1000, times[i][1] * 1000);
	}
	return done(m, id);
}

TEST(space_takes_torn_requests_for_what_they_are)
{
	/* How many of 100 are torn, and what is always on then. */
	static const struct {
		uint32_t lost_cnt, orphan_cnt, alone_cnt;
		bool first, second, left;
	} table[] = {
		{0, 0, 0, false, true, true},
		{30, 0, 0, false, true, true},	/* left and right are siblings all the same */
		{0, 30, 0, false, true, true},
		{0, 0, 5, false, true, true},
		{0, 80, 0, false, true, true},
	};
	struct made m = {0};
	struct arena a = {0};

	for (size_t row = 0; row < sizeof(table) / sizeof(*table); row++) {
		struct space *s = space_new(&m.points, &m.strings);
		uint32_t alone = table[row].alone_cnt;
		struct space_view v;

		ROW(row);
		for (uint32_t i = 0; i < 100; i++)
			space_add(s, torn(&m, i + 1, i < table[row].lost_cnt ? 4 : 0,
					  i < table[row].orphan_cnt, false));
		for (uint32_t i = 0; i < alone; i++)
			space_add(s, torn(&m, 1000 + i, 0, false, true));
		EQ_I(space_always(s, point(&m, "top")), true);
		EQ_I(space_always(s, point(&m, "first")), table[row].first);
		EQ_I(space_always(s, point(&m, "second")), table[row].second);
		EQ_I(space_always(s, point(&m, "left")), table[row].left);
		space_view(s, &a, &v);
		EQ_U(v.type_cnt, 1 + (alone > 0));
		space_free(s);
	}
	arena_release(&a);
	made_release(&m);
}

/* A part that is never joined is beside others; which is only known of what was joined. */
TEST(space_says_what_was_torn_once_is_no_root_and_no_fork)
{
	static const struct {
		uint32_t orphans, others;
		bool second;
	} table[] = {{0, 50, false}, {20, 30, false}, {30, 20, true}, {50, 0, true}};
	struct made m = {0};

	for (size_t row = 0; row < sizeof(table) / sizeof(*table); row++) {
		struct space *s = space_new(&m.points, &m.strings);

		ROW(row);
		for (uint32_t i = 0; i < table[row].orphans + table[row].others; i++)
			space_add(s, torn(&m, i + 1, 24, i < table[row].orphans, false));
		EQ_I(space_always(s, point(&m, "second")), table[row].second);
		EQ_I(space_always(s, point(&m, "first")), false);
		space_free(s);
	}
	/* Alone in one of so many it is a root. */
	for (uint32_t alone = 5; alone <= 20; alone += 15) {
		struct space *s = space_new(&m.points, &m.strings);

		ROW(alone);
		for (uint32_t i = 0; i < 100; i++)
			space_add(s, torn(&m, i + 1, 24, false, i < alone));
		EQ_I(space_always(s, point(&m, "second")), alone == 20);
		space_free(s);
	}
	made_release(&m);
}

/* Learning a then b, b then a, and two spaces merged: the same in all they show. */
TEST(space_is_the_same_in_any_order)
{
	struct made m = {0};
	struct space *s[3];
	struct arena a = {0};
	struct space_view v[3];

	for (int i = 0; i < 3; i++)
		s[i] = space_new(&m.points, &m.strings);
	for (uint64_t i = 0; i < 200; i++) {
		space_add(s[0], shop(&m, i + 1, (int64_t)(i * i % 97)));
		space_add(s[1], shop(&m, 200 - i, (int64_t)((199 - i) * (199 - i) % 97)));
	}
	for (uint64_t i = 0; i < 100; i++)
		space_add(s[2], shop(&m, i + 1, (int64_t)(i * i % 97)));
	for (uint64_t i = 100; i < 150; i++)
		space_add(s[2], shop(&m, i + 1, (int64_t)(i * i % 97)));
	{
		struct space *rest = space_new(&m.points, &m.strings);

		for (uint64_t i = 150; i < 200; i++)
			space_add(rest, shop(&m, i + 1, (int64_t)(i * i % 97)));
		space_merge(s[2], rest);
		space_free(rest);
	}
	for (int i = 0; i < 3; i++)
		space_view(s[i], &a, &v[i]);
	for (int i = 1; i < 3; i++) {
		ROW(i);
		EQ_U(v[i].fingerprint, v[0].fingerprint);
		EQ_U(v[i].trace_cnt, 200);
		EQ_U(v[i].types[0].path_cnt, v[0].types[0].path_cnt);
		OK(v[i].types[0].sum_sq_ns == v[0].types[0].sum_sq_ns);
		OK(v[i].types[0].paths[0].steps[3].sum_sq_ns ==
		   v[0].types[0].paths[0].steps[3].sum_sq_ns);
		EQ_U(v[i].types[0].sample_cnt, SPACE_SAMPLES_MAX);
		for (uint32_t k = 0; k < SPACE_SAMPLES_MAX; k++)
			EQ_U(v[i].types[0].samples[k].id.lo, v[0].types[0].samples[k].id.lo);
	}
	arena_release(&a);
	for (int i = 0; i < 3; i++)
		space_free(s[i]);
	made_release(&m);
}

TEST(space_says_what_does_not_fit)
{
	struct made m = {0};
	struct space *s = space_new(&m.points, &m.strings);
	struct space_fit fit;

	space_add(s, shop(&m, 1, 0));
	space_fit(s, shop(&m, 2, 5), &fit);
	EQ_U(fit.new_point_cnt + fit.new_context_cnt + fit.new_type, 0);
	made_clear(&m);
	span(&m, "s/top", 0, 0, 100);
	span(&m, "s/left", 1, 10, 20);
	span(&m, "s/new", 1, 30, 40);
	space_fit(s, done(&m, 3), &fit);
	EQ_U(fit.span_cnt, 3);
	EQ_U(fit.new_point_cnt, 1);
	EQ_U(fit.new_context_cnt, 2);
	OK(!fit.new_type);
	space_free(s);
	made_release(&m);
}

/* .*A.*B.*: as a subsequence, the more frequent path first. */
TEST(match_takes_the_most_frequent_path_that_fits)
{
	struct space_step ab[] = {{.point = 0}, {.point = 1}, {.point = 2}};
	struct space_step acb[] = {{.point = 0}, {.point = 3}, {.point = 2}};
	struct space_path paths[] = {
		{.hash = 1, .critical_cnt = 5, .steps = ab, .step_cnt = 3},
		{.hash = 2, .critical_cnt = 9, .steps = acb, .step_cnt = 3},
	};
	struct space_type type = {.paths = paths, .path_cnt = 2};
	struct forest_event ends[] = {{0, 0}, {2, 0}}, by_one[] = {{0, 0}, {1, 0}, {2, 0}};
	struct forest_event wrong[] = {{2, 0}, {0, 0}};
	uint32_t steps[3];

	EQ_U(match_path(&type, ends, 2, steps), 1);
	EQ_U(steps[1], 2);
	EQ_U(match_path(&type, by_one, 3, steps), 0);
	EQ_U(match_path(&type, wrong, 2, steps), FOREST_NONE);
}

TEST(sequential_looks_spend_no_more_than_there_is)
{
	/* New evidence between two looks: how often it is looked at changes nothing. */
	static const double steps[] = {0.2, 1, 2, 10};

	for (uint32_t k = 0; k < 4; k++) {
		struct sequential s = {0};
		double spent = 0, last = 0;

		ROW(k);
		for (uint32_t i = 1; i < 100000; i++) {
			sequential_add(&s, steps[k]);
			OK(s.seen <= 1.5 * s.at + 1e-9);
			if (s.at > last)
				spent += sequential_alpha(&s, 0.05);
			last = s.at;
			NEAR(spent, 0.05 * s.at * s.at / (s.at * s.at + 1), 1e-9);
		}
		OK(spent < 0.05);
		OK(spent > 0.0499);
	}
	NEAR(sequential_p(1.6449, 1), 0.05, 1e-4);
	NEAR(sequential_p(0, 1), 0.5, 1e-9);
	NEAR(sequential_p(1, INFINITY), 1, 0);
}
