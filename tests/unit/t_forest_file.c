/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <math.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "trace/points.h"
#include "report/forest/forest_out.h"
#include "report/lines/pen.h"
#include "requests/stats/attr_bins.h"
#include "requests/forest/evidence.h"
#include "requests/forest/forest_file.h"
#include "requests/graph/span_ends.h"

/* A process' own numbers of texts and tracepoints, and a forest in them. */
struct world {
	struct strtab strings;
	struct points points;
	struct arena arena;
	struct forest forest;
};

static uint32_t point(struct world *w, const char *service, const char *name)
{
	uint32_t s = strtab_add(&w->strings, service), n = strtab_add(&w->strings, name);

	return points_add(&w->points, &w->strings, s, n);
}

static void world_release(struct world *w)
{
	strtab_release(&w->strings);
	points_release(&w->points);
	arena_release(&w->arena);
}

static struct forest_times times(uint64_t cnt, double mean_ns)
{
	struct forest_times t = {.cnt = cnt, .mean_ns = mean_ns, .sd_ns = mean_ns / 10,
				 .min_ns = mean_ns / 2, .max_ns = mean_ns * 2};

	t.buckets[20] = (uint32_t)cnt - 1;
	t.buckets[63] = 1;
	return t;
}

static const struct forest_group *group(struct world *w, uint64_t hash, uint64_t cnt,
					double mean_ns)
{
	struct forest_group *g = ARENA_NEW(&w->arena, struct forest_group);
	struct forest_edge *e = ARENA_ARRAY(&w->arena, struct forest_edge, 2);
	struct path_bin *bin = ARENA_NEW(&w->arena, struct path_bin);

	e[0] = (struct forest_edge){.from = {point(w, "shop", "order"), 0},
				    .to = {point(w, "stock", "take"), 0},
				    .owner = FOREST_NONE, .hidden_cnt = 3, .share_time = 0.25,
				    .share_variance = 0.75, .share_low = -INFINITY,
				    .share_high = INFINITY, .usual_ns = -1,
				    .times = times(cnt, mean_ns / 4)};
	e[1] = (struct forest_edge){.from = e[0].to, .to = {e[0].from.point, 1},
				    .owner = e[0].from.point, .share_time = 0.75,
				    .share_variance = 0.25, .usual_ns = 5,
				    .times = times(cnt, mean_ns * 3 / 4)};
	bin->point = e[0].to.point;
	bin->label = strtab_add(&w->strings, "waiters<4");
	*g = (struct forest_group){.hash = hash, .edges = e, .edge_cnt = 2, .variable = true,
				   .bins = bin, .bin_cnt = 1,
				   .representative = {1, 2}, .fastest = {0, 3}, .slowest = {4, 5},
				   .times = times(cnt, mean_ns)};
	return g;
}

static void forest_of(struct world *w, uint64_t cnt, const char *third)
{
	struct forest_tree *t = ARENA_NEW(&w->arena, struct forest_tree);
	struct forest_node *n = ARENA_ARRAY(&w->arena, struct forest_node, 3);
	struct forest_key *k = ARENA_NEW(&w->arena, struct forest_key);
	struct forest_decision *d = ARENA_NEW(&w->arena, struct forest_decision);
	uint32_t root = point(w, "shop", "order"), tried = point(w, "stock", third);

	*k = (struct forest_key){.point = tried, .key = strtab_add(&w->strings, "waiters"),
				 .numeric = true, .strength = 0.85, .p = 1e-5, .q = 1e-4,
				 .cnt = cnt};
	for (uint32_t i = 0; i < 3; i++)
		n[i] = (struct forest_node){.parent = i ? 0 : FOREST_NONE,
					    .point = i ? tried : root,
					    .present = i != 2, .other = i ? 3 - i : FOREST_NONE,
					    .round = i > 0, .trace_cnt = cnt >> (i > 0),
					    .mean_ns = 1e6, .cv = 0.5, .explained = 0.25,
					    .other_trace_cnt = 5, .refused_cnt = 6,
					    .edge_over_cnt = 7,
					    .groups = group(w, 77 + i, cnt, 1e6), .group_cnt = 1,
					    .keys = k, .key_cnt = i == 1};
	*t = (struct forest_tree){.type = 99, .point = root, .node_cnt = 3, .nodes = n,
				  .trace_cnt = cnt, .explained = 0.25};
	*d = (struct forest_decision){.kind = DECIDE_ON, .round = 1, .point = tried, .node = 0,
				      .from = {root, 0}, .to = {root, 1}, .owner = FOREST_NONE,
				      .group = 77, .trace_cnt = (uint32_t)cnt, .cv = 0.5,
				      .usual_ns = -1, .p = 0.01, .why = "half of it \"varies\""};
	w->forest = (struct forest){.trees = t, .tree_cnt = 1, .decisions = d, .decision_cnt = 1,
				    .round = 1, .fingerprint = 4711};
}

static void pack(const struct world *w, struct buf *out)
{
	buf_clear(out);
	forest_write(&w->forest, &w->points, &w->strings, out);
}

static int unpack(struct world *w, const struct buf *in, struct err *err)
{
	return forest_read(in->data, in->len, &w->points, &w->strings, &w->arena, &w->forest, err);
}

TEST(forest_file_same_in_another_process)
{
	struct world a = {0}, b = {0};
	struct buf one = {0}, two = {0};
	struct err err = {0};
	const struct forest_node *n;

	forest_of(&a, 100, "lock");
	point(&b, "something", "else");
	strtab_add(&b.strings, "waiters");
	pack(&a, &one);
	EQ_I(unpack(&b, &one, &err), 0);
	pack(&b, &two);
	EQ_U(one.len, two.len);
	OK(memcmp(one.data, two.data, one.len) == 0);
	n = &b.forest.trees[0].nodes[1];
	EQ_S(strtab_str(&b.strings, b.points.items.items[n->point].name), "lock");
	EQ_S(strtab_str(&b.strings, n->keys[0].key), "waiters");
	EQ_U(n->groups[0].times.buckets[63], 1);
	OK(isinf(n->groups[0].edges[0].share_low));
	EQ_U(n->groups[0].edges[0].owner, FOREST_NONE);
	EQ_S(b.forest.decisions[0].why, "half of it \"varies\"");
	buf_release(&one);
	buf_release(&two);
	world_release(&a);
	world_release(&b);
}

TEST(forest_file_damage_is_seen)
{
	struct world a = {0}, b = {0};
	struct buf one = {0};
	struct err err = {0};

	forest_of(&a, 100, "lock");
	pack(&a, &one);
	for (size_t i = 0; i < one.len; i++) {
		struct buf cut = {.data = one.data, .len = i};

		ROW(i);
		OK(unpack(&b, &cut, &err) < 0);
		one.data[i] ^= 0x40;
		OK(unpack(&b, &one, &err) < 0);
		one.data[i] ^= 0x40;
	}
	OK(forest_read("heldup-forest 5\n12345678", 24, &b.points, &b.strings, &b.arena, &b.forest,
		       &err) < 0);
	EQ_S(err.msg, "version 5 of a forest, known is 4");
	OK(forest_read("heldup-space 1\n", 15, &b.points, &b.strings, &b.arena, &b.forest,
		       &err) < 0);
	EQ_S(err.msg, "offset 0: expected 'heldup-forest 4', found something else: "
	     "not a file of heldup's with a forest in it");
	EQ_U(b.forest.tree_cnt, 0);
	buf_release(&one);
	world_release(&a);
	world_release(&b);
}

TEST(forest_merge_same_hypothesis_adds)
{
	struct world w = {0};
	struct forest first, both;
	const struct forest_tree *t;

	forest_of(&w, 100, "lock");
	first = w.forest;
	forest_of(&w, 300, "lock");
	forest_merge(&first, &w.forest, &w.points, &w.strings, &w.arena, &both);
	EQ_U(both.tree_cnt, 1);
	EQ_U(both.round, 2);
	EQ_U(both.decision_cnt, 2);
	EQ_U(both.decisions[1].round, 2);
	t = &both.trees[0];
	EQ_U(t->node_cnt, 3);
	EQ_U(t->trace_cnt, 400);
	EQ_U(t->nodes[1].trace_cnt, 200);
	EQ_U(t->nodes[1].other, 2);
	EQ_U(t->nodes[1].refused_cnt, 12);
	EQ_U(t->nodes[1].edge_over_cnt, 14);
	EQ_U(t->nodes[0].group_cnt, 1);
	EQ_U(t->nodes[0].groups[0].times.cnt, 400);
	EQ_U(t->nodes[0].groups[0].times.buckets[20], 398);
	EQ_U(t->nodes[0].groups[0].edges[1].times.cnt, 400);
	EQ_U(t->nodes[1].keys[0].cnt, 300);
	world_release(&w);
}

TEST(forest_merge_other_hypothesis_is_added)
{
	struct world w = {0};
	struct forest first, both;
	const struct forest_tree *t;
	struct buf bytes = {0};
	struct err err = {0};

	forest_of(&w, 100, "lock");
	first = w.forest;
	forest_of(&w, 300, "fetch");
	forest_merge(&first, &w.forest, &w.points, &w.strings, &w.arena, &both);
	t = &both.trees[0];
	EQ_U(t->node_cnt, 5);
	EQ_U(t->nodes[3].parent, 0);
	EQ_U(t->nodes[3].other, 4);
	EQ_U(t->nodes[4].other, 3);
	EQ_U(t->nodes[3].round, 2);
	EQ_U(both.decisions[1].node, 0);
	w.forest = both;
	pack(&w, &bytes);
	EQ_I(unpack(&w, &bytes, &err), 0);
	buf_release(&bytes);
	world_release(&w);
}

/* Each side of a tracepoint goes on and off for itself. */
TEST(forest_sights_of_sides)
{
	static const struct {
		uint32_t cnt, seen, sides, by;
	} table[] = {
		{0, FOREST_SEEN_NOT, 0, FOREST_NONE},
		{1, FOREST_SEEN_ON, SIDE_BEGIN, 0},
		{2, FOREST_SEEN_ON, SIDES_BOTH, 1},
		{3, FOREST_SEEN_ON, SIDE_BEGIN, 0},
		{4, FOREST_SEEN_OFF, SIDES_BOTH, 3},
		{5, FOREST_SEEN_ON, SIDE_END, 4},
		{6, FOREST_SEEN_ON, SIDES_BOTH, 5},
	};
	static const struct forest_decision decisions[] = {
		{.kind = DECIDE_ON, .sides = SIDE_BEGIN},
		{.kind = DECIDE_ON, .sides = SIDE_END},
		{.kind = DECIDE_OFF, .sides = SIDE_END},
		{.kind = DECIDE_OFF, .sides = SIDE_BEGIN},
		{.kind = DECIDE_ON, .sides = SIDE_END},
		{.kind = DECIDE_ON, .sides = SIDES_BOTH},
	};
	struct forest_tree tree = {.point = 1};
	struct arena arena = {0};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct forest f = {.trees = &tree, .tree_cnt = 1, .decisions = decisions,
				   .decision_cnt = table[i].cnt};
		const struct forest_sight *s = forest_sights(&f, 0, 2, &arena);

		ROW(i);
		EQ_U(s[0].seen, table[i].seen);
		EQ_U(s[0].sides, table[i].sides);
		OK(s[0].by == (table[i].by == FOREST_NONE ? NULL : &decisions[table[i].by]));
		EQ_U(s[1].seen, FOREST_SEEN_ALWAYS);
	}
	arena_release(&arena);
}

static void forest_words(struct world *w, struct buf *text, struct buf *data)
{
	struct forest_view v = {.f = &w->forest, .points = &w->points, .strings = &w->strings,
				.path = "forest"};
	struct pen pen = {.out = text, .columns = 100};
	struct json j;

	forest_text(&v, &pen);
	json_init(&j, data, JSON_COMPACT);
	forest_object(&v, &j);
	json_finish(&j);
}

/* Each of the three nodes has 5, 6 and 7 of them; then none has any. */
TEST(forest_says_what_its_nodes_left_out)
{
	struct world w = {0};
	struct buf text = {0}, data = {0};

	forest_of(&w, 100, "lock");
	forest_words(&w, &text, &data);
	HAS(buf_str(&text), "15 requests on paths over the bound");
	HAS(buf_str(&text), "18 requests without an edge on their path");
	HAS(buf_str(&text), "21 edges over the bound on kinds");
	HAS(buf_str(&data), "\"requests_left_out\":6,\"edges_over_bound\":7,");
	for (uint32_t i = 0; i < 3; i++) {
		struct forest_node *n = (struct forest_node *)&w.forest.trees[0].nodes[i];

		n->other_trace_cnt = n->refused_cnt = n->edge_over_cnt = 0;
	}
	buf_clear(&text);
	forest_words(&w, &text, &data);
	OK(!strstr(buf_str(&text), "not seen"));
	buf_release(&text);
	buf_release(&data);
	world_release(&w);
}

TEST(evidence_counts_edges_over_the_bound)
{
	struct world w = {0};
	struct evidence e = {0};
	struct forest_event from = {point(&w, "shop", "order"), 0}, to = from;

	evidence_begin(&e, &w.points, from, to, 0, SIDES_BOTH);
	for (to.kind = 1; to.kind <= EVIDENCE_CLASSES_MAX + 3; to.kind++)
		OK((evidence_class(&e, from, to, FOREST_NONE) == UINT32_MAX) ==
		   (to.kind > EVIDENCE_CLASSES_MAX));
	EQ_U(e.class_dropped_cnt, 3);
	evidence_release(&e);
	world_release(&w);
}
