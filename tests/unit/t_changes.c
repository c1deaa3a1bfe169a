/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/arena.h"
#include "requests/diff/changes.h"
#include "requests/requests.h"

#include "req_make.h"
#include "unit.h"

struct mix {
	uint64_t cnt, far_every;	/* one in far_every goes to the archive */
	int64_t far_us;
	uint32_t rare;			/* asks one of so many more services, by chance */
};

static struct requests *make(struct req_maker *m, const struct mix *mix, uint64_t first_id)
{
	static const char *const rare[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct requests *r = requests_new(NULL, &m->strings, &m->points);

	for (uint64_t i = 1; i <= mix->cnt; i++) {
		int64_t at = 1000 + req_random(m, 500);
		bool far = i % mix->far_every == 0;
		uint64_t root;

		req_begin(m, first_id + i);
		root = req_span(m, 0, "front", "GET /doc", 0, 0);
		req_span(m, root, far ? "archive" : "cache", "read", 500,
			 at + (far ? mix->far_us : 2000));
		at += far ? mix->far_us : 2000;
		for (uint32_t k = 0; k < (mix->rare ? 3 : 0); k++, at += 110)
			req_span(m, root, rare[req_random(m, mix->rare)], "note", at + 10,
				 at + 100);
		m->spans.items[0].end_ns = (at + 300) * 1000;
		requests_add(r, req_trace(m));
	}
	return r;
}

static double near(double got, double want, double off)
{
	return fabs(got - want) <= off;
}

/* Twice as many go to the archive, which takes 5 ms longer. */
TEST(changes_of_paths_and_of_time)
{
	const struct mix before = {.cnt = 400, .far_every = 4, .far_us = 30000};
	const struct mix after = {.cnt = 600, .far_every = 2, .far_us = 35000};
	struct req_maker m = {.random = 3};
	struct requests *good = make(&m, &before, 0), *bad = make(&m, &after, 10000);
	struct arena arena = {0};
	const struct requests_result *g, *b;
	const struct type_change *c;

	requests_pair(good, bad);
	g = requests_finish(good, &arena);
	b = requests_finish(bad, &arena);
	c = &requests_diff(g, b, &arena)->types[0];
	OK(near(c->delta_ns, 0.25 * 28e6 + 0.5 * 5e6, 0.2e6));
	OK(near(c->other_paths_ns, 0.25 * 28e6, 0.2e6));
	OK(near(c->same_paths_ns, 0.5 * 5e6, 0.2e6));
	OK(near(c->other_paths_ns + c->same_paths_ns, c->delta_ns, 1));
	EQ_U(c->path_cnt, 2);
	requests_free(good);
	requests_free(bad);
	arena_release(&arena);
	req_release(&m);
}

/* Paths that are rare in one set and frequent in the other are the same groups in both. */
TEST(changes_see_no_new_paths_where_there_are_none)
{
	const struct mix before = {.cnt = 200, .far_every = 4, .far_us = 30000, .rare = 8};
	const struct mix after = {.cnt = 20000, .far_every = 4, .far_us = 30000, .rare = 8};
	struct req_maker m = {.random = 5};
	struct requests *good = make(&m, &before, 0), *bad = make(&m, &after, 100000);
	struct arena arena = {0};
	const struct requests_result *g, *b;
	const struct type_change *c;
	double new = 0;

	requests_pair(good, bad);
	g = requests_finish(good, &arena);
	b = requests_finish(bad, &arena);
	c = &requests_diff(g, b, &arena)->types[0];
	for (uint32_t i = 0; i < c->path_cnt; i++) {
		OK(c->paths[i].bad_group != REQUEST_ALL);
		if (c->paths[i].good_group == REQUEST_ALL)
			new += c->paths[i].bad_share;
	}
	OK(new == 0 && c->path_cnt >= 2);
	OK(near(c->other_paths_ns + c->same_paths_ns, c->delta_ns, 1));
	OK(near(c->delta_ns, 0, 1e6));
	requests_free(good);
	requests_free(bad);
	arena_release(&arena);
	req_release(&m);
}

/* Two services that change places, and one that varies: the mean is as it was. */
TEST(changes_that_the_mean_does_not_tell)
{
	static const struct {
		int64_t a, b, jitter;
		bool edges, spread;
	} rows[] = {{5000, 20000, 500, false, false}, {20000, 5000, 500, true, false},
		    {5000, 20000, 10000, false, true}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct req_maker m = {.random = 9};
		struct requests *sets[2];
		struct arena arena = {0};
		const struct requests_result *results[2];
		const struct type_change *c;

		ROW(i);
		for (int bad = 0; bad < 2; bad++) {
			int64_t a = rows[bad ? i : 0].a, b = rows[bad ? i : 0].b;
			int64_t jitter = rows[bad ? i : 0].jitter;

			sets[bad] = requests_new(NULL, &m.strings, &m.points);
			for (uint64_t id = 1; id <= 400; id++) {
				int64_t d = (id % 2 ? 1 : -1) * jitter;
				uint64_t root;

				req_begin(&m, id + 1000 * (uint64_t)bad);
				root = req_span(&m, 0, "front", "GET /", 0, a + b + d + 300);
				req_span(&m, root, "a", "run", 100, 100 + a);
				req_span(&m, root, "b", "run", 200 + a, 200 + a + b + d);
				requests_add(sets[bad], req_trace(&m));
			}
		}
		requests_pair(sets[0], sets[1]);
		for (int bad = 0; bad < 2; bad++)
			results[bad] = requests_finish(sets[bad], &arena);
		c = &requests_diff(results[0], results[1], &arena)->types[0];
		OK(!c->mean_changed);
		EQ_U(c->edges_changed, rows[i].edges);
		EQ_U(c->spread_changed, rows[i].spread);
		for (int bad = 0; bad < 2; bad++)
			requests_free(sets[bad]);
		arena_release(&arena);
		req_release(&m);
	}
}

/* Requests that call store so many times, one in ten of them more_cnt times. */
struct called {
	int64_t cnt, more_cnt, store_us;
	int64_t beside_us;	/* another call, begun with the first, takes so long; 0: none */
};

static const struct requests_result *called(struct req_maker *m, const struct called *c,
					    struct requests **ret, struct arena *arena)
{
	*ret = requests_new(NULL, &m->strings, &m->points);
	for (uint64_t i = 1; i <= 300; i++) {
		int64_t at = 500 + req_random(m, 100), cnt = i % 10 ? c->cnt : c->more_cnt;
		uint64_t root;

		req_begin(m, i);
		root = req_span(m, 0, "front", "GET /orders", 0, 0);
		for (int64_t k = 0; k < cnt; k++, at += c->store_us + 20)
			req_span(m, root, "store", "find", at, at + c->store_us);
		if (c->beside_us)
			req_span(m, root, "mail", "send", 400, 400 + c->beside_us);
		at = at > 400 + c->beside_us ? at : 400 + c->beside_us;
		m->spans.items[0].end_ns = (at + 300) * 1000;
		requests_add(*ret, req_trace(m));
	}
	return requests_finish(*ret, arena);
}

TEST(changes_tell_what_is_called_more_often)
{
	static const struct {
		struct called good, bad;
		double good_times, bad_times;	/* 0: nothing is told */
	} rows[] = {
		{{2, 2, 500, 0}, {40, 40, 500, 0}, 2, 40},
		{{0, 0, 500, 0}, {1, 1, 500, 0}, 0, 1},
		{{1, 1, 500, 0}, {1, 21, 500, 0}, 1, 3},	/* in few requests, but often */
		{{2, 2, 500, 0}, {2, 2, 9000, 0}, 0, 0},	/* slower, not more often */
		{{40, 40, 500, 0}, {2, 2, 500, 0}, 0, 0},	/* less often */
		{{20, 20, 500, 0}, {23, 23, 500, 0}, 0, 0},	/* hardly more often */
		{{2, 2, 500, 0}, {40, 40, 1, 0}, 0, 0},	/* it takes no longer in all */
		{{2, 2, 500, 300}, {2, 2, 500, 9000}, 0, 0},	/* on the path now */
		{{40, 40, 5, 9000}, {2, 2, 9000, 300}, 0, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct req_maker m = {.random = 7};
		struct requests *sets[2];
		struct arena arena = {0};
		const struct requests_result *good = called(&m, &rows[i].good, &sets[0], &arena);
		const struct requests_result *bad = called(&m, &rows[i].bad, &sets[1], &arena);
		const struct requests_diff *d = requests_diff(good, bad, &arena);

		ROW(i);
		EQ_U(d->call_cnt, rows[i].bad_times > 0);
		if (d->call_cnt) {
			const struct owner_change *o = d->calls[0].owner;

			EQ_S(strtab_str(&m.strings, m.points.items.items[o->point].service),
			     "store");
			OK(near(o->good_times.mean, rows[i].good_times, 0.01));
			OK(near(o->bad_times.mean, rows[i].bad_times, 0.01));
			OK(near(d->calls[0].cost_ns, o->delta_ns * 300, 1));
		}
		requests_free(sets[0]);
		requests_free(sets[1]);
		arena_release(&arena);
		req_release(&m);
	}
}

struct ending {
	int early_pct;		/* of the requests end after auth said no */
	int64_t end_us;		/* and take so long for it */
};

static const struct requests_result *ended(struct req_maker *m, const struct ending *e,
					   uint64_t cnt, struct requests **ret,
					   struct arena *arena)
{
	*ret = requests_new(NULL, &m->strings, &m->points);
	for (uint64_t i = 1; i <= cnt; i++) {
		int64_t at = 500 + req_random(m, 100);
		bool early = req_random(m, 100) < e->early_pct;
		uint64_t root, cart;

		req_begin(m, i);
		root = req_span(m, 0, "shop", "POST /pay", 0, 0);
		req_span(m, root, "auth", "check", 100, at);
		if (early) {
			at += e->end_us;
		} else {
			cart = req_span(m, root, "cart", "get", at + 100, at + 9900);
			req_span(m, cart, "db", "select", at + 200, at + 9800);
			at += 10000 + req_random(m, 900);
		}
		m->spans.items[0].end_ns = (at + 300) * 1000;
		requests_add(*ret, req_trace(m));
	}
	return requests_finish(*ret, arena);
}

/* Calls that are left out are told where they are, with what it makes of the time. */
TEST(changes_tell_what_is_not_called_any_more)
{
	static const struct {
		struct ending good, bad;
		uint64_t cnt;
		const char *called;	/* NULL: nothing is told */
		enum structure_kind kind;
		double good_share, delta_ms;
	} rows[] = {
		{{0, 0}, {80, 0}, 300, "cart", STRUCTURE_LESS, 1, -10.4},
		{{0, 0}, {80, 90000}, 300, "cart", STRUCTURE_LESS, 1, 79.6},
		{{100, 0}, {20, 0}, 300, "cart", STRUCTURE_NEW, 0, 10.4},
		{{30, 0}, {32, 0}, 300, NULL, STRUCTURE_LESS, 0, 0},	/* by chance */
		{{0, 0}, {80, 0}, 15, NULL, STRUCTURE_LESS, 0, 0},	/* too few */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct req_maker m = {.random = 7};
		struct requests *sets[2];
		struct arena arena = {0};
		const struct requests_result *good = ended(&m, &rows[i].good, rows[i].cnt,
							   &sets[0], &arena);
		const struct requests_result *bad = ended(&m, &rows[i].bad, rows[i].cnt,
							  &sets[1], &arena);
		const struct requests_diff *d = requests_diff(good, bad, &arena);
		const struct structure_change *s = d->structure;

		ROW(i);
		/* not of what cart would have called */
		EQ_U(d->structure_cnt, rows[i].called != NULL);
		if (rows[i].called) {
			EQ_S(strtab_str(&m.strings, m.points.items.items[s->point].service),
			     rows[i].called);
			EQ_S(strtab_str(&m.strings, m.points.items.items[s->parent].service),
			     "shop");
			EQ_I(s->kind, rows[i].kind);
			OK(near(s->good_share, rows[i].good_share, 0.001));
			OK(near(fabs(s->bad_share - s->good_share), 0.8, 0.07));
			OK(near(s->delta_ns, rows[i].delta_ms * 1e6, 1e5));
			OK(near(s->cost_ns,
				fabs(s->delta_ns * (s->bad_share - s->good_share)) * 300, 1));
		}
		requests_free(sets[0]);
		requests_free(sets[1]);
		arena_release(&arena);
		req_release(&m);
	}
}
