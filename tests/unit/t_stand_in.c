/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/graph/synthetic_root.h"

#include "requests/graph/critical.h"
#include "trace_make.h"
#include "unit.h"

enum { LOST = 77, LOST_TOO = 78 };

struct row {
	const char *what;
	struct {
		const char *point;
		uint64_t parent;	/* place + 1, LOST: not there */
		int64_t begin, end;
		int flags;
		uint64_t after;
		uint64_t twin;		/* place + 1 of the one whose id it has */
		int kind;
	} spans[5];
	const char *steps;		/* NULL: needs no root */
	int64_t total;
	uint64_t extra_roots, orphans;
};

#define S(span_point, span_parent, span_begin, span_end, ...)                     \
	{.point = span_point, .parent = span_parent, .begin = span_begin, \
	 .end = span_end, __VA_ARGS__}

static const struct row rows[] = {
	{"one root", {S("s/a", 0, 0, 100), S("s/b", 1, 10, 20)}, NULL, 0, 0, 0},
	{"one root and a span whose parent was lost",
	 {S("s/a", 0, 0, 100), S("s/b", LOST, 10, 20)}, NULL, 0, 0, 0},
	{"nothing but one whose parent was lost", {S("s/a", LOST, 0, 100)}, NULL, 0, 0, 0},
	{"one after the other: what is between them is neither's",
	 {S("s/a", 0, 5, 25), S("s/b", 0, 35, 65), S("s/c", 0, 75, 105), S("s/d", 2, 45, 55)},
	 "(no root)/request> s/a> s/a< s/b> s/d> s/d< s/b< s/c> s/c< (no root)/request<", 100,
	 2, 0},
	{"at once",
	 {S("s/a", 0, 0, 60), S("s/b", 0, 30, 100)},
	 "(no root)/request> s/b> s/b< (no root)/request<", 100, 1, 0},
	{"one inside the other: by what is whose parent, not by times",
	 {S("s/a", 0, 0, 100), S("s/b", 0, 30, 60)},
	 "(no root)/request> s/a> s/a< (no root)/request<", 100, 1, 0},
	{"two of one lost parent",
	 {S("s/a", LOST, 0, 20), S("s/b", LOST, 30, 60), S("s/c", 2, 40, 50)},
	 "(no root)/request> s/a> s/a< s/b> s/c> s/c< s/b< (no root)/request<", 60, 0, 2},
	{"two of two lost parents",
	 {S("s/a", LOST, 0, 20), S("s/b", LOST_TOO, 30, 60)},
	 "(no root)/request> s/a> s/a< s/b> s/b< (no root)/request<", 60, 0, 2},
	{"a client's half and its server's have one id",
	 {S("s/a", 0, 0, 100, .kind = SPAN_CLIENT),
	  S("t/a", 0, 10, 90, .twin = 1, .kind = SPAN_SERVER, .flags = SPANF_SHARED)},
	 NULL, 0, 0, 0},
	{"two halves, and another",
	 {S("s/a", 0, 0, 100, .kind = SPAN_CLIENT),
	  S("t/a", 0, 10, 90, .twin = 1, .kind = SPAN_SERVER, .flags = SPANF_SHARED),
	  S("s/b", 0, 110, 130)},
	 "(no root)/request> s/a> t/a> t/a< s/a< s/b> s/b< (no root)/request<", 130, 1, 0},
	{"there twice",
	 {S("s/a", 0, 0, 100), S("s/a", 0, 0, 100, .twin = 1)}, NULL, 0, 0, 0},
	{"whose parent was lost, there twice",
	 {S("s/a", LOST, 0, 100), S("s/a", LOST, 0, 100, .twin = 1)}, NULL, 0, 0, 0},
	{"in a ring", {S("s/a", 2, 0, 100), S("s/b", 1, 10, 20)}, NULL, 0, 0, 0},
	{"instants and what references order are no roots",
	 {S("s/a", 0, 0, 100), S("s/b", 0, 10, 10, .flags = SPANF_POINT),
	  S("s/c", 0, 20, 30, .after = 1)},
	 NULL, 0, 0, 0},
	{"the last end was not seen",
	 {S("s/a", 0, 0, 20), S("s/b", 0, 30, 30, .flags = SPANF_OPEN), S("s/c", 2, 40, 90)},
	 "(no root)/request> s/a> s/a< s/b> s/c> s/c< s/b< (no root)/request<", 90, 1, 0},
};

static void row_make(struct made *m, const struct row *row)
{
	for (uint64_t i = 0; i < 5 && row->spans[i].point; i++) {
		uint64_t twin = row->spans[i].twin;
		struct span *span = made_span(m, twin ? twin : i + 1, row->spans[i].parent,
					      row->spans[i].point, row->spans[i].begin,
					      row->spans[i].end);

		span->flags = (uint8_t)row->spans[i].flags;
		span->kind = (uint8_t)row->spans[i].kind;
		if (row->spans[i].after)
			made_ref(m, row->spans[i].after, SPAN_REF_AFTER);
	}
}

static void row_check(const struct row *row, uint64_t seed)
{
	struct stand_in_stats stats = {0};
	const struct trace *trace;
	struct made m = {0};
	struct trace whole;

	row_make(&m, row);
	if (seed)
		made_shuffle(&m, seed);
	trace = made_trace(&m);
	stand_in(trace, &m.strings, &m.arena, &stats, &whole);
	EQ_U(stats.trace_cnt, row->steps != NULL);
	EQ_U(stats.extra_root_cnt, row->extra_roots);
	EQ_U(stats.orphan_cnt, row->orphans);
	EQ_U(stats.rootless_cnt, row->orphans != 0);
	if (!row->steps) {
		OK(whole.spans == trace->spans);
		EQ_U(whole.span_cnt, trace->span_cnt);
	} else {
		EQ_I(graph_build(&whole, &m.points, &m.strings, &m.arena, &m.graph, &m.stats), 0);
		EQ_I(critical_path(&m.graph, &m.points, &m.arena, &m.path), 0);
		EQ_S(made_steps(&m), row->steps);
		EQ_I(m.path.total_ns, row->total);
		EQ_U(m.stats.extra_root_cnt + m.stats.orphan_cnt + m.stats.rootless_cnt, 0);
	}
	made_release(&m);
}

TEST(stand_in_is_put_over_several_roots)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ROW(i);
		for (uint64_t seed = 0; seed < 8; seed++)
			row_check(&rows[i], seed);
	}
}

/* So that a command that asks first for a page is not taken for the page. */
TEST(stand_in_makes_a_type_of_its_own)
{
	uint64_t hashes[2];

	for (int roots = 1; roots <= 2; roots++) {
		struct stand_in_stats stats = {0};
		struct made m = {0};
		struct trace whole;

		made_span(&m, 1, 0, "front/GET page", 0, 10);
		if (roots == 2)
			made_span(&m, 2, 0, "front/GET other", 20, 30);
		stand_in(made_trace(&m), &m.strings, &m.arena, &stats, &whole);
		EQ_I(graph_build(&whole, &m.points, &m.strings, &m.arena, &m.graph, &m.stats), 0);
		EQ_S(strtab_str(&m.strings, m.graph.type_detail), roots == 2 ? "GET page" : "");
		hashes[roots - 1] = m.graph.type_hash;
		made_release(&m);
	}
	OK(hashes[0] != hashes[1]);
}
