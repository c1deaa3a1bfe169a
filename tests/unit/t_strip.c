/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/graph/span_ends.h"
#include "requests/graph/mask.h"

#include <stdlib.h>

#include "trace_make.h"
#include "unit.h"

/* What of name the list has on: "ab>c<" is all of a, the begin of b and the end of c. */
static uint8_t sides_in(const char *on, const char *name)
{
	const char *at = strpbrk(on, name);

	if (!at)
		return 0;
	return at[1] == '>' ? SIDE_BEGIN : at[1] == '<' ? SIDE_END : SIDES_BOTH;
}

/* Of m without the tracepoints that are not in the list. */
static void strip_to(struct made *m, const char *on, struct made *ret)
{
	struct trace stripped;
	uint8_t *flags;

	strip_points(made_trace(m), &m->points, &m->strings);
	flags = calloc(m->points.items.cnt, sizeof(*flags));
	for (size_t i = 0; i < m->points.items.cnt; i++)
		flags[i] = sides_in(on, strtab_str(&m->strings, m->points.items.items[i].name));
	trace_strip(&m->trace, flags, &m->points, &m->strings, &m->arena, &stripped);
	free(flags);
	*ret = *m;
	ret->stats = (struct graph_stats){0};
	EQ_I(graph_build(&stripped, &ret->points, &ret->strings, &ret->arena, &ret->graph,
			 &ret->stats), 0);
	EQ_I(critical_path(&ret->graph, &ret->points, &ret->arena, &ret->path), 0);
}

static void tree_make(struct made *m)
{
	made_span(m, 1, 0, "s/a", 1000, 1100);
	made_span(m, 2, 1, "s/b", 1010, 1060);
	made_span(m, 3, 2, "s/c", 1020, 1040);
	made_span(m, 4, 1, "s/d", 1070, 1090);
}

TEST(strip_hands_children_up)
{
	static const struct {
		const char *on, *steps;
	} table[] = {
		{"abcd", "s/a> s/b> s/c> s/c< s/b< s/d> s/d< s/a<"},
		{"acd", "s/a> s/c> s/c< s/d> s/d< s/a<"},
		{"c", "s/a> s/c> s/c< s/a<"},
		{"a", "s/a> s/a<"},
		{"x", "s/a> s/a<"},
		{"b>", "s/a> s/b> s/a<"},
		{"b<", "s/a> s/b< s/a<"},
		{"b>c", "s/a> s/b> s/c> s/c< s/a<"},
		{"b<c", "s/a> s/c> s/c< s/b< s/a<"},
		{"b>c<d>", "s/a> s/b> s/c< s/d> s/a<"},
		{"bc>d<", "s/a> s/b> s/c> s/b< s/d< s/a<"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct made m = {0}, seen;

		ROW(i);
		tree_make(&m);
		strip_to(&m, table[i].on, &seen);
		EQ_S(made_steps(&seen), table[i].steps);
		EQ_I(seen.path.total_ns, 100);
		EQ_U(seen.stats.orphan_cnt, 0);
		made_release(&seen);	/* holds what m did */
	}
}

/* The order of what happens at one instant is that of the whole. */
TEST(strip_keeps_the_order_of_one_instant)
{
	static const struct {
		const char *on, *steps;
	} table[] = {
		{"abcd", "s/a> s/b> s/c> s/c< s/b< s/d> s/d< s/a<"},
		{"b>c", "s/a> s/b> s/c> s/c< s/a<"},
		{"b<c<d>", "s/a> s/c< s/b< s/d> s/a<"},
		{"b<d>c>", "s/a> s/c> s/b< s/d> s/a<"},
		{"b<d", "s/a> s/b< s/d> s/d< s/a<"},
		{"d<", "s/a> s/d< s/a<"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct made m = {0}, seen;

		ROW(i);
		made_span(&m, 1, 0, "s/a", 1000, 1100);
		made_span(&m, 2, 1, "s/b", 1010, 1060);
		made_span(&m, 3, 2, "s/c", 1010, 1060);
		made_span(&m, 4, 1, "s/d", 1060, 1100);
		strip_to(&m, table[i].on, &seen);
		EQ_S(made_steps(&seen), table[i].steps);
		made_release(&seen);
	}
}

/* What is ordered by references alone is no child of the root, whichever side of it is seen. */
TEST(strip_keeps_references_of_a_side)
{
	static const struct {
		const char *on, *steps;
	} table[] = {
		{"abcdef", "s/a> s/b> s/e> s/e< s/c> s/c< s/d< s/a<"},
		{"bdec<", "s/a> s/b> s/e> s/e< s/c< s/d< s/a<"},
		{"bdec>", "s/a> s/b> s/e> s/e< s/c> s/d< s/a<"},
		{"bde<c<", "s/a> s/b> s/e< s/c< s/d< s/a<"},
		{"bdc<", "s/a> s/b> s/c< s/d< s/a<"},
		{"bdf<", "s/a> s/d> s/d< s/a<"},
		{"bdf>", "s/a> s/d> s/d< s/a<"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct made m = {0}, seen;

		ROW(i);
		made_span(&m, 1, 0, "s/a", 1000, 1100);
		made_span(&m, 2, 1, "s/b", 1010, 1060);
		made_span(&m, 3, 2, "s/e", 1020, 1040);
		made_span(&m, 4, 1, "s/d", 1005, 1090);
		made_span(&m, 5, 4, "s/c", 1050, 1080);
		made_ref(&m, 3, SPAN_REF_AFTER);
		made_span(&m, 6, 0, "s/f", 1062, 1095);
		made_ref(&m, 3, SPAN_REF_AFTER);
		strip_to(&m, table[i].on, &seen);
		EQ_S(made_steps(&seen), table[i].steps);
		EQ_I(seen.path.total_ns, 100);
		made_release(&seen);
	}
}
