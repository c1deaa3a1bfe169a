/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/search/control.h"
#include "requests/graph/graph.h"
#include "requests/forest/space.h"
#include "requests/graph/mask.h"
#include "trace_make.h"
#include "unit.h"

/*
 * A chain of calls one after the other under "top", each with a call inside:
 * a, a2 in it, b, b2 in it ...  One of the spans is slow.
 */
enum { CALLS = 8 };

struct plan {
	const char *slow;	/* tracepoint, or NULL */
	int64_t by_us;		/* at most; drawn for each trace */
};

static uint64_t draw(uint64_t id, uint64_t what)
{
	return hash_pair(id, what);
}

static void call(struct made *m, uint64_t id, char letter, int64_t *at_us, const struct plan *p)
{
	char outer[8] = "s/?", inner[8] = "s/?2";
	int64_t begin = *at_us, work, slow;
	uint64_t own = m->spans.cnt + 1;

	outer[2] = inner[2] = letter;
	slow = p->slow ? (int64_t)(draw(id, 99) % (uint64_t)p->by_us) : 0;
	work = 50 + (int64_t)(draw(id, (uint64_t)letter) % 20);
	made_span(m, own, 1, outer, 0, 0);
	*at_us += work + (p->slow && !strcmp(p->slow, outer) ? slow : 0);
	made_span(m, own + 1, own, inner, *at_us * 1000, 0);
	*at_us += work + (p->slow && !strcmp(p->slow, inner) ? slow : 0);
	m->spans.items[own].end_ns = *at_us * 1000;
	*at_us += 10;
	m->spans.items[own - 1].begin_ns = begin * 1000;
	m->spans.items[own - 1].end_ns = *at_us * 1000;
	*at_us += 5;
}

static const struct trace *chain(struct made *m, uint64_t id, const struct plan *p)
{
	int64_t at_us = 20;

	made_clear(m);
	made_span(m, 1, 0, "s/top", 0, 0);
	for (int i = 0; i < CALLS; i++)
		call(m, id, (char)('a' + i), &at_us, p);
	m->spans.items[0].end_ns = at_us * 1000;
	made_trace(m);
	m->trace.id = (struct trace_id){0, id};
	return &m->trace;
}

static uint32_t point(struct made *m, const char *name)
{
	return points_add(&m->points, &m->strings, strtab_add(&m->strings, "s"),
			  strtab_add(&m->strings, name));
}

static struct space *learn(struct made *m)
{
	struct space *s = space_new(&m->points, &m->strings);
	struct plan none = {NULL, 1};

	for (uint64_t id = 1; id <= 100; id++)
		space_add(s, chain(m, id, &none));
	return s;
}

/* One round: cnt traces from id on, as what is on shows them; step -1: the last first. */
static void round_of(struct made *m, struct control *c, const struct plan *p, uint64_t id,
		     uint64_t cnt, bool backwards, struct control_round *ret)
{
	struct arena a = {0};
	uint8_t on[256] = {0};

	OK(m->points.items.cnt < 256);
	for (uint32_t i = 0; i < m->points.items.cnt; i++)
		on[i] = control_wants(c, i);
	for (uint64_t i = 0; i < cnt; i++) {
		struct trace seen;

		trace_strip(chain(m, id + (backwards ? cnt - 1 - i : i), p), on, &m->points,
			    &m->strings, &a, &seen);
		control_add(c, &seen);
		arena_clear(&a);
	}
	arena_release(&a);
	control_decide(c, ret);
}

/* Rounds until it has ended or found something; returns how many. */
static uint32_t search_run(struct made *m, struct control *c, const struct plan *p,
			   struct control_round *ret)
{
	uint32_t round = 0;

	do {
		round_of(m, c, p, 1000 + round * 100, 100, false, ret);
		round++;
	} while (!ret->finished && round < 40);
	return round;
}

/* Where the first was located, the decision has it in the same operation. */
static uint32_t decided_owner(struct control *c)
{
	struct arena a = {0};
	const struct forest *f = control_forest(c, &a);
	uint32_t i = 0, owner;

	while (i < f->decision_cnt && f->decisions[i].kind != DECIDE_LOCALISED)
		i++;
	owner = i < f->decision_cnt ? f->decisions[i].owner : FOREST_NONE;
	arena_release(&a);
	return owner;
}

/* Tracepoints switched on until each of the calls was found in its turn. */
static uint32_t calls_find(bool apart)
{
	struct control_opts o = {.apart = apart};
	struct made m = {0};
	struct space *s = learn(&m);
	uint32_t ever = 0;

	for (int i = 0; i < CALLS * 2; i++) {
		char name[8] = "s/?2";
		struct plan p = {name, 2000};
		struct control_counts cnt;
		struct control_round r;
		struct control *c = control_new(s, &o, &m.points, &m.strings);

		ROW(i);
		name[2] = (char)('a' + i / 2);
		name[3] = i % 2 ? '2' : '\0';
		search_run(&m, c, &p, &r);
		OK(r.finished);
		OK(r.located_cnt >= 1);
		EQ_U(r.located[0].from.point, point(&m, name + 2));
		EQ_U(r.located[0].from.kind, NODE_ENTRY);
		EQ_U(r.located[0].owner, r.located[0].from.point);
		EQ_U(decided_owner(c), r.located[0].owner);
		OK(r.located[0].score > 0.8);
		control_counts(c, &cnt);
		EQ_U(cnt.point_cnt, (CALLS * 2 + 1) * (apart ? 2 : 1));
		EQ_U(cnt.always_cnt, apart ? 2 : 1);
		ever += cnt.ever_cnt;
		control_free(c);
	}
	space_free(s);
	made_release(&m);
	return ever;
}

TEST(control_finds_each_slow_call_with_few_tracepoints)
{
	/* Of 16; the paper's binary search takes 4 to see both ends of one of 33 edges. */
	OK(calls_find(false) <= 4 * CALLS * 2);
	/* Of 32: an edge has two, and five halve 33. */
	OK(calls_find(true) <= 6 * CALLS * 2);
}

TEST(control_is_calm_when_nothing_is_slow)
{
	struct made m = {0};
	struct space *s = learn(&m);
	struct plan none = {NULL, 1};

	for (int i = 0; i < 2 * STRATEGIES; i++) {
		struct control_opts o = {.strategy = (enum strategy)(i / 2), .apart = i % 2};
		struct control *c = control_new(s, &o, &m.points, &m.strings);
		struct control_counts cnt;
		struct control_round r;

		ROW(i);
		for (uint64_t k = 0; k < 5; k++)
			round_of(&m, c, &none, 5000 + k * 100, 100, false, &r);
		OK(r.finished);
		EQ_U(r.located_cnt, 0);
		control_counts(c, &cnt);
		EQ_U(cnt.ever_cnt, 0);
		control_free(c);
	}
	space_free(s);
	made_release(&m);
}

static void forests_same(const struct forest *a, const struct forest *b)
{
	EQ_U(a->decision_cnt, b->decision_cnt);
	for (uint32_t i = 0; i < a->decision_cnt; i++) {
		ROW(i);
		EQ_S(a->decisions[i].why, b->decisions[i].why);
		EQ_U(a->decisions[i].point, b->decisions[i].point);
		OK(a->decisions[i].share_variance == b->decisions[i].share_variance);
	}
	EQ_U(a->trees[0].node_cnt, b->trees[0].node_cnt);
	for (uint32_t i = 0; i < a->trees[0].node_cnt; i++) {
		const struct forest_node *x = &a->trees[0].nodes[i], *y = &b->trees[0].nodes[i];

		ROW(i);
		EQ_U(x->group_cnt, y->group_cnt);
		OK(x->mean_ns == y->mean_ns && x->cv == y->cv && x->explained == y->explained);
		for (uint32_t g = 0; g < x->group_cnt; g++) {
			EQ_U(x->groups[g].hash, y->groups[g].hash);
			EQ_U(x->groups[g].representative.lo, y->groups[g].representative.lo);
			OK(x->groups[g].edges[0].share_low == y->groups[g].edges[0].share_low);
		}
	}
}

TEST(control_order_of_a_rounds_traces_changes_nothing)
{
	struct made m = {0};
	struct space *s = learn(&m);
	struct plan p = {"s/e2", 2000};
	struct arena a = {0};

	for (int i = 0; i < 2 * STRATEGIES; i++) {
		struct control_opts o = {.strategy = (enum strategy)(i / 2), .apart = i % 2};
		struct control *c[2];

		for (int way = 0; way < 2; way++) {
			struct control_round r;

			c[way] = control_new(s, &o, &m.points, &m.strings);
			for (uint64_t k = 0; k < 6; k++)
				round_of(&m, c[way], &p, 1000 + k * 100, 100, way == 1, &r);
		}
		forests_same(control_forest(c[0], &a), control_forest(c[1], &a));
		control_free(c[0]);
		control_free(c[1]);
	}
	arena_release(&a);
	space_free(s);
	made_release(&m);
}

/* What must hold of any forest. */
static void forest_check(const struct made *m, const struct space *s, const struct forest *f)
{
	const struct forest_tree *t = &f->trees[0];

	EQ_U(f->tree_cnt, 1);
	EQ_U(t->nodes[0].parent, FOREST_NONE);
	for (uint32_t i = 1; i < t->node_cnt; i++) {
		const struct forest_node *n = &t->nodes[i], *o = &t->nodes[n->other];
		uint64_t cnt = n->other_trace_cnt;

		ROW(i);
		OK(n->parent < i);
		EQ_U(o->other, i);
		OK(n->present != o->present);
		EQ_U(n->point, o->point);
		EQ_U(n->parent, o->parent);
		OK(space_has(s, n->point) && !space_always(s, n->point));
		for (uint32_t g = 0; g < n->group_cnt; g++) {
			double share = 0;

			cnt += n->groups[g].times.cnt;
			for (uint32_t e = 0; e < n->groups[g].edge_cnt; e++)
				share += n->groups[g].edges[e].share_variance;
			NEAR(share, n->groups[g].times.sd_ns > 0, 1e-9);
		}
		EQ_U(cnt, n->trace_cnt);
		OK(n->explained >= 0 && n->explained <= 1);
	}
	for (uint32_t i = 0; i < f->decision_cnt; i++)
		OK(f->decisions[i].point == FOREST_NONE ||
		   f->decisions[i].point < m->points.items.cnt);
}

TEST(control_forest_holds_together_and_shutdown_leaves_nothing_on)
{
	struct made m = {0};
	struct space *s = learn(&m);
	struct plan p = {"s/c", 2000};
	struct arena a = {0};

	for (int i = 0; i < 2 * STRATEGIES; i++) {
		struct control_opts o = {.strategy = (enum strategy)(i / 2), .apart = i % 2};
		struct control *c = control_new(s, &o, &m.points, &m.strings);
		struct control_counts cnt;
		struct control_round r;
		struct sided off[64];
		uint32_t nodes[64], off_cnt, sides = 0;

		ROW(i);
		search_run(&m, c, &p, &r);
		forest_check(&m, s, control_forest(c, &a));
		OK(control_walk(c, chain(&m, 7, &p), nodes, 64) >= 1);
		control_counts(c, &cnt);
		off_cnt = control_shutdown(c, off, 64);
		for (uint32_t k = 0; k < off_cnt; k++)
			sides += o.apart ? sides_cnt(off[k].sides) : 1;
		EQ_U(sides, cnt.on_cnt);
		control_counts(c, &cnt);
		EQ_U(cnt.on_cnt, 0);
		OK(control_wants(c, point(&m, "top")));
		control_free(c);
	}
	arena_release(&a);
	space_free(s);
	made_release(&m);
}

/* The longer the queue that the root tells of, the slower "c". */
static const struct trace *queued(struct made *m, uint64_t id)
{
	struct plan p = {"s/c", 2000};
	struct attr length = {.key = strtab_add(&m->strings, "length"), .type = ATTR_NUM};
	struct attr noise = {.key = strtab_add(&m->strings, "noise"), .type = ATTR_NUM};

	(void)chain(m, id, &p);
	length.num = (double)(draw(id, 99) % 2000 / 100);
	noise.num = (double)(draw(id, 5) % 100);
	vec_push(&m->attrs, length);
	vec_push(&m->attrs, noise);
	m->spans.items[0].attr_cnt = 2;
	made_trace(m);
	m->trace.id = (struct trace_id){0, id};
	return &m->trace;
}

TEST(control_forest_tells_the_key_that_explains)
{
	struct made m = {0};
	struct space *s = learn(&m);
	struct control *c = control_new(s, NULL, &m.points, &m.strings);
	struct arena a = {0};
	const struct forest_node *root;
	struct control_round r;

	for (uint64_t id = 1000; id < 1200; id++) {
		struct arena t = {0};
		struct trace seen;
		uint8_t on[64] = {0};

		OK(m.points.items.cnt < 64);
		on[point(&m, "top")] = SIDES_BOTH;
		trace_strip(queued(&m, id), on, &m.points, &m.strings, &t, &seen);
		control_add(c, &seen);
		arena_release(&t);
	}
	control_decide(c, &r);
	root = &control_forest(c, &a)->trees[0].nodes[0];
	EQ_U(root->key_cnt, 1);
	EQ_S(strtab_str(&m.strings, root->keys[0].key), "length");
	OK(root->keys[0].numeric);
	OK(root->keys[0].strength > 0.9 && root->keys[0].q < 1e-6);
	EQ_U(root->keys[0].point, point(&m, "top"));
	arena_release(&a);
	control_free(c);
	space_free(s);
	made_release(&m);
}

/* What is slow is slow no more when the first tracepoint is on: it is said and switched off. */
TEST(control_gives_up_a_tracepoint_that_explains_nothing)
{
	struct made m = {0};
	struct space *s = learn(&m);
	struct plan slow = {"s/c", 2000}, none = {NULL, 1};
	struct control *c = control_new(s, NULL, &m.points, &m.strings);
	struct control_round r;
	uint32_t first, rounds = 0;
	bool said = false;

	round_of(&m, c, &slow, 1000, 100, false, &r);
	EQ_U(r.on_cnt, 1);
	first = r.on[0].point;
	do {
		round_of(&m, c, &none, 2000 + 100 * rounds, 100, false, &r);
		for (uint32_t i = 0; i < r.decision_cnt; i++)
			said |= r.decisions[i].kind == DECIDE_OFF &&
				r.decisions[i].point == first;
	} while (!said && ++rounds < 20);
	OK(said);
	EQ_U(r.off_cnt, 1);
	EQ_U(r.off[0].point, first);
	OK(!control_wants(c, first));
	for (uint32_t i = 0; i < r.on_cnt; i++)
		OK(r.on[i].point != first);
	for (uint64_t i = 0; i < 20; i++) {
		round_of(&m, c, &none, 9000 + 100 * i, 100, false, &r);
		OK(!control_wants(c, first));
	}
	control_free(c);
	space_free(s);
	made_release(&m);
}

/* Every other request is large, and takes so much longer in "c". */
static const struct trace *sized(struct made *m, uint64_t id)
{
	struct plan p = {"s/c", 1};
	struct attr size = {.key = strtab_add(&m->strings, "size"), .type = ATTR_NUM};
	struct attr own = {.key = strtab_add(&m->strings, "own"), .type = ATTR_NUM};
	int64_t more = id % 2 ? 0 : 1000000;

	(void)chain(m, id, &p);
	size.num = id % 2 ? 100 : 50000;
	own.num = (double)id;
	vec_push(&m->attrs, size);
	vec_push(&m->attrs, own);
	for (size_t i = 0; i < m->spans.cnt; i++) {
		struct span *span = &m->spans.items[i];

		span->begin_ns += i > 5 ? more : 0;
		span->end_ns += i == 0 || i >= 5 ? more : 0;
	}
	m->spans.items[0].attr_cnt = 2;
	made_trace(m);
	m->trace.id = (struct trace_id){0, id};
	return &m->trace;
}

static void sized_round(struct made *m, struct control *c, uint64_t id, struct control_round *ret)
{
	uint8_t on[64] = {0};

	OK(m->points.items.cnt < 64);
	for (uint32_t i = 0; i < m->points.items.cnt; i++)
		on[i] = control_wants(c, i);
	for (uint64_t i = 0; i < 100; i++) {
		struct arena a = {0};
		struct trace seen;

		trace_strip(sized(m, id + i), on, &m->points, &m->strings, &a, &seen);
		control_add(c, &seen);
		arena_release(&a);
	}
	control_decide(c, ret);
}

TEST(control_leaves_what_given_keys_explain)
{
	static const double bounds[] = {4096};
	/* Of "own" every request has a value of its own, which explains nothing. */
	static const struct key_spec size = {"size", NULL, bounds, 1}, own = {.name = "own"};
	struct made m = {0};
	struct space *s = space_new(&m.points, &m.strings);
	struct arena a = {0};

	for (uint64_t id = 1; id <= 100; id++)
		space_add(s, sized(&m, id));
	for (int row = 0; row < 2 * STRATEGIES + 1; row++) {
		bool last = row == 2 * STRATEGIES, found = last || row % 2 == 0;
		struct control_opts o = {.strategy = (enum strategy)(row / 2 % STRATEGIES),
					 .keys = {last ? &own : &size, last || row % 2}};
		struct control *c = control_new(s, &o, &m.points, &m.strings);
		struct control_counts cnt;
		struct control_round r;

		ROW(row);
		for (uint64_t i = 0; i < 8; i++)
			sized_round(&m, c, 1000 + 100 * i, &r);
		control_counts(c, &cnt);
		EQ_I(cnt.ever_cnt > 0, found);
		EQ_I(r.located_cnt > 0, found);
		EQ_U(control_forest(c, &a)->trees[0].nodes[0].group_cnt,
		     last ? 800 : found ? 1 : 2);
		control_free(c);
	}
	arena_release(&a);
	space_free(s);
	made_release(&m);
}

/*
 * Each 25th request goes another way, with two calls at once; all it does there
 * takes as long each time, either in one place or in many.
 */
static const struct trace *detour(struct made *m, uint64_t id, int64_t slow_us, int64_t each_us)
{
	struct plan none = {NULL, 1};
	uint64_t x = 3 + 2 * CALLS;
	int64_t at;

	(void)chain(m, id, &none);
	if (id % 25)
		return &m->trace;
	at = m->spans.items[0].end_ns / 1000;
	made_span(m, x, 1, "s/x", at * 1000, 0);
	made_span(m, x + 1, 1, "s/y", at * 1000, (at + 20) * 1000);
	for (int i = 0; i < 6; i++) {
		char name[8] = "s/x?";
		int64_t took = (i == 3 ? slow_us : each_us) + (int64_t)(draw(id, (uint64_t)i) % 3);

		name[3] = (char)('0' + i);
		made_span(m, x + 2 + (uint64_t)i, x, name, (at + 5) * 1000, (at + 5 + took) * 1000);
		at += 5 + took;
	}
	m->spans.items[x - 2].end_ns = (at + 5) * 1000;
	m->spans.items[0].end_ns = (at + 10) * 1000;
	made_trace(m);
	m->trace.id = (struct trace_id){0, id};
	return &m->trace;
}

static void detour_round(struct made *m, struct control *c, uint64_t id, const int64_t *us,
			 struct control_round *ret)
{
	uint8_t on[64] = {0};

	OK(m->points.items.cnt < 64);
	for (uint32_t i = 0; i < m->points.items.cnt; i++)
		on[i] = control_wants(c, i);
	for (uint64_t i = 0; i < 200; i++) {
		struct arena a = {0};
		struct trace seen;

		trace_strip(detour(m, id + i, us[0], us[1]), on, &m->points, &m->strings, &a,
			    &seen);
		control_add(c, &seen);
		arena_release(&a);
	}
	control_decide(c, ret);
}

TEST(control_searches_what_is_slow_and_hardly_varies)
{
	/* Of the slow path's fourth call, and of each of its others; as it was learnt, and now. */
	static const struct {
		int64_t learnt[2], now[2];
		bool found;
	} table[] = {
		{{300, 5}, {300, 5}, true},	/* slow as ever, in one place */
		{{55, 55}, {55, 55}, false},	/* it does more than others */
		{{5, 1}, {5, 1}, false},	/* hardly slower than others */
		{{5, 5}, {300, 5}, true},
	};
	struct made m = {0};

	for (size_t row = 0; row < sizeof(table) / sizeof(*table); row++) {
		struct space *s = space_new(&m.points, &m.strings);
		struct control_counts cnt;
		struct control_round r;
		struct control *c;

		ROW(row);
		for (uint64_t id = 1; id <= 125; id++)
			space_add(s, detour(&m, id, table[row].learnt[0], table[row].learnt[1]));
		c = control_new(s, NULL, &m.points, &m.strings);
		for (uint64_t i = 0; i < 20; i++)
			detour_round(&m, c, 1000 + 200 * i, table[row].now, &r);
		EQ_U(r.located_cnt, table[row].found);
		control_counts(c, &cnt);
		EQ_I(cnt.ever_cnt > 0, table[row].found);
		OK(cnt.ever_cnt <= 3);
		if (r.located_cnt)
			EQ_U(r.located[0].owner, point(&m, "x3"));
		control_free(c);
		space_free(s);
	}
	made_release(&m);
}

/* cnt rounds of p; returns the round in which what was slow last was located, 0: never. */
static uint32_t rounds_of(struct made *m, struct control *c, const struct plan *p, uint64_t id,
			  uint32_t cnt)
{
	struct control_round r;
	uint32_t last = 0;

	for (uint32_t i = 0; i < cnt; i++)
		round_of(m, c, p, id + i * 60, 60, false, &r);
	for (uint32_t i = 0; i < r.located_cnt; i++)
		if (p->slow && r.located[i].from.point == point(m, p->slow + 2))
			last = r.located[i].last_round;
	return last;
}

TEST(control_is_not_bound_by_what_it_saw_hours_ago)
{
	struct made m = {0};
	struct space *s = learn(&m);
	struct plan first = {"s/b2", 2000}, second = {"s/g2", 1000}, none = {NULL, 1};
	struct arena a = {0};

	for (int row = 0; row < 2 * STRATEGIES; row++) {
		bool ages = row % 2;
		struct control_opts o = {.strategy = (enum strategy)(row / 2),
					 .age_rounds = ages ? 16 : 1000};
		struct control *c = control_new(s, &o, &m.points, &m.strings);
		const struct forest *f;
		struct control_counts cnt;

		ROW(row);
		OK(rounds_of(&m, c, &first, 1000, 16) > 0);
		EQ_I(rounds_of(&m, c, &second, 4000, 64) > 48, ages);
		EQ_I(rounds_of(&m, c, &second, 9000, 64) > 128, ages);
		rounds_of(&m, c, &none, 20000, 64);
		control_counts(c, &cnt);
		f = control_forest(c, &a);
		if (ages) {
			EQ_U(cnt.on_cnt, 0);
			EQ_U(f->trees[0].node_cnt, 1);
			EQ_U(f->trees[0].nodes[0].status, HYP_CALM);
			OK(f->trees[0].nodes[0].trace_cnt <= 2 * 16 * 60);
		}
		for (uint32_t i = 0; i < f->decision_cnt; i++)
			OK(f->decisions[i].node < f->trees[0].node_cnt);
		control_free(c);
	}
	arena_release(&a);
	space_free(s);
	made_release(&m);
}

TEST(control_keeps_the_later_of_many_decisions)
{
	struct made m = {0};
	struct space *s = learn(&m);
	struct plan none = {NULL, 1};
	struct control *c = control_new(s, NULL, &m.points, &m.strings);
	struct arena a = {0};
	const struct forest *f;
	struct control_round r;
	uint32_t rounds = 9000;

	round_of(&m, c, &none, 1000, 30, false, &r);
	for (uint32_t i = 1; i < rounds; i++) {
		control_decide(c, &r);
		EQ_U(r.decision_cnt, 1);
		OK(strlen(r.decisions[0].why) > 10);
	}
	f = control_forest(c, &a);
	OK(f->decision_cnt > 4000 && f->decision_cnt < rounds);
	for (uint32_t i = 0; i < f->decision_cnt; i++) {
		OK(strlen(f->decisions[i].why) > 10);
		EQ_U(f->decisions[i].round, rounds - f->decision_cnt + 1 + i);
	}
	arena_release(&a);
	control_free(c);
	space_free(s);
	made_release(&m);
}

/* Requests of another type, that vary as they always did. */
static const struct trace *other(struct made *m, uint64_t id)
{
	int64_t end_us = 100 + (int64_t)(draw(id, 3) % 5000);

	made_clear(m);
	made_span(m, 1, 0, "s/other", 0, (end_us + 50) * 1000);
	made_span(m, 2, 1, "s/moody", 20000, end_us * 1000);
	made_trace(m);
	m->trace.id = (struct trace_id){1, id};
	return &m->trace;
}

TEST(control_searches_what_is_slower_before_what_varies_as_ever)
{
	struct made m = {0};
	struct space *s = learn(&m);
	struct plan p = {"s/c", 2000};
	struct control *c;
	struct control_round r;
	uint32_t moody = point(&m, "moody"), round = 0;

	for (uint64_t id = 1; id <= 100; id++)
		space_add(s, other(&m, id));
	c = control_new(s, NULL, &m.points, &m.strings);
	do {
		struct arena a = {0};
		struct trace seen;
		uint8_t on[64] = {0};

		OK(m.points.items.cnt < 64);
		on[point(&m, "other")] = SIDES_BOTH;
		for (uint64_t id = 0; id < 100; id++) {
			trace_strip(other(&m, 1000 + 100 * round + id), on, &m.points,
				    &m.strings, &a, &seen);
			control_add(c, &seen);
		}
		arena_release(&a);
		round_of(&m, c, &p, 1000 + 100 * round, 100, false, &r);
		OK(!control_wants(c, moody));
	} while (!r.finished && ++round < 30);
	OK(r.finished);
	EQ_U(r.located[0].from.point, point(&m, "c"));
	OK(r.located[0].weight_ns > 0);
	control_free(c);
	space_free(s);
	made_release(&m);
}

/*
 * Half of the requests fork first, so what is one slow stretch is two edges, and
 * two hypotheses.  The slow-th inner call is slow, and f2.
 */
static const struct trace *forked(struct made *m, uint64_t id, int slow, int64_t by_us)
{
	int64_t at_us = 20, first = by_us ? (int64_t)(draw(id, 98) % (uint64_t)by_us) : 0;
	struct plan p = {"s/f2", by_us ? by_us : 1};

	made_clear(m);
	made_span(m, 1, 0, "s/top", 0, 0);
	if (draw(id, 7) % 2) {
		made_span(m, 100, 1, "s/left", 20000, 120000);
		made_span(m, 101, 1, "s/right", 21000, 110000);
		made_span(m, 102, 1, "s/joined", 125000, 128000);
		at_us = 130;
	}
	for (int i = 0; i < CALLS; i++) {
		call(m, id, (char)('a' + i), &at_us, &p);
		if (i != slow || !first)
			continue;
		m->spans.items[m->spans.cnt - 2].end_ns += first * 1000;
		m->spans.items[m->spans.cnt - 1].end_ns += first * 1000;
		at_us += first;
	}
	m->spans.items[0].end_ns = at_us * 1000;
	made_trace(m);
	m->trace.id = (struct trace_id){0, id};
	return &m->trace;
}

static void forked_round(struct made *m, struct control *c, uint64_t id, int slow,
			 struct control_round *ret)
{
	uint8_t on[64] = {0};

	OK(m->points.items.cnt < 64);
	for (uint32_t i = 0; i < m->points.items.cnt; i++)
		on[i] = control_wants(c, i);
	for (uint64_t i = 0; i < 100; i++) {
		struct arena a = {0};
		struct trace seen;

		trace_strip(forked(m, id + i, slow, 2000), on, &m->points, &m->strings, &a, &seen);
		control_add(c, &seen);
		arena_release(&a);
	}
	control_decide(c, ret);
}

TEST(control_finds_two_causes_each_once)
{
	struct made m = {0};
	struct space *s = space_new(&m.points, &m.strings);

	for (uint64_t id = 1; id <= 100; id++)
		space_add(s, forked(&m, id, 0, 0));
	for (int i = 0; i < 2 * (CALLS - 3); i++) {
		/* One at a time: what there is no room for now is not forgotten. */
		struct control_opts o = {.apart = i % 2, .budget = i % 2};
		struct control *c = control_new(s, &o, &m.points, &m.strings);
		struct control_round r;
		uint64_t round = 0;
		char name[3] = {(char)('a' + i / 2), '2'};

		ROW(i);
		do
			forked_round(&m, c, 1000 + 100 * round, i / 2, &r);
		while (!r.finished && ++round < 30);
		OK(r.finished);
		EQ_U(r.located_cnt, 2);
		for (int k = 0; k < 2; k++) {
			OK(r.located[k].owner == point(&m, k ? name : "f2") ||
			   r.located[k].owner == point(&m, k ? "f2" : name));
			OK(r.located[k].score > 0.4 && r.located[k].score < 0.6);
		}
		OK(r.located[0].owner != r.located[1].owner);
		control_free(c);
	}
	space_free(s);
	made_release(&m);
}

TEST(control_paused_switches_nothing_on)
{
	struct made m = {0};
	struct space *s = learn(&m);
	struct plan p = {"s/c", 2000};
	struct control *c = control_new(s, NULL, &m.points, &m.strings);
	struct control_round r;

	control_pause(c, true);
	round_of(&m, c, &p, 1000, 100, false, &r);
	EQ_U(r.on_cnt, 0);
	control_pause(c, false);
	round_of(&m, c, &p, 2000, 100, false, &r);
	EQ_U(r.on_cnt, 1);
	control_free(c);
	space_free(s);
	made_release(&m);
}
