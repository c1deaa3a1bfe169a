/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/strip.h"

#include <stdlib.h>

#include "trace_make.h"
#include "unit.h"

/* Of m without the tracepoints whose names are not among the letters of on. */
static void strip_to(struct made *m, const char *on, struct made *ret)
{
	struct trace stripped;
	bool *flags;

	strip_points(made_trace(m), &m->points, &m->strings);
	flags = calloc(m->points.items.cnt, sizeof(*flags));
	for (size_t i = 0; i < m->points.items.cnt; i++)
		flags[i] = strpbrk(strtab_str(&m->strings, m->points.items.items[i].name), on);
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
