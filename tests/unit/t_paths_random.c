/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many small random traces, with times so few that most of them tie: against
 * a slow reference that follows the rules word by word, and what must hold of
 * any trace.
 */
#include <stdlib.h>

#include "requests/graph/span_ends.h"
#include "requests/graph/mask.h"
#include "trace_make.h"
#include "unit.h"

struct dice {
	uint64_t state;
};

static uint32_t roll(struct dice *d, uint32_t sides)
{
	d->state = hash_u64(d->state + 0x9e3779b97f4a7c15);
	return (uint32_t)(d->state >> 32) % sides;
}

static void tree_make(struct made *m, struct dice *d, bool orphans)
{
	static const char *const names[] = {"s/a", "s/b", "t/c", "t/d"};
	uint32_t cnt = 1 + roll(d, 14);

	for (uint32_t i = 0; i < cnt; i++) {
		int64_t begin = i ? roll(d, 12) : roll(d, 3);
		int64_t end = i ? begin + roll(d, 8) : 8 + roll(d, 12);
		uint64_t parent = i ? 1 + roll(d, i) : 0;
		struct span *span;

		if (orphans && i && !roll(d, 6))
			parent = 77;
		span = made_span(m, i + 1, parent, names[roll(d, 4)], begin, end);
		if (i && !roll(d, 6)) {
			span->flags |= SPANF_POINT;
			span->end_ns = begin;
		}
	}
}

static void anything_make(struct made *m, struct dice *d)
{
	tree_make(m, d, true);
	for (size_t i = 0; i < m->spans.cnt; i++) {
		struct span *span = &m->spans.items[i];
		struct span_ref ref = {.span = 1 + roll(d, 15), .kind = roll(d, 3)};

		span->host = roll(d, 3);
		span->kind = (uint8_t)roll(d, 6);
		span->begin_ns *= 600000;
		span->end_ns *= 600000;
		if (!roll(d, 5))
			span->parent = roll(d, 15);
		if (!roll(d, 8))
			span->id = 1 + roll(d, 14);
		if (!roll(d, 8))
			span->flags |= SPANF_OPEN;
		if (!roll(d, 8))
			span->flags |= SPANF_SHARED;
		span->ref_idx = (uint32_t)m->refs.cnt;
		if (roll(d, 3))
			continue;
		vec_push(&m->refs, ref);
		span->ref_cnt = 1;
	}
}

/* The reference: spans cut at their parents, then from each end back to its begin. */
struct slow {
	const struct made *m;
	struct span span[16];
	uint64_t hash[16];
	int parent[16];
	bool async[16];
	int cnt;
	struct csection sections[64];
	int section_cnt;
};

static bool slow_before(const struct slow *s, int a, int b)
{
	const struct span *x = &s->span[a], *y = &s->span[b];

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns;
	if (s->hash[a] != s->hash[b])
		return s->hash[a] < s->hash[b];
	return x->id < y->id;
}

static void slow_cut(struct slow *s)
{
	for (int i = 1; i < s->cnt; i++) {	/* parents have smaller numbers */
		const struct span *parent = &s->span[s->parent[i]];
		struct span *span = &s->span[i];

		s->async[i] = span->begin_ns > parent->end_ns ||
			      (span->begin_ns == parent->end_ns &&
			       span->end_ns > span->begin_ns) ||
			      parent->flags & SPANF_POINT;
		if (span->begin_ns < parent->begin_ns)
			span->begin_ns = parent->begin_ns;
		if (!s->async[i] && span->end_ns > parent->end_ns)
			span->end_ns = parent->end_ns;
		if (span->end_ns < span->begin_ns)
			span->end_ns = span->begin_ns;
	}
}

static void slow_section(struct slow *s, int span, int64_t begin, int64_t end)
{
	struct csection *last = s->sections + (s->section_cnt ? s->section_cnt - 1 : 0);

	if (begin == end)
		return;
	if (s->section_cnt && last->span == (uint32_t)span && last->begin_ns == end)
		last->begin_ns = begin;
	else
		s->sections[s->section_cnt++] = (struct csection){(uint32_t)span, begin, end};
}

static void slow_walk(struct slow *s, int span)
{
	int64_t at = s->span[span].end_ns;
	int last = -1;

	for (;;) {
		int best = -1;

		for (int i = 1; i < s->cnt; i++) {
			if (s->parent[i] != span || s->async[i] || s->span[i].end_ns > at ||
			    (last >= 0 && !slow_before(s, i, last)))
				continue;
			if (best < 0 || s->span[i].end_ns > s->span[best].end_ns ||
			    (s->span[i].end_ns == s->span[best].end_ns && slow_before(s, best, i)))
				best = i;
		}
		if (best < 0)
			break;
		slow_section(s, span, s->span[best].end_ns, at);
		slow_walk(s, best);
		at = s->span[best].begin_ns;
		last = best;
	}
	slow_section(s, span, s->span[span].begin_ns, at);
}

static void slow_make(struct slow *s, const struct made *m)
{
	*s = (struct slow){.m = m, .cnt = (int)m->spans.cnt};
	for (int i = 0; i < s->cnt; i++) {
		s->span[i] = m->spans.items[i];
		s->hash[i] = point_hash(strtab_str(&m->strings, s->span[i].service),
					strtab_str(&m->strings, s->span[i].name));
		s->parent[i] = s->span[i].parent && s->span[i].parent <= (uint64_t)s->cnt
				       ? (int)s->span[i].parent - 1 : 0;
	}
	slow_cut(s);
	slow_walk(s, 0);
}

TEST(paths_as_the_slow_reference)
{
	struct made m = {0};
	struct dice d = {1};

	for (int round = 0; round < 20000; round++) {
		const struct csection *sections;
		struct slow slow;
		int64_t base;
		size_t cnt;

		ROW(round);
		made_clear(&m);
		tree_make(&m, &d, true);
		slow_make(&slow, &m);
		made_path(&m);
		OK(made_same_quick(&m, NULL));
		sections = critical_sections(&m.path, &m.arena, &cnt);
		EQ_U(cnt, slow.section_cnt);
		base = slow.span[0].begin_ns;
		for (size_t i = 0; i < cnt; i++) {
			const struct csection *want = &slow.sections[cnt - 1 - i];

			EQ_U(sections[i].span, want->span);
			EQ_I(sections[i].begin_ns + base, want->begin_ns);
			EQ_I(sections[i].end_ns + base, want->end_ns);
		}
	}
	made_release(&m);
}

static void graph_is_sound(const struct made *m)
{
	const struct graph *g = &m->graph;
	int64_t sum = 0;

	for (uint32_t i = 0; i < g->node_cnt; i++) {
		OK(!i || g->nodes[i].at_ns >= g->nodes[i - 1].at_ns || g->nodes[i].at_ns < 0);
		OK(g->nodes[i].pred_cnt || i == g->start);
		for (uint32_t p = 0; p < g->nodes[i].pred_cnt; p++)
			OK(g->preds[g->nodes[i].pred_idx + p] < i);
	}
	for (uint32_t i = 0; i < m->path.step_cnt; i++) {
		OK(m->path.steps[i].edge_ns >= 0);
		sum += m->path.steps[i].edge_ns;
	}
	EQ_I(sum, m->path.total_ns);
	EQ_I(g->nodes[g->start].at_ns, 0);
}

TEST(paths_of_anything_are_sound_and_know_no_order)
{
	struct made m = {0};
	struct dice d = {2};
	int quick = 0;

	for (int round = 0; round < 20000; round++) {
		struct cpath first;
		const char *steps;

		ROW(round);
		made_clear(&m);
		anything_make(&m, &d);
		made_path(&m);
		graph_is_sound(&m);
		first = m.path;
		steps = made_steps(&m);
		for (int again = 0; again < 3; again++) {
			made_shuffle(&m, d.state + (uint64_t)again);
			made_path(&m);
			quick += made_same_quick(&m, NULL);
			EQ_S(made_steps(&m), steps);
			EQ_I(m.path.total_ns, first.total_ns);
			for (uint32_t i = 0; i < first.step_cnt; i++)
				EQ_I(m.path.steps[i].edge_ns, first.steps[i].edge_ns);
			for (int level = 0; level < CSHAPE_CNT; level++)
				EQ_U(m.path.shape[level], first.shape[level]);
		}
	}
	OK(quick > 1000 && quick < 59000);
	made_release(&m);
}

/* More children than a join keeps, and values of keys as parts of the path. */
TEST(paths_without_graph_are_the_same)
{
	struct made m = {0};
	struct dice d = {7};
	int quick = 0;

	for (int round = 0; round < 5000; round++) {
		uint32_t cnt = 1 + roll(&d, 60), near = 1 + roll(&d, 60), times = 4 + roll(&d, 90);
		uint64_t bins[64] = {0};

		ROW(round);
		made_clear(&m);
		for (uint32_t i = 0; i < cnt; i++) {
			uint64_t parent = i ? 1 + roll(&d, i < near ? i : near) : 0;
			int64_t begin = roll(&d, times);

			made_span(&m, i + 1, parent, roll(&d, 2) ? "s/a" : "t/b", begin,
				  begin + (i ? roll(&d, times) : times))->kind =
				(uint8_t)roll(&d, 6);
			if (!roll(&d, 9))
				vec_last(&m.spans)->flags |= SPANF_POINT;
			if (!roll(&d, 4))
				bins[i] = 1 + roll(&d, 3);
		}
		made_shuffle(&m, d.state);
		made_path(&m);
		quick += made_same_quick(&m, roll(&d, 2) ? bins : NULL);
	}
	OK(quick > 1000 && quick < 4500);
	made_release(&m);
}

/* Of trace, with what on has; m's graph and path are of that. */
static void strip_sides(struct made *m, const struct trace *trace, const uint8_t *on,
			struct trace *ret)
{
	OK(m->points.items.cnt <= 64);
	trace_strip(trace, on, &m->points, &m->strings, &m->arena, ret);
	EQ_I(graph_build(ret, &m->points, &m->strings, &m->arena, &m->graph, &m->stats), 0);
	EQ_I(critical_path(&m->graph, &m->points, &m->arena, &m->path), 0);
}

/* Of what is in m, with the tracepoints that bits has on. */
static void strip(struct made *m, uint64_t bits)
{
	struct trace stripped;
	uint8_t on[64];

	for (size_t i = 0; i < 64; i++)
		on[i] = bits >> i & 1 ? SIDES_BOTH : 0;
	strip_sides(m, &m->trace, on, &stripped);
}

/* Some sides of everything. */
static void sides_roll(struct dice *d, uint8_t *on)
{
	for (size_t i = 0; i < 64; i++)
		on[i] = (uint8_t)roll(d, SIDES_BOTH + 1);
}

/* Events by references alone, with clocks that contradict them. */
static void events_make(struct made *m, struct dice *d)
{
	static const char *const names[] = {"s/a", "s/b", "t/c", "t/d"};
	uint32_t cnt = 1 + roll(d, 20);

	for (uint32_t i = 0; i < cnt; i++) {
		int64_t at = roll(d, 4) ? 2 * i : roll(d, 30);

		made_span(m, i + 1, 0, names[roll(d, 4)], i ? at : 0, 0)->flags = SPANF_POINT;
		for (uint32_t r = i ? 1 + roll(d, 3) : 0; r > 0; r--)
			made_ref(m, 1 + roll(d, i), SPAN_REF_AFTER);
	}
}

TEST(strip_of_events)
{
	struct made m = {0};
	struct dice d = {4};

	for (int round = 0; round < 20000; round++) {
		struct cpath first;
		uint64_t torn;

		ROW(round);
		made_clear(&m);
		events_make(&m, &d);
		made_path(&m);
		graph_is_sound(&m);
		EQ_U(m.stats.cycle_cnt + m.stats.ref_lost_cnt, 0);
		first = m.path;
		torn = m.stats.raised_cnt;
		strip(&m, UINT64_MAX);
		if (!torn)
			EQ_U(m.path.hash, first.hash);
		EQ_I(m.path.total_ns, first.total_ns);
		strip(&m, d.state);
		graph_is_sound(&m);
		EQ_I(m.path.total_ns, first.total_ns);
		strip(&m, 0);
		EQ_U(m.path.step_cnt, first.step_cnt > 1 ? 2 : 1);
		EQ_I(m.path.total_ns, first.total_ns);
	}
	made_release(&m);
}

TEST(strip_of_anything)
{
	struct made m = {0};
	struct dice d = {3};

	for (int round = 0; round < 20000; round++) {
		uint64_t bits = d.state, torn;
		struct cpath first;
		struct graph graph;

		ROW(round);
		made_clear(&m);
		anything_make(&m, &d);
		made_path(&m);
		first = m.path;
		graph = m.graph;
		/* What cannot be written down: cut rings, order before times rose, old ids. */
		torn = m.stats.cycle_cnt + m.stats.raised_cnt + m.stats.same_id_cnt +
		       m.stats.shared_cnt;
		strip(&m, UINT64_MAX);
		if (!torn)
			EQ_U(m.path.hash, first.hash);
		EQ_I(m.path.total_ns, first.total_ns);
		for (uint32_t i = 0; !torn && i < first.step_cnt; i++)
			EQ_I(m.path.steps[i].edge_ns, first.steps[i].edge_ns);
		strip(&m, bits);
		graph_is_sound(&m);
		EQ_I(m.path.total_ns, first.total_ns);
		EQ_U(m.graph.type_hash, graph.type_hash);
		strip(&m, 0);
		EQ_I(m.path.total_ns, first.total_ns);
		OK(m.graph.node_cnt <= 6);
	}
	made_release(&m);
}

/* Once to some sides, and by way of more of them; false: another path is seen then. */
static bool strip_twice(struct made *m, struct dice *d)
{
	uint8_t some[64], more[64];
	struct trace once, first, twice;
	struct cpath path;

	made_path(m);
	path = m->path;
	sides_roll(d, some);
	sides_roll(d, more);
	for (size_t i = 0; i < 64; i++)
		more[i] |= some[i];
	strip_sides(m, &m->trace, some, &once);
	graph_is_sound(m);
	EQ_I(m->path.total_ns, path.total_ns);
	path = m->path;
	strip_sides(m, &m->trace, more, &first);
	strip_sides(m, &first, some, &twice);
	graph_is_sound(m);
	EQ_I(m->path.total_ns, path.total_ns);
	return m->path.hash == path.hash;
}

/* What is seen of a request does not depend on what was seen of it before, for others. */
TEST(strip_of_sides)
{
	struct made m = {0};
	struct dice d = {5};
	uint32_t same = 0;

	for (int round = 0; round < 20000; round++) {
		ROW(round);
		made_clear(&m);
		tree_make(&m, &d, false);
		same += strip_twice(&m, &d);
	}
	/* Of two that end at one instant either may be the last. */
	OK(same > 19900);
	for (int round = 0; round < 20000; round++) {
		ROW(round);
		made_clear(&m);
		anything_make(&m, &d);
		same += strip_twice(&m, &d);
	}
	/* Nor can all that is wrong with a trace be told from what is left of it. */
	OK(same > 39400);
	made_release(&m);
}
