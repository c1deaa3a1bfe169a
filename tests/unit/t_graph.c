/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/graph/graph.h"

#include "requests/graph/critical.h"
#include "trace_make.h"
#include "unit.h"

static void edges_add_up(const struct made *m)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < m->path.step_cnt; i++) {
		OK(m->path.steps[i].edge_ns >= 0);
		sum += m->path.steps[i].edge_ns;
	}
	EQ_I(sum, m->path.total_ns);
}

struct row {
	const char *what;
	struct {
		const char *point;	/* its last letter is what parent names; id is the place */
		char parent;
		int64_t begin, end;
		int kind, flags;
		char after, follows;
	} spans[8];
	const char *steps;
	int64_t total;
};

static uint64_t id_of(const struct row *row, char letter)
{
	for (int i = 0; i < 8 && row->spans[i].point; i++) {
		if (row->spans[i].point[strlen(row->spans[i].point) - 1] == letter)
			return (uint64_t)i + 1;
	}
	return letter ? 99 : 0;	/* not there */
}

static void row_make(struct made *m, const struct row *row)
{
	for (int i = 0; i < 8 && row->spans[i].point; i++) {
		struct span *span = made_span(m, (uint64_t)i + 1,
					      id_of(row, row->spans[i].parent),
					      row->spans[i].point, row->spans[i].begin,
					      row->spans[i].end);

		span->kind = (uint8_t)row->spans[i].kind;
		span->flags = (uint8_t)row->spans[i].flags;
		if (row->spans[i].after)
			made_ref(m, id_of(row, row->spans[i].after), SPAN_REF_AFTER);
		if (row->spans[i].follows)
			made_ref(m, id_of(row, row->spans[i].follows), SPAN_REF_FOLLOWS);
	}
}

#define S(span_point, span_parent, span_begin, span_end, ...)                     \
	{.point = span_point, .parent = span_parent, .begin = span_begin, \
	 .end = span_end, __VA_ARGS__}

static const struct row rows[] = {
	{"one span", {S("s/a", 0, 5, 25)}, "s/a> s/a<", 20},
	{"children one after the other",
	 {S("s/a", 0, 0, 100), S("s/b", 'a', 10, 30), S("s/c", 'a', 30, 60)},
	 "s/a> s/b> s/b< s/c> s/c< s/a<", 100},
	{"of two that overlap the last to end",
	 {S("s/a", 0, 0, 100), S("s/b", 'a', 10, 30), S("s/c", 'a', 20, 60)},
	 "s/a> s/c> s/c< s/a<", 100},
	{"a calls a",
	 {S("s/a", 0, 0, 100), S("s/a", 'a', 10, 30)}, "s/a> s/a> s/a< s/a<", 100},
	{"begins when its parent has ended",
	 {S("s/a", 0, 0, 100), S("s/b", 'a', 100, 130)}, "s/a> s/a<", 100},
	{"an empty child at the end is no such",
	 {S("s/a", 0, 0, 100), S("s/b", 'a', 100, 100)}, "s/a> s/b> s/b< s/a<", 100},
	{"cut at its parent's ends",
	 {S("s/a", 0, 10, 100), S("s/b", 'a', 0, 130)}, "s/a> s/b> s/b< s/a<", 90},
	{"own work that outlives the parent",
	 {S("s/a", 0, 0, 100),
	  S("s/b", 'a', 10, 2000000, .kind = SPAN_INTERNAL)}, "s/a> s/a<", 100},
	{"another service's that does",
	 {S("s/a", 0, 0, 100), S("t/b", 'a', 10, 2000000, .kind = SPAN_SERVER)},
	 "s/a> t/b> t/b< s/a<", 100},
	{"told to follow",
	 {S("s/a", 0, 0, 100), S("s/b", 0, 10, 50, .follows = 'a')}, "s/a> s/a<", 100},
	{"a consumer below a producer",
	 {S("s/a", 0, 0, 100), S("s/b", 'a', 5, 60, .kind = SPAN_PRODUCER),
	  S("t/c", 'b', 10, 40, .kind = SPAN_CONSUMER)}, "s/a> s/b> s/b< s/a<", 100},
	{"waited for after all",
	 {S("s/a", 0, 0, 100), S("s/b", 0, 10, 50, .follows = 'a'),
	  S("s/w", 'a', 50, 50, .flags = SPANF_POINT, .after = 'b')},
	 "s/a> s/b> s/b< s/w. s/a<", 100},
	{"the span around what is lost",
	 {S("s/a", 0, 0, 100), S("s/b", 'a', 10, 50), S("s/c", '?', 20, 90)},
	 "s/a> s/c> s/c< s/a<", 100},
	{"open",
	 {S("s/a", 0, 0, 0, .flags = SPANF_OPEN), S("s/b", 'a', 10, 10, .flags = SPANF_OPEN),
	  S("s/c", 'b', 20, 90)}, "s/a> s/b> s/c> s/c< s/b< s/a<", 90},
	{"ends before it begins",
	 {S("s/a", 0, 0, 100), S("s/b", 'a', 40, 10)}, "s/a> s/b> s/b< s/a<", 100},
	{"ring of parents",
	 {S("s/a", 'c', 0, 100), S("s/b", 'a', 10, 50), S("s/c", 'b', 20, 40)},
	 "s/a> s/b> s/c> s/c< s/b< s/a<", 100},
	{"its own parent", {S("s/a", 'a', 0, 100)}, "s/a> s/a<", 100},
	{"a child inside an instant is not waited for",
	 {S("s/a", 0, 0, 100), S("s/b", 'a', 40, 40, .flags = SPANF_POINT),
	  S("s/c", 'b', 40, 70)},
	 "s/a> s/b. s/a<", 100},
	{"events: fork and join",
	 {S("s/a", 0, 0, 0, .flags = SPANF_POINT),
	  S("s/b", 0, 10, 10, .flags = SPANF_POINT, .after = 'a'),
	  S("s/c", 0, 30, 30, .flags = SPANF_POINT, .after = 'a'),
	  S("s/d", 0, 20, 20, .flags = SPANF_POINT, .after = 'b'),
	  S("s/e", 0, 40, 40, .flags = SPANF_POINT, .after = 'd', .follows = 'c')},
	 "s/a. s/c. s/e.", 40},
	{"events: a clock that is behind",
	 {S("s/a", 0, 0, 0, .flags = SPANF_POINT),
	  S("s/b", 0, 30, 30, .flags = SPANF_POINT, .after = 'a'),
	  S("s/c", 0, 10, 10, .flags = SPANF_POINT, .after = 'b'),
	  S("s/d", 0, 50, 50, .flags = SPANF_POINT, .after = 'c')},
	 "s/a. s/b. s/c. s/d.", 50},
	{"events: a ring",
	 {S("s/a", 0, 0, 0, .flags = SPANF_POINT),
	  S("s/b", 0, 10, 10, .flags = SPANF_POINT, .after = 'c', .follows = 'a'),
	  S("s/c", 0, 20, 20, .flags = SPANF_POINT, .after = 'b')}, "s/a. s/b. s/c.", 20},
	{"events: nothing but a ring",
	 {S("s/a", 0, 0, 0, .flags = SPANF_POINT, .after = 'b'),
	  S("s/b", 0, 10, 10, .flags = SPANF_POINT, .after = 'a')},
	 "s/a. s/b.", 10},
	{"a reference against the clock",
	 {S("s/a", 0, 0, 100), S("s/b", 'a', 10, 30, .after = 'c'), S("s/c", 'a', 40, 60)},
	 "s/a> s/b> s/b< s/c> s/c< s/a<", 100},
};

TEST(graph_paths_by_rule)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct made m = {0};

		ROW(i);
		row_make(&m, &rows[i]);
		made_path(&m);
		EQ_S(made_steps(&m), rows[i].steps);
		EQ_I(m.path.total_ns, rows[i].total);
		edges_add_up(&m);
		made_release(&m);
	}
}

TEST(graph_order_of_spans_changes_nothing)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (uint64_t seed = 0; seed < 20; seed++) {
			struct made m = {0};

			ROW(i);
			row_make(&m, &rows[i]);
			made_shuffle(&m, seed);
			made_path(&m);
			EQ_S(made_steps(&m), rows[i].steps);
			EQ_I(m.path.total_ns, rows[i].total);
			made_release(&m);
		}
	}
}

static int64_t at(const struct made *m, uint32_t span)
{
	return m->graph.nodes[m->graph.spans[span].entry].at_ns;
}

TEST(graph_clock_of_a_host_is_mended)
{
	for (int64_t skew = -50000000; skew <= 50000000; skew += 25000000) {
		struct made m = {0};
		const char *hosts[] = {"h1", "h1", "h2", "h2", "h1"};

		ROW(skew);
		made_span(&m, 1, 0, "front/a", 0, 10000000);
		made_span(&m, 2, 1, "front/b", 1000000, 7000000)->kind = SPAN_CLIENT;
		made_span(&m, 3, 2, "back/c", 2000000 + skew, 6000000 + skew);
		vec_last(&m.spans)->kind = SPAN_SERVER;
		made_span(&m, 4, 3, "back/d", 3000000 + skew, 4000000 + skew);
		made_span(&m, 5, 4, "front/e", 3100000, 3800000);	/* asked back */
		for (int i = 0; i < 5; i++)
			m.spans.items[i].host = strtab_add(&m.strings, hosts[i]);
		made_path(&m);
		EQ_S(made_steps(&m), "front/a> front/b> back/c> back/d> front/e> front/e< back/d< "
				     "back/c< front/b< front/a<");
		EQ_U(m.stats.skew_trace_cnt, skew != 0);
		EQ_U(m.stats.skew_span_cnt, skew ? 2 : 0);
		EQ_U(m.stats.outside_cnt, 0);
		/* c fits from -1 to 1 ms, e from -0.2 to 0.1: in the middle of both */
		EQ_I(at(&m, 2), skew ? 1950000 : 2000000);
		EQ_I(at(&m, 3) - at(&m, 2), 1000000);
		EQ_I(m.path.total_ns, 10000000);
		made_release(&m);
	}
}

/* The same, of a child that may as well have been left alone. */
TEST(graph_clock_is_left_where_nothing_is_impossible)
{
	struct made m = {0};

	made_span(&m, 1, 0, "front/a", 0, 10000000);
	made_span(&m, 2, 1, "back/b", 9000000, 12000000);
	made_path(&m);
	EQ_U(m.stats.skew_trace_cnt, 0);
	EQ_U(m.stats.outside_cnt, 1);
	EQ_I(at(&m, 1), 9000000);
	made_release(&m);
}

TEST(graph_clocks_of_events)
{
	struct made m = {0};

	made_span(&m, 1, 0, "a/a", 0, 0)->flags = SPANF_POINT;
	made_span(&m, 2, 0, "b/b", 501000000, 501000000)->flags = SPANF_POINT;
	made_ref(&m, 1, SPAN_REF_AFTER);
	made_span(&m, 3, 0, "b/c", 502000000, 502000000)->flags = SPANF_POINT;
	made_ref(&m, 2, SPAN_REF_AFTER);
	made_span(&m, 4, 0, "a/d", 4000000, 4000000)->flags = SPANF_POINT;
	made_ref(&m, 3, SPAN_REF_AFTER);
	made_path(&m);
	EQ_S(made_steps(&m), "a/a. b/b. b/c. a/d.");
	EQ_I(m.path.total_ns, 4000000);
	EQ_I(m.path.steps[1].edge_ns, 1500000);	/* there and back took as long */
	EQ_I(m.path.steps[2].edge_ns, 1000000);
	EQ_U(m.stats.raised_cnt, 0);
	made_release(&m);
}

TEST(graph_type_of_a_request)
{
	static const struct {
		const char *root, *route, *own, *asked, *type;
	} table[] = {
		{"front/GET /cart", NULL, "front/db", "cart/read", ""},
		{"front/GET", "/cart/{id}", "front/db", "cart/read", "/cart/{id}"},
		{"front/HTTP GET", NULL, "front/db", "cart/read", "read"},
		{"front//*", NULL, "front/Handler.run", "cart/GET", "later"},
		{"front/GET /", NULL, "front/db", "cart/read", ""},
		{"front/GET", "/*", "front/POST", "cart/GET", "later"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct made m = {0};

		ROW(i);
		made_span(&m, 1, 0, table[i].root, 0, 1000);
		if (table[i].route)
			made_attr(&m, "http.route", table[i].route);
		made_span(&m, 2, 1, table[i].own, 10, 900);
		made_span(&m, 3, 2, table[i].asked, 20, 800);
		made_span(&m, 4, 2, "cart/later", 800, 900);
		made_shuffle(&m, i);
		made_path(&m);
		EQ_S(strtab_str(&m.strings, m.graph.type_detail), table[i].type);
		made_release(&m);
	}
}

/* Neither recursion nor anything quadratic: each of these would show in the time of the run. */
TEST(graph_deep_and_wide)
{
	enum { CNT = 100000 };

	for (int shape = 0; shape < 4; shape++) {
		struct made m = {0};

		ROW(shape);
		made_span(&m, 1, 0, "s/a", 0, 4 * CNT);
		for (int64_t i = 1; i < CNT; i++) {
			uint64_t id = (uint64_t)i + 1;

			if (shape == 0)		/* each inside the one before */
				made_span(&m, id, id - 1, "s/a", i, 4 * CNT - i);
			else if (shape == 1)	/* one after the other */
				made_span(&m, id, 1, "s/b", 4 * i, 4 * i + 2);
			else if (shape == 2)	/* all at once, ending the other way round */
				made_span(&m, id, 1, "s/b", i, 4 * CNT - i);
			else			/* half at once, then the other half */
				made_span(&m, id, 1, "s/b", i < CNT / 2 ? i : CNT + i,
					  i < CNT / 2 ? CNT - i : 3 * CNT + i);
		}
		made_path(&m);
		edges_add_up(&m);
		EQ_U(m.path.step_cnt, shape < 2 ? 2 * CNT : shape == 2 ? 4 : 6);
		EQ_I(m.path.total_ns, 4 * CNT);
		OK(m.graph.nodes[m.graph.end].pred_cnt > 0);
		OK((m.stats.join_cut_cnt > 0) == (shape == 3));
		made_release(&m);
	}
}

/* Zipkin: both halves of a call under one id, children of the server's process below its half. */
TEST(graph_shared_ids)
{
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct made m = {0};

		ROW(seed);
		made_span(&m, 1, 0, "front/a", 0, 100)->kind = SPAN_SERVER;
		made_span(&m, 2, 1, "front/b", 10, 90)->kind = SPAN_CLIENT;
		made_span(&m, 2, 1, "back/b", 20, 80)->kind = SPAN_SERVER;
		if (seed & 1)
			vec_last(&m.spans)->flags = SPANF_SHARED;
		made_span(&m, 3, 2, "back/c", 30, 70);
		made_span(&m, 4, 2, "front/d", 12, 15);	/* the caller's own, before it sent */
		made_span(&m, 5, 2, "cache/e", 72, 75);
		made_shuffle(&m, seed);
		made_path(&m);
		EQ_S(made_steps(&m), "front/a> front/b> front/d> front/d< back/b> back/c> back/c< "
				     "cache/e> cache/e< back/b< front/b< front/a<");
		EQ_U(m.stats.shared_cnt, 1);
		EQ_U(m.stats.same_id_cnt + m.stats.duplicate_cnt, 0);
		made_release(&m);
	}
}

TEST(graph_ids_that_are_there_twice)
{
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct made m = {0};

		ROW(seed);
		made_span(&m, 1, 0, "s/a", 0, 100);
		made_span(&m, 2, 1, "s/b", 10, 40);
		made_span(&m, 2, 1, "s/b", 10, 40);	/* the same, sent again */
		made_span(&m, 2, 1, "s/x", 50, 90);	/* another one */
		made_span(&m, 3, 2, "s/c", 20, 30);
		made_shuffle(&m, seed);
		made_path(&m);
		EQ_S(made_steps(&m), "s/a> s/b> s/c> s/c< s/b< s/x> s/x< s/a<");
		EQ_U(m.stats.duplicate_cnt, 1);
		EQ_U(m.stats.same_id_cnt, 1);
		EQ_U(m.graph.node_cnt, 8);
		made_release(&m);
	}
}

/* What a rule does is counted, and nothing else is. */
TEST(graph_counts_what_it_does)
{
	struct made m = {0};

	made_span(&m, 1, 0, "s/a", 0, 10000000);
	made_span(&m, 2, 77, "s/b", 10, 20);
	made_span(&m, 3, 1, "s/c", 30, 11000000);
	made_span(&m, 4, 1, "s/d", 50, 40);
	made_span(&m, 5, 1, "s/e", 60, 60)->flags = SPANF_OPEN;
	made_span(&m, 6, 1, "s/f", 10000000, 10000001);
	made_ref(&m, 99, SPAN_REF_AFTER);
	made_span(&m, 7, 7, "s/g", 70, 80);
	made_path(&m);
	EQ_U(m.stats.trace_cnt, 1);
	EQ_U(m.stats.span_cnt, 7);
	EQ_U(m.stats.orphan_cnt, 2);
	EQ_U(m.stats.outside_cnt, 1);
	EQ_U(m.stats.negative_cnt, 1);
	EQ_U(m.stats.open_cnt, 1);
	EQ_U(m.stats.async_cnt, 1);
	EQ_U(m.stats.ref_lost_cnt, 1);
	EQ_U(m.stats.cycle_cnt + m.stats.raised_cnt + m.stats.join_cut_cnt, 0);
	EQ_U(m.stats.skew_trace_cnt + m.stats.ref_backward_cnt + m.stats.extra_root_cnt, 0);
	EQ_U(m.stats.duplicate_cnt + m.stats.same_id_cnt + m.stats.shared_cnt, 0);
	EQ_U(m.stats.rootless_cnt, 0);
	made_release(&m);
}

TEST(graph_hash_is_the_same_for_ever)
{
	struct made m = {0};

	made_span(&m, 1, 0, "front/GET /cart", 0, 100);
	made_span(&m, 2, 1, "cart/read", 10, 40);
	made_span(&m, 3, 1, "cart/read", 50, 90);
	made_path(&m);
	/* What is on disk of a forest or a search space names paths by these. */
	EQ_U(m.path.shape[CSHAPE_EXACT], UINT64_C(8863340391319734285));
	EQ_U(m.path.shape[CSHAPE_REPEATS], UINT64_C(10491769967503331001));
	EQ_U(m.path.shape[CSHAPE_UNORDERED], UINT64_C(13702117380297222986));
	EQ_U(m.path.shape[CSHAPE_POINTS], UINT64_C(6116158802216544691));
	EQ_U(m.path.shape[CSHAPE_ENTRIES], UINT64_C(13773431430657163108));
	EQ_U(m.path.shape[CSHAPE_TYPE], UINT64_C(8244542442654442269));
	made_release(&m);
}

/* Which of a and b come out alike at which level. */
TEST(graph_shapes_from_exact_to_coarse)
{
	static const struct {
		const char *a, *b;	/* pairs of a tracepoint and its parent, in order */
		enum cshape from;	/* the first level at which they are the same */
	} table[] = {
		{"b.a. b.a.", "b.a. b.a.", CSHAPE_EXACT},
		{"b.a. b.a.", "b.a. b.a. b.a.", CSHAPE_REPEATS},
		{"b.a. c.a.", "c.a. b.a.", CSHAPE_UNORDERED},
		{"b.a. c.a. b.a.", "b.a. c.a.", CSHAPE_UNORDERED},
		{"b.a. c.b.", "b.a. c.a.", CSHAPE_POINTS},
		{"b.a. c.a.", "b.a.", CSHAPE_ENTRIES},
		{"b.a.", "z.a.", CSHAPE_TYPE},
		{"a.a.", "a.a. a.a.", CSHAPE_REPEATS},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		uint64_t shape[2][CSHAPE_CNT];

		ROW(i);
		for (int side = 0; side < 2; side++) {
			const char *at = side ? table[i].b : table[i].a;
			struct made m = {0};
			uint64_t ids[128] = {['a'] = 1}, id = 1;
			int64_t end[128] = {['a'] = 1000};

			made_span(&m, 1, 0, "s/a", 0, 1000);
			for (int64_t begin = 10; *at; at += at[4] ? 5 : 4, begin += 20) {
				char point[] = {at[0] == 'z' ? 't' : 's', '/', at[0], '\0'};
				int64_t from = at[2] == 'a' ? begin : end[(int)at[2]] - 8;

				made_span(&m, ++id, ids[(int)at[2]], point, from,
					  at[2] == 'a' ? begin + 10 : from + 4);
				if (at[0] == 'a')
					continue;
				ids[(int)at[0]] = id;
				end[(int)at[0]] = begin + 10;
			}
			made_path(&m);
			memcpy(shape[side], m.path.shape, sizeof(m.path.shape));
			EQ_U(m.path.hash, m.path.shape[CSHAPE_EXACT]);
			made_release(&m);
		}
		for (enum cshape level = 0; level < CSHAPE_CNT; level++)
			EQ_I(shape[0][level] == shape[1][level], level >= table[i].from);
	}
}
