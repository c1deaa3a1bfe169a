/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of some 40 ms that vary as ever: by 25, nearly all in one call, or in
 * all calls alike; another call takes a little longer than it did.
 */
#include <math.h>

#include "requests/search/control.h"
#include "requests/graph/graph.h"
#include "requests/forest/space.h"
#include "requests/graph/mask.h"
#include "trace_make.h"
#include "unit.h"

enum { CALLS = 8, MOODY = 2, SLOW = 5, LEARNT = 600, SHOWN_MAX = 2000, SEEDS = 8 };

struct app {
	bool even;		/* no call varies more than the others */
	uint32_t learnt_cnt;
	double slow_ms;
};

static double uniform(uint64_t request, uint64_t what)
{
	return ((double)(hash_pair(request, what) >> 11) + 0.5) / 0x1p53;
}

static double call_ms(const struct app *app, uint64_t call, double draw)
{
	if (app->even)
		return -5 * log(draw);
	return call == MOODY ? -25 * log(draw) : 1 + 2 * draw;
}

static const struct trace *request(struct made *m, const struct app *app, uint64_t seed,
				   uint64_t id)
{
	double at = 0.5;

	made_clear(m);
	made_span(m, 1, 0, "s/top", 0, 0);
	for (uint64_t i = 0; i < CALLS; i++) {
		char name[] = {'s', '/', (char)('a' + i), '\0'};
		double took = call_ms(app, i, uniform(hash_pair(seed, id), i));

		took += i == SLOW && id > app->learnt_cnt ? app->slow_ms : 0;
		made_span(m, 2 + i, 1, name, (int64_t)(at * 1e6), (int64_t)((at + took) * 1e6));
		at += took + 0.1;
	}
	m->spans.items[0].end_ns = (int64_t)((at + 0.4) * 1e6);
	made_trace(m);
	m->trace.id = (struct trace_id){seed, id};
	return &m->trace;
}

static void round_of(struct made *m, struct control *c, const struct app *app, uint64_t seed,
		     uint64_t first, uint32_t batch)
{
	struct arena a = {0};
	uint8_t on[64] = {0};

	OK(m->points.items.cnt < 64);
	for (uint32_t i = 0; i < m->points.items.cnt; i++)
		on[i] = control_wants(c, i);
	for (uint32_t i = 0; i < batch; i++) {
		struct trace seen;

		trace_strip(request(m, app, seed, first + i), on, &m->points, &m->strings, &a,
			    &seen);
		control_add(c, &seen);
	}
	arena_release(&a);
}

struct answer {
	bool right;		/* the slow call is located first */
	bool shift;		/* something is said to be slower than it was */
	bool any;		/* anything is located */
	uint32_t shown;
};

static struct answer search_in(const struct app *app, uint64_t seed, uint32_t batch)
{
	struct control_opts o = {.apart = true};
	struct made m = {0};
	struct space *s = space_new(&m.points, &m.strings);
	struct answer ret = {0};
	struct control_round r;
	struct control *c;
	uint32_t slow;

	for (uint64_t id = 1; id <= app->learnt_cnt; id++)
		space_add(s, request(&m, app, seed, id));
	c = control_new(s, &o, &m.points, &m.strings);
	do {
		round_of(&m, c, app, seed, app->learnt_cnt + 1 + ret.shown, batch);
		control_decide(c, &r);
		ret.shown += batch;
	} while (!r.finished && ret.shown + batch <= SHOWN_MAX);
	slow = points_add(&m.points, &m.strings, strtab_add(&m.strings, "s"),
			  strtab_add(&m.strings, "f"));
	ret.any = r.located_cnt > 0;
	ret.right = ret.any && r.located[0].owner == slow;
	for (uint32_t i = 0; i < r.located_cnt; i++)
		ret.shift |= r.located[i].weight_ns > 0;
	control_free(c);
	space_free(s);
	made_release(&m);
	return ret;
}

static struct answer search(uint64_t seed, uint32_t batch, double slow_ms)
{
	const struct app app = {false, LEARNT, slow_ms};

	return search_in(&app, seed, batch);
}

TEST(control_finds_a_shift_of_a_third_of_what_varies)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		ROW(seed);
		OK(search(seed, 100, 8).right);
		OK(!search(seed, 100, 0).shift);
	}
}

/* What is decided depends on how much was seen, not on how often it was looked at. */
TEST(control_finds_a_shift_in_small_and_large_rounds)
{
	static const uint32_t batches[] = {20, 50, 200};

	for (uint32_t i = 0; i < 3; i++) {
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct answer a = search(seed, batches[i], 8);

			ROW(1000 * i + seed);
			OK(a.right);
			OK(a.shown <= 1000);
			OK(!search(seed, batches[i], 0).shift);
		}
	}
}

/* The tail hides it from the means of so few: all requests take longer, so ranks tell. */
TEST(control_finds_a_shift_that_a_heavy_tail_hides)
{
	const struct app slow = {.learnt_cnt = 200, .slow_ms = 8};
	const struct app same = {.learnt_cnt = 200};
	uint32_t right = 0;

	for (uint64_t seed = 1; seed <= 3 * SEEDS; seed++) {
		ROW(seed);
		right += search_in(&slow, seed, 20).right;
		OK(!search_in(&same, seed, 20).shift);
	}
	OK(right >= 3 * SEEDS - 1);
}

/* Of eight calls that vary alike the one that varied most is so by chance. */
TEST(control_finds_no_variance_where_all_calls_vary_alike)
{
	const struct app even = {.even = true, .learnt_cnt = LEARNT};
	uint32_t any = 0;

	for (uint64_t seed = 1; seed <= 3 * SEEDS; seed++)
		any += search_in(&even, seed, 20).any;
	OK(any <= SEEDS / 2);
}
