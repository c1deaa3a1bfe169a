/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/replay/replay.h"

#include "trace_make.h"
#include "unit.h"

/*
 * front/get calls a, b, c, d one after another; b calls b1 and b2; each does
 * some 100 us of its own, more or less by the request's number.
 */
enum { REQUESTS = 240, OWN = 100000 };

struct app {
	struct made m;
	struct trace traces[REQUESTS];
	const struct trace *half[2][REQUESTS];
	size_t half_cnt[2];
};

static int64_t own_ns(uint64_t request, unsigned place)
{
	return OWN + (int64_t)(hash_pair(request, place) % (OWN / 5));
}

struct call {
	uint64_t id;
	const char *name;
};

/* A span with some work before and after its calls; returns when it ended. */
static int64_t leaf(struct app *app, uint64_t id, uint64_t parent, const char *name,
		    int64_t begin, uint64_t request)
{
	int64_t end = begin + own_ns(request, (unsigned)id);

	made_span(&app->m, id, parent, name, begin, end);
	return end;
}

static void request(struct app *app, uint64_t n)
{
	int64_t t0 = (int64_t)n * 100 * OWN, t = t0 + own_ns(n, 100);
	struct span *spans;

	made_clear(&app->m);
	t = leaf(app, 2, 1, "cart/a", t, n);
	made_span(&app->m, 3, 1, "cart/b", t, t);
	t = leaf(app, 4, 3, "db/b1", t + own_ns(n, 101), n);
	t = leaf(app, 5, 3, "db/b2", t + own_ns(n, 102), n);
	t = app->m.spans.items[1].end_ns = t + own_ns(n, 103);
	t = leaf(app, 6, 1, "cart/c", t + own_ns(n, 104), n);
	t = leaf(app, 7, 1, "cart/d", t + own_ns(n, 105), n);
	made_span(&app->m, 1, 0, "front/get", t0, t + own_ns(n, 106));
	app->traces[n] = *made_trace(&app->m);
	spans = arena_dup(&app->m.arena, app->m.spans.items,
			  app->m.spans.cnt * sizeof(*app->m.spans.items));
	app->traces[n].spans = spans;
	app->traces[n].id = (struct trace_id){0, n + 1};
	app->half[n & 1][app->half_cnt[n & 1]++] = &app->traces[n];
}

static struct app *app_new(void)
{
	struct app *app = calloc(1, sizeof(*app));

	for (uint64_t n = 0; n < REQUESTS; n++)
		request(app, n);
	return app;
}

static void app_free(struct app *app)
{
	made_release(&app->m);
	free(app);
}

static uint32_t name_of(struct app *app, const char *text)
{
	return strtab_add(&app->m.strings, text);
}

static struct replay_result run(struct app *app, const struct injection *items, uint32_t cnt,
				enum replay_strategy strategy, struct arena *arena)
{
	struct inject_plan plan = {items, cnt, 7};
	struct replay_input in = {.learn = app->half[0], .learn_cnt = app->half_cnt[0],
				  .live = app->half[1], .live_cnt = app->half_cnt[1],
				  .plan = cnt ? &plan : NULL, .points = &app->m.points,
				  .strings = &app->m.strings};
	struct replay_opts opts = {.batch = 100, .rounds_max = 30};
	struct replay *r = replay_new(&in, &opts);
	struct replay_result res;

	replay_run(r, strategy, arena, &res);
	replay_free(r);
	return res;
}

static const char *const places[][2] = {
	{"cart", "a"}, {"cart", "b"}, {"db", "b1"}, {"db", "b2"}, {"cart", "c"}, {"cart", "d"},
};

/* What rules that are told everything, or switch on everything in time, must find. */
TEST(replay_rules_find_a_delay)
{
	static const enum replay_strategy rules[] = {REPLAY_RANDOM, REPLAY_VARIANCE, REPLAY_SHIFT,
						     REPLAY_ASTRAEA, REPLAY_ALL};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		for (size_t k = 0; k < sizeof(places) / sizeof(*places); k++) {
			struct app *app = app_new();
			struct injection j = {.service = name_of(app, places[k][0]),
					      .name = name_of(app, places[k][1]),
					      .law = INJECT_UNIFORM, .ns = 40 * OWN};
			struct arena a = {0};
			struct replay_result res = run(app, &j, 1, rules[i], &a);

			ROW(10 * i + k);
			EQ_U(res.truth_cnt, 1);
			/* A span that is not sampled makes its callers look slow. */
			OK(res.truths[0].rank);
			OK(res.truths[0].rank <= (rules[i] == REPLAY_ASTRAEA ? 3 : 1));
			OK(res.right == (res.truths[0].rank == 1));
			OK(res.ended);
			EQ_U(res.point_cnt, 7);
			OK(res.hits.trace_cnt + 5 > res.trace_cnt);
			OK(res.enabled_cnt + res.always_cnt <= res.point_cnt);
			if (rules[i] == REPLAY_ALL)
				EQ_U(res.round_cnt, 1);
			arena_release(&a);
			app_free(app);
		}
	}
}

TEST(replay_rules_stop_early)
{
	struct app *app = app_new();
	struct injection j = {.service = name_of(app, "cart"), .name = name_of(app, "b"),
			      .law = INJECT_UNIFORM, .ns = 40 * OWN};
	struct arena a = {0};
	struct replay_result res = run(app, &j, 1, REPLAY_VARIANCE, &a);

	OK(res.round_cnt > 1);
	OK(res.enabled_cnt + res.always_cnt < res.point_cnt);
	OK(res.seen_span_cnt < res.span_cnt);
	arena_release(&a);
	app_free(app);
}

TEST(replay_is_the_same_each_time)
{
	for (unsigned s = 0; s < REPLAY_STRATEGIES; s++) {
		struct replay_result res[2];
		struct arena a = {0};

		ROW(s);
		for (unsigned i = 0; i < 2; i++) {
			struct app *app = app_new();
			struct injection j = {.service = name_of(app, "db"),
					      .name = name_of(app, "b1"), .law = INJECT_UNIFORM,
					      .ns = 40 * OWN};

			res[i] = run(app, &j, 1, (enum replay_strategy)s, &a);
			app_free(app);
		}
		EQ_U(res[0].round_cnt, res[1].round_cnt);
		EQ_U(res[0].seen_span_cnt, res[1].seen_span_cnt);
		EQ_U(res[0].hits.delay_ns, res[1].hits.delay_ns);
		EQ_U(res[0].located_cnt, res[1].located_cnt);
		for (uint32_t i = 0; i < res[0].located_cnt; i++) {
			EQ_U(res[0].located[i].owner, res[1].located[i].owner);
			NEAR(res[0].located[i].share, res[1].located[i].share, 0);
		}
		arena_release(&a);
	}
}

TEST(replay_of_nothing)
{
	struct made m = {0};
	struct replay_input in = {.points = &m.points, .strings = &m.strings};
	struct replay *r = replay_new(&in, NULL);
	struct arena a = {0};
	struct replay_result res;

	for (unsigned s = 0; s < REPLAY_STRATEGIES; s++) {
		replay_run(r, (enum replay_strategy)s, &a, &res);
		EQ_U(res.located_cnt, 0);
		OK(!res.right);
	}
	replay_free(r);
	arena_release(&a);
	made_release(&m);
}

static bool one_round_only(void *ctx, enum replay_strategy strategy, uint32_t round)
{
	EQ_U(strategy, *(const unsigned *)ctx);
	return round < 2;
}

TEST(replay_ends_where_it_may_not_go_on)
{
	struct app *app = app_new();
	struct injection j = {.service = name_of(app, "db"), .name = name_of(app, "b1"),
			      .law = INJECT_UNIFORM, .ns = 40 * OWN};
	struct inject_plan plan = {&j, 1, 1};
	struct replay_input in = {.learn = app->half[0], .learn_cnt = app->half_cnt[0],
				  .live = app->half[1], .live_cnt = app->half_cnt[1],
				  .plan = &plan, .points = &app->m.points,
				  .strings = &app->m.strings};
	unsigned s;
	struct replay_opts opts = {.batch = 20, .goes_on = one_round_only, .ctx = &s};
	struct replay *r = replay_new(&in, &opts);
	struct arena a = {0};

	for (s = 0; s < REPLAY_STRATEGIES; s++) {
		struct replay_result res;

		ROW(s);
		replay_run(r, (enum replay_strategy)s, &a, &res);
		EQ_U(res.round_cnt, 1);
		EQ_U(res.trace_cnt, 20);
		OK(res.stopped != res.ended);
	}
	replay_free(r);
	arena_release(&a);
	app_free(app);
}

TEST(replay_names)
{
	enum replay_strategy s;

	for (unsigned i = 0; i < REPLAY_STRATEGIES; i++) {
		EQ_I(replay_strategy_parse(replay_strategy_name((enum replay_strategy)i), &s), 0);
		EQ_U(s, i);
	}
	OK(replay_strategy_parse("best", &s) < 0);
}
