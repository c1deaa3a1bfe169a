/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/replay/inject.h"

#include "base/arena.h"
#include "base/hash.h"
#include "trace/points.h"
#include "requests/graph/critical.h"
#include "requests/graph/graph.h"
#include "unit.h"

/* Times in the tables are small numbers of this unit. */
#define UNIT 1000

struct row {			/* a span: name 'a' + n has id n + 1 */
	char name, parent;	/* parent 0: none */
	int begin, end;
	int flags, kind;
	char ref;		/* 0: none */
	int ref_kind;
};

static const struct trace *make(struct arena *a, const struct row *rows, uint32_t cnt)
{
	struct span *spans = ARENA_ARRAY(a, struct span, cnt);
	struct span_ref *refs = ARENA_ARRAY(a, struct span_ref, cnt);
	struct trace *t = ARENA_NEW(a, struct trace);

	for (uint32_t i = 0; i < cnt; i++) {
		const struct row *r = &rows[i];

		spans[i] = (struct span){
			.id = (uint64_t)(r->name - 'a' + 1),
			.parent = r->parent ? (uint64_t)(r->parent - 'a' + 1) : 0,
			.begin_ns = r->begin * UNIT, .end_ns = r->end * UNIT,
			.service = 1, .name = (uint32_t)r->name, .kind = (uint8_t)r->kind,
			.flags = (uint8_t)r->flags, .ref_idx = i, .ref_cnt = r->ref != 0};
		refs[i] = (struct span_ref){.span = (uint64_t)(r->ref - 'a' + 1),
					    .kind = (uint32_t)r->ref_kind};
	}
	*t = (struct trace){.id = {1, 2}, .spans = spans, .refs = refs, .span_cnt = cnt,
			    .ref_cnt = cnt};
	return t;
}

/* Name, parent, begin, end; flags and kind; or flags, whom it refers to and how. */
#define S(n, p, b, e)		{n, p, b, e, 0, 0, 0, 0}
#define K(n, p, b, e, f, k)	{n, p, b, e, f, k, 0, 0}
#define R(n, p, b, e, f, r, rk)	{n, p, b, e, f, 0, r, rk}

enum { ROWS_MAX = 8 };

static const struct inject_case {
	const char *what;
	struct row rows[ROWS_MAX];
	char at;
	int where, delay;
	int want[ROWS_MAX][2];
} cases[] = {
	{"alone, at entry", {S('a', 0, 0, 10)}, 'a', INJECT_ENTRY, 5, {{0, 15}}},
	{"a call moves what comes after it",
	 {S('a', 0, 0, 10), S('b', 'a', 1, 3), S('c', 'a', 4, 6)}, 'b', INJECT_EXIT, 5,
	 {{0, 15}, {1, 8}, {9, 11}}},
	{"at entry the inside moves, at exit it does not",
	 {S('a', 0, 0, 10), S('b', 'a', 1, 8), S('c', 'b', 2, 5)}, 'b', INJECT_ENTRY, 3,
	 {{0, 13}, {1, 11}, {5, 8}}},
	{"exit", {S('a', 0, 0, 10), S('b', 'a', 1, 8), S('c', 'b', 2, 5)}, 'b', INJECT_EXIT, 3,
	 {{0, 13}, {1, 11}, {2, 5}}},
	{"beside: within the slack nothing else moves",
	 {S('a', 0, 0, 20), S('b', 'a', 1, 6), S('c', 'a', 2, 18)}, 'b', INJECT_ENTRY, 5,
	 {{0, 20}, {1, 11}, {2, 18}}},
	{"beside: over the slack only the rest of it",
	 {S('a', 0, 0, 20), S('b', 'a', 1, 6), S('c', 'a', 2, 18)}, 'b', INJECT_ENTRY, 15,
	 {{0, 23}, {1, 21}, {2, 18}}},
	{"the one after a join waits for the later",
	 {S('a', 0, 0, 20), S('b', 'a', 1, 6), S('c', 'a', 2, 8), S('d', 'a', 9, 15)}, 'b',
	 INJECT_EXIT, 4, {{0, 22}, {1, 10}, {2, 8}, {11, 17}}},
	{"nobody waits for one that outlives its parent",
	 {S('a', 0, 0, 10), S('b', 'a', 8, 30)}, 'b', INJECT_ENTRY, 5, {{0, 10}, {8, 35}}},
	{"but for one that does so by the clock's grain",
	 {S('a', 0, 0, 100), S('b', 'a', 10, 101)}, 'b', INJECT_ENTRY, 5, {{0, 105}, {10, 106}}},
	{"and for a server whose clock is another",
	 {K('a', 0, 0, 20, 0, SPAN_CLIENT), K('b', 'a', 500, 510, 0, SPAN_SERVER),
	  S('c', 'a', 19, 20)}, 'b', INJECT_ENTRY, 6, {{0, 26}, {500, 516}, {25, 26}}},
	{"follows: moves with what it follows, and holds nobody up",
	 {S('a', 0, 0, 20), S('b', 'a', 2, 4), R('c', 'a', 5, 9, 0, 'b', SPAN_REF_FOLLOWS),
	  S('d', 'a', 10, 12)}, 'c', INJECT_ENTRY, 7, {{0, 20}, {2, 4}, {5, 16}, {10, 12}}},
	{"after: an edge between any two",
	 {S('a', 0, 0, 4), R('b', 0, 6, 8, 0, 'a', SPAN_REF_AFTER)}, 'a', INJECT_EXIT, 3,
	 {{0, 7}, {9, 11}}},
	{"a point holds up what comes after it",
	 {S('a', 0, 0, 10), K('b', 'a', 2, 2, SPANF_POINT, 0), S('c', 'a', 3, 5)}, 'b',
	 INJECT_ENTRY, 4, {{0, 14}, {2, 2}, {7, 9}}},
	{"events without spans",
	 {K('a', 0, 0, 0, SPANF_POINT, 0), R('b', 0, 3, 3, SPANF_POINT, 'a', SPAN_REF_AFTER),
	  R('c', 0, 5, 5, SPANF_POINT, 'b', SPAN_REF_AFTER)}, 'b', INJECT_ENTRY, 2,
	 {{0, 0}, {3, 3}, {7, 7}}},
	{"one whose parent is missing is the root's",
	 {S('a', 0, 0, 10), S('b', 'z', 2, 4), S('c', 'a', 5, 6)}, 'b', INJECT_ENTRY, 3,
	 {{0, 13}, {2, 7}, {8, 9}}},
	{"who is their own ancestors are let be",
	 {S('a', 'b', 0, 10), S('b', 'a', 2, 4), S('c', 0, 5, 6)}, 'c', INJECT_ENTRY, 3,
	 {{0, 10}, {2, 4}, {5, 9}}},
};

TEST(inject_moves_what_waits)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct inject_case *c = &cases[i];
		struct injection j = {.service = 1, .name = (uint32_t)c->at,
				      .where = (uint8_t)c->where, .law = INJECT_CONSTANT,
				      .ns = c->delay * UNIT};
		struct inject_plan plan = {&j, 1, 0};
		struct inject_hits hits = {0};
		struct arena a = {0};
		struct trace got;
		uint32_t cnt = 0;

		ROW(i);
		while (cnt < ROWS_MAX && c->rows[cnt].name)
			cnt++;
		inject_trace(make(&a, c->rows, cnt), &plan, &a, &got, &hits);
		for (uint32_t k = 0; k < cnt; k++) {
			EQ_I(got.spans[k].begin_ns, c->want[k][0] * UNIT);
			EQ_I(got.spans[k].end_ns, c->want[k][1] * UNIT);
		}
		EQ_U(hits.span_cnt, 1);
		EQ_U(hits.delay_ns, (uint64_t)c->delay * UNIT);
		arena_release(&a);
	}
}

/* ---- properties, on trees that nobody chose */

enum { TREE = 24, TREES = 400 };

static uint64_t next_random(uint64_t *state)
{
	return hash_u64(++*state);
}

/* A tree of spans each inside its parent, beside and after one another as it comes. */
static const struct trace *random_tree(struct arena *a, uint64_t seed)
{
	struct row rows[TREE] = {R('a', 0, 0, 100000, 0, 0, 0)};
	uint64_t s = seed << 32;

	for (int i = 1; i < TREE; i++) {
		const struct row *p = &rows[next_random(&s) % (uint64_t)i];
		int room = p->end - p->begin;
		int begin = p->begin + (int)(next_random(&s) % (uint64_t)(room / 2 + 1));
		int most = p->end - begin;
		int end = begin + (int)(next_random(&s) % (uint64_t)(most + 1));

		rows[i] = (struct row){.name = (char)('a' + i), .parent = p->name, .begin = begin,
				       .end = end};
	}
	return make(a, rows, TREE);
}

static int64_t total(const struct trace *t)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (uint32_t i = 0; i < t->span_cnt; i++) {
		first = t->spans[i].begin_ns < first ? t->spans[i].begin_ns : first;
		last = t->spans[i].end_ns > last ? t->spans[i].end_ns : last;
	}
	return last - first;
}

static int64_t grown(const struct trace *t, struct injection *j, int64_t ns, struct arena *a,
		     struct trace *ret)
{
	struct inject_plan plan = {j, 1, 0};

	j->ns = ns;
	inject_trace(t, &plan, a, ret, NULL);
	return total(ret) - total(t);
}

/* The child was inside its parent; it still is. */
static void still_inside(const struct trace *got)
{
	for (uint32_t i = 1; i < got->span_cnt; i++) {
		const struct span *s = &got->spans[i], *p = &got->spans[s->parent - 1];

		OK(s->begin_ns >= p->begin_ns);
		OK(s->end_ns <= p->end_ns);
	}
}

TEST(inject_grows_by_the_delay_less_the_slack)
{
	for (uint64_t seed = 1; seed <= TREES; seed++) {
		struct arena a = {0};
		const struct trace *t = random_tree(&a, seed);
		struct injection j = {.service = 1, .name = 'a' + (uint32_t)(seed % TREE),
				      .where = seed & 1, .law = INJECT_CONSTANT};
		const int64_t large = 1000000 * (int64_t)UNIT;
		struct trace got;
		int64_t slack;

		ROW(seed);
		EQ_I(grown(t, &j, 0, &a, &got), 0);
		for (uint32_t i = 0; i < TREE; i++) {
			EQ_I(got.spans[i].begin_ns, t->spans[i].begin_ns);
			EQ_I(got.spans[i].end_ns, t->spans[i].end_ns);
		}
		/* Every span is waited for: a delay beyond all slack comes through. */
		slack = large - grown(t, &j, large, &a, &got);
		OK(slack >= 0 && slack <= total(t));
		still_inside(&got);
		EQ_I(grown(t, &j, slack, &a, &got), 0);
		EQ_I(grown(t, &j, slack + 7, &a, &got), 7);
		EQ_I(grown(t, &j, slack / 2, &a, &got), 0);
		still_inside(&got);
		arena_release(&a);
	}
}

/* The span's begin, or its end, is a step of the critical path. */
static bool on_path(const struct trace *t, struct arena *a, uint32_t span, bool at_exit)
{
	struct strtab strings = {0};
	struct points points = {0};
	struct graph_stats stats = {0};
	struct graph g;
	struct cpath path;
	bool found = false;

	/* The tables' names are numbers; these strings give each of them a text. */
	for (unsigned i = 1; i < 128; i++)
		strtab_addn(&strings, &(char){(char)i}, 1);
	EQ_I(graph_build(t, &points, &strings, a, &g, &stats), 0);
	EQ_I(critical_path(&g, &points, a, &path), 0);
	for (uint32_t i = 0; i < path.step_cnt; i++)
		found |= path.steps[i].span == span &&
			 path.steps[i].kind == (at_exit ? NODE_EXIT : NODE_ENTRY);
	points_release(&points);
	strtab_release(&strings);
	return found;
}

TEST(inject_comes_through_where_the_critical_path_is)
{
	unsigned on_cnt = 0, slack_cnt = 0, off_cnt = 0;

	for (uint64_t seed = 1; seed <= TREES; seed++) {
		struct arena a = {0};
		const struct trace *t = random_tree(&a, seed);
		uint32_t span = (uint32_t)(seed % TREE);
		struct injection j = {.service = 1, .name = 'a' + span, .where = seed & 1,
				      .law = INJECT_CONSTANT};
		struct trace got;
		bool on = on_path(t, &a, span, seed & 1);
		int64_t grew = grown(t, &j, UNIT / 2, &a, &got);

		ROW(seed);
		if (on)
			EQ_I(grew, UNIT / 2);
		on_cnt += on;
		off_cnt += !on;
		slack_cnt += !on && grew == 0;
		arena_release(&a);
	}
	OK(on_cnt > TREES / 10 && off_cnt > TREES / 10);
	/* Off the path there is slack, but for what ends together with it. */
	OK(slack_cnt > off_cnt * 9 / 10);
}

/* ---- laws */

static const struct row one_call[] = {S('a', 0, 0, 10), S('b', 'a', 1, 3), S('c', 'a', 4, 6)};

static int64_t delay_seen(struct inject_plan *plan, uint64_t request, struct trace *ret,
			  struct arena *a)
{
	struct trace t = *make(a, one_call, 3);

	t.id.lo = request;
	inject_trace(&t, plan, a, ret, NULL);
	return ret->spans[0].end_ns - 10 * UNIT;
}

TEST(inject_laws)
{
	enum { REQUESTS = 2000, LAW_NS = 100000 };
	struct injection both[2] = {
		{.service = 1, .name = 'b', .law = INJECT_UNIFORM, .together = 1, .ns = LAW_NS},
		{.service = 1, .name = 'c', .law = INJECT_UNIFORM, .together = 1, .ns = LAW_NS}};
	struct inject_plan one = {both, 1, 9}, two = {both, 2, 9};
	struct arena a = {0};
	double sum = 0, most = 0;
	struct trace got, again;
	uint64_t hit_cnt = 0;

	for (uint64_t i = 0; i < REQUESTS; i++) {
		int64_t ns = delay_seen(&one, i, &got, &a);

		OK(ns >= 0 && ns < LAW_NS);
		EQ_I(delay_seen(&one, i, &again, &a), ns);
		EQ_I(delay_seen(&two, i, &got, &a), 2 * ns);
		sum += (double)ns;
		most = (double)ns > most ? (double)ns : most;
	}
	/* The mean of n uniform draws is within 4 of its standard deviations. */
	NEAR(sum / REQUESTS, LAW_NS / 2.0, 4 * LAW_NS / 3.46 / 44.7);
	OK(most > 0.99 * LAW_NS);
	both[0].together = 0;
	both[0].law = INJECT_CONSTANT;
	both[0].share_ppm = 250000;
	for (uint64_t i = 0; i < REQUESTS; i++) {
		int64_t ns = delay_seen(&one, i, &got, &a);

		OK(ns == 0 || ns == LAW_NS);
		hit_cnt += ns != 0;
	}
	NEAR((double)hit_cnt / REQUESTS, 0.25, 0.04);
	arena_release(&a);
}

TEST(inject_by_key)
{
	enum { KEY = 77, TEXT = 5 };
	struct injection j = {.service = 1, .name = 'b', .law = INJECT_BY_KEY, .make_key = true,
			      .key = KEY, .ns = UNIT};
	struct inject_plan plan = {&j, 1, 3};
	struct arena a = {0};
	struct trace got, t = *make(&a, one_call, 3);
	struct span spans[3];
	struct attr on_root[] = {{.key = KEY, .type = ATTR_NUM, .num = 4},
				 {.key = KEY, .type = ATTR_STR, .str = TEXT}};
	unsigned seen = 0;

	for (uint64_t i = 0; i < 200; i++) {
		int64_t ns = delay_seen(&plan, i, &got, &a);

		EQ_U(got.spans[1].attr_cnt, 1);
		EQ_U(got.spans[0].attr_cnt, 0);
		EQ_U(got.attrs[got.spans[1].attr_idx].key, KEY);
		EQ_I(ns, (int64_t)got.attrs[got.spans[1].attr_idx].num * UNIT);
		seen |= 1u << (ns / UNIT);
	}
	EQ_U(seen, (1u << INJECT_KEY_LEVELS) - 1);
	j.make_key = false;
	memcpy(spans, t.spans, sizeof(spans));
	spans[0].attr_cnt = 1;
	t.spans = spans;
	t.attrs = on_root;
	t.attr_cnt = 1;
	inject_trace(&t, &plan, &a, &got, NULL);
	EQ_I(got.spans[0].end_ns, 14 * UNIT);
	EQ_U(got.attr_cnt, 1);
	j.text = TEXT;
	t.attrs = on_root + 1;
	inject_trace(&t, &plan, &a, &got, NULL);
	EQ_I(got.spans[0].end_ns, 11 * UNIT);
	arena_release(&a);
}

TEST(inject_bears_any_times)
{
	struct row rows[] = {S('a', 0, 0, 10), S('b', 'a', 1, 3), S('c', 'a', 4, 6)};
	struct injection j = {.service = 1, .name = 'b', .law = INJECT_CONSTANT,
			      .ns = INJECT_MAX_NS};
	struct inject_plan plan = {&j, 1, 0};
	struct arena a = {0};
	struct trace got, t = *make(&a, rows, 3);
	struct span spans[3];

	memcpy(spans, t.spans, sizeof(spans));
	spans[0].begin_ns = INT64_MIN;
	spans[0].end_ns = INT64_MAX;
	spans[2].begin_ns = INT64_MAX;
	spans[2].end_ns = INT64_MIN;
	t.spans = spans;
	inject_trace(&t, &plan, &a, &got, NULL);
	EQ_I(got.spans[0].begin_ns, INT64_MIN);
	t.span_cnt = 0;
	inject_trace(&t, &plan, &a, &got, NULL);
	EQ_U(got.span_cnt, 0);
	arena_release(&a);
}
