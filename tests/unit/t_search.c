/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/graph/graph.h"
#include "requests/forest/hidden_points.h"
#include "requests/search/pick_point.h"
#include "requests/graph/span_ends.h"
#include "requests/graph/mask.h"
#include "trace_make.h"
#include "unit.h"

enum { POINTS = 16 };

struct bench {
	struct points points;
	struct strtab strings;
	uint8_t none[POINTS], whole[POINTS];
	bool apart;
	struct arena arena;
};

/* Tracepoints 0, 1, 2 ... are named in this order. */
static void bench_make(struct bench *b)
{
	char name[4] = "a";

	for (uint32_t i = 0; i < POINTS; i++, name[0]++)
		b->whole[points_add(&b->points, &b->strings, 0,
				    strtab_add(&b->strings, name))] = SIDES_BOTH;
}

static void bench_release(struct bench *b)
{
	points_release(&b->points);
	strtab_release(&b->strings);
	arena_release(&b->arena);
}

/* "aAbB": a is entered, left, b is entered, left; the time each edge took is given. */
static struct stretch stretch_of(struct bench *b, const char *events, const double *took)
{
	uint32_t cnt = (uint32_t)strlen(events);
	struct forest_event *e = ARENA_ARRAY(&b->arena, struct forest_event, cnt + 1);
	uint32_t *owners = ARENA_ARRAY(&b->arena, uint32_t, cnt + 1);
	double *mean = ARENA_ARRAY(&b->arena, double, cnt + 1), *cov;
	uint32_t stack[POINTS + 1] = {POINTS - 1}, depth = 0;

	cov = ARENA_ARRAY(&b->arena, double, cnt + 1);
	for (uint32_t i = 0; i < cnt; i++) {
		bool exit = events[i] < 'a';

		e[i].point = (uint32_t)(events[i] - (exit ? 'A' : 'a'));
		e[i].kind = exit ? NODE_EXIT : NODE_ENTRY;
		owners[i] = stack[depth];
		if (exit)
			depth--;
		else
			stack[++depth] = e[i].point;
	}
	owners[cnt] = stack[depth];
	for (uint32_t i = 0; i <= cnt; i++)
		mean[i] = took ? took[i] : 1000;
	return (struct stretch){e, owners, mean, cov, cnt, 1, cnt, 1};
}

static uint32_t hedge(struct bench *b, const char *events, const double *took,
		      const uint8_t *barred, double fresh, struct pick *ret)
{
	struct stretch s = stretch_of(b, events, took);
	struct stretches ways = {{POINTS - 1, NODE_ENTRY}, &s, 1, 1};
	struct search search = {.points = &b->points, .strings = &b->strings,
				.known = b->whole, .barred = barred ? barred : b->none,
				.fresh = fresh, .apart = b->apart};

	if (took)
		memcpy(s.cov, took, sizeof(*took) * (s.event_cnt + 1));
	search_hedge(&search, &ways, &b->arena, ret);
	return ret->point;
}

TEST(search_hedge_picks_what_leaves_least)
{
	struct bench b = {0};
	double last[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1000, 1};
	uint8_t barred[POINTS] = {0};
	struct pick p;

	bench_make(&b);
	EQ_U(hedge(&b, "", NULL, NULL, 1, &p), FOREST_NONE);
	EQ_U(p.hidden_cnt, 0);
	EQ_U(hedge(&b, "aA", NULL, NULL, 1, &p), 0);
	NEAR(p.cost, 1, 1e-9);
	/* One after the other: the middle one cuts off most. */
	EQ_U(hedge(&b, "aAbBcC", NULL, NULL, 1, &p), 1);
	EQ_U(p.hidden_cnt, 3);
	OK(p.cost > 1 && p.cost < 3);
	/* All that varied was in f, so that it alone is worth its price. */
	EQ_U(hedge(&b, "aAbBcCdDeEfF", last, NULL, 0, &p), 5);
	OK(p.cost < 1.1);
	/* What was barred is as if it were not there. */
	barred[1] = SIDES_BOTH;
	OK(hedge(&b, "aAbBcC", NULL, barred, 1, &p) != 1);
	EQ_U(p.hidden_cnt, 2);
	bench_release(&b);
}

TEST(search_hedge_takes_one_side_where_they_are_apart)
{
	struct bench b = {.apart = true};
	uint8_t barred[POINTS] = {0};
	struct pick p;

	bench_make(&b);
	/* Half way: after it a's own time is told from what comes then. */
	EQ_U(hedge(&b, "aA", NULL, NULL, 1, &p), 0);
	EQ_U(p.hidden_cnt, 2);
	OK(p.sides == SIDE_BEGIN || p.sides == SIDE_END);
	barred[0] = p.sides;
	EQ_U(hedge(&b, "aA", NULL, barred, 1, &p), 0);
	EQ_U(p.sides, SIDES_BOTH & ~barred[0]);
	EQ_U(p.hidden_cnt, 1);
	NEAR(p.cost, 1, 1e-9);
	EQ_U(hedge(&b, "aAbBcC", NULL, NULL, 1, &p), 1);
	EQ_U(p.hidden_cnt, 6);
	bench_release(&b);
}

TEST(search_hedge_guesses_where_tables_would_be_too_large)
{
	struct bench b = {0};
	char events[2 * SEARCH_EXACT_MAX + 1] = "";
	struct pick p;

	bench_make(&b);
	/* a many times, then one b in the middle, then c many times. */
	for (int i = 0; i < SEARCH_EXACT_MAX; i++)
		events[i] = i % 2 ? 'A' : 'a';
	memcpy(events + SEARCH_EXACT_MAX, "bB", 3);
	OK(hedge(&b, events, NULL, NULL, 1, &p) < 2);
	EQ_U(p.hidden_cnt, 2);
	OK(p.cost >= 1);
	bench_release(&b);
}

/* p calls a (which calls b), c, d (which calls e), f. */
static const struct space_step steps[] = {
	{.point = 15, .kind = NODE_ENTRY, .parent = UINT32_MAX},
	{.point = 0, .kind = NODE_ENTRY, .parent = 0},
	{.point = 1, .kind = NODE_ENTRY, .parent = 1},
	{.point = 1, .kind = NODE_EXIT, .parent = 1},
	{.point = 0, .kind = NODE_EXIT, .parent = 0},
	{.point = 2, .kind = NODE_ENTRY, .parent = 0},
	{.point = 2, .kind = NODE_EXIT, .parent = 0},
	{.point = 3, .kind = NODE_ENTRY, .parent = 0},
	{.point = 4, .kind = NODE_ENTRY, .parent = 7},
	{.point = 4, .kind = NODE_EXIT, .parent = 7},
	{.point = 3, .kind = NODE_EXIT, .parent = 0},
	{.point = 15, .kind = NODE_EXIT, .parent = UINT32_MAX},
};
static const struct space_path path = {.steps = steps, .step_cnt = 12};

TEST(search_flat_and_hierarchical_take_the_middle)
{
	struct bench b = {0};
	struct search s = {.known = b.whole, .barred = b.none};
	uint8_t on[POINTS] = {0};
	struct pick p;

	bench_make(&b);
	/* Of a b c d e the third, of the children a c d the second. */
	search_flat(&s, &path, 0, 11, on, &p);
	EQ_U(p.point, 2);
	EQ_U(p.hidden_cnt, 5);
	search_hierarchical(&s, &path, 0, 11, on, &p);
	EQ_U(p.point, 2);
	EQ_U(p.hidden_cnt, 3);
	on[2] = SIDES_BOTH;
	/* After c: d and e by what happens, d alone by who calls. */
	search_flat(&s, &path, 6, 11, on, &p);
	EQ_U(p.hidden_cnt, 2);
	search_hierarchical(&s, &path, 6, 11, on, &p);
	EQ_U(p.point, 3);
	EQ_U(p.hidden_cnt, 1);
	on[3] = SIDES_BOTH;
	/* Inside d: e for both; between d and the end of p nothing. */
	search_hierarchical(&s, &path, 7, 10, on, &p);
	EQ_U(p.point, 4);
	search_flat(&s, &path, 10, 11, on, &p);
	EQ_U(p.point, FOREST_NONE);
	search_hierarchical(&s, &path, 10, 11, on, &p);
	EQ_U(p.point, FOREST_NONE);
	/* Apart: the middle of ten events, and the child's both. */
	s.apart = true;
	memset(on, 0, sizeof(on));
	search_flat(&s, &path, 0, 11, on, &p);
	EQ_U(p.hidden_cnt, 10);
	EQ_U(p.point, path.steps[6].point);
	EQ_U(p.sides, side_of(path.steps[6].kind));
	search_hierarchical(&s, &path, 0, 11, on, &p);
	EQ_U(p.hidden_cnt, 3);
	EQ_U(p.sides, SIDES_BOTH);
	bench_release(&b);
}

/* A whole trace, and as it is with what on has. */
struct hiding {
	struct made m;
	struct known known;
	struct seen stripped;
	struct trace t;
	uint8_t on[8];
	struct hidden_query q;
	struct stretches ways;
};

/* Between these steps of the whole path, which the first of them owns. */
static void hide(struct hiding *h, uint32_t from, uint32_t to)
{
	struct made *m = &h->m;
	const struct cstep *steps;

	made_path(m);
	steps = m->path.steps;
	h->known.full = (struct seen){.trace = made_trace(m), .graph = m->graph, .path = m->path};
	known_begin(&h->known);
	h->q = (struct hidden_query){.known = &h->known, .stripped = &h->stripped, .known_cnt = 1,
				     .on = h->on, .points = &m->points,
				     .from = {steps[from].point, steps[from].kind},
				     .to = {steps[to].point, steps[to].kind},
				     .owner = steps[from].point};
	h->on[steps[from].point] = h->on[steps[to].point] = SIDES_BOTH;
	trace_strip(h->known.full.trace, h->on, &m->points, &m->strings, &m->arena, &h->t);
	h->stripped.trace = &h->t;
	EQ_I(graph_build(&h->t, &m->points, &m->strings, &m->arena, &h->stripped.graph,
			 &m->stats), 0);
	critical_path(&h->stripped.graph, &m->points, &m->arena, &h->stripped.path);
	hidden_find(&h->q, &m->arena, &h->ways);
	EQ_U(h->ways.cnt, 1);
}

static void hiding_release(struct hiding *h)
{
	known_release(&h->known);
	made_release(&h->m);
}

TEST(hidden_finds_what_is_between_and_how_long)
{
	struct hiding h = {0};
	const struct stretch *way;

	made_span(&h.m, 1, 0, "s/top", 0, 100);
	made_span(&h.m, 2, 1, "s/first", 10, 40);
	made_span(&h.m, 3, 2, "s/inner", 15, 30);
	made_span(&h.m, 4, 1, "s/last", 60, 90);
	hide(&h, 0, 5);
	way = &h.ways.items[0];
	EQ_U(way->event_cnt, 4);
	EQ_U(way->events[1].point, h.m.path.steps[2].point);
	EQ_U(way->owners[1], h.m.path.steps[1].point);
	EQ_U(way->owners[4], h.q.from.point);
	NEAR(way->mean_ns[0], 10, 0);
	NEAR(way->mean_ns[2], 15, 0);
	NEAR(way->mean_ns[4], 20, 0);
	/* Nothing is hidden in the last. */
	h.q.from = h.q.to;
	h.q.to.kind = NODE_EXIT;
	h.q.owner = h.q.to.point;
	hidden_find(&h.q, &h.m.arena, &h.ways);
	EQ_U(h.ways.cnt, 1);
	EQ_U(h.ways.items[0].event_cnt, 0);
	hiding_release(&h);
}

/* Events that references alone order: the one before ran until the next. */
TEST(hidden_events_own_what_follows)
{
	struct hiding h = {0};

	for (uint64_t i = 0; i < 4; i++) {
		char name[] = "s/a";

		name[2] = (char)('a' + i);
		made_span(&h.m, i + 1, 0, name, (int64_t)i * 10, (int64_t)i * 10)->flags =
			SPANF_POINT;
		if (i)
			made_ref(&h.m, i, SPAN_REF_AFTER);
	}
	hide(&h, 0, 3);
	EQ_U(h.ways.items[0].event_cnt, 2);
	for (uint32_t i = 0; i < 3; i++)
		EQ_U(h.ways.items[0].owners[i], h.m.path.steps[i].point);
	hiding_release(&h);
}
