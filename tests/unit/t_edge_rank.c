/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "trace/points.h"
#include "trace/trace.h"
#include "requests/graph/critical.h"
#include "requests/edge_rank.h"
#include "requests/graph/graph.h"

enum { MS = 1000000 };

/*
 * Requests that ask front, which asks store twice (two calls), which asks
 * disk.  Each step: who, what, entry or exit, and what the edge to it takes.
 */
static const struct step {
	const char *service, *name;
	int kind, ms;
} usual[] = {
	{"front", "order", NODE_ENTRY, 0},  {"store", "find", NODE_ENTRY, 2},
	{"disk", "read", NODE_ENTRY, 2},    {"disk", "read", NODE_EXIT, 30},
	{"store", "find", NODE_EXIT, 2},    {"front", "order", NODE_EXIT, 4},
	{"store", "put", NODE_ENTRY, 2},    {"store", "put", NODE_EXIT, 9},
	{"front", "pay", NODE_EXIT, 2},     {"ads", "pick", NODE_ENTRY, 2},
	{"ads", "pick", NODE_EXIT, 6},	    {"front", "done", NODE_EXIT, 2},
};
enum { STEPS = sizeof(usual) / sizeof(*usual) };

struct rig {
	struct strtab strings;
	struct points points;
	struct arena arena;
	struct edge_rank *rank;
};

static void rig_release(struct rig *r)
{
	edge_rank_free(r->rank);
	strtab_release(&r->strings);
	points_release(&r->points);
	arena_release(&r->arena);
}

/* What a request of a number takes from step to step; only ever in ms. */
typedef int (*takes_fn)(const struct step *from, const struct step *to, unsigned request);

static void add(struct rig *r, enum edge_rank_side side, takes_fn takes, unsigned request)
{
	struct cstep steps[STEPS] = {0};
	struct cpath path = {.steps = steps, .step_cnt = STEPS};

	if (!r->rank)
		r->rank = edge_rank_new(&r->points, &r->strings);
	for (unsigned i = 0; i < STEPS; i++) {
		steps[i].point = points_add(&r->points, &r->strings,
					    strtab_add(&r->strings, usual[i].service),
					    strtab_add(&r->strings, usual[i].name));
		steps[i].kind = (uint8_t)usual[i].kind;
		if (i)
			steps[i].edge_ns = (int64_t)takes(&usual[i - 1], &usual[i], request) * MS;
	}
	edge_rank_add(r->rank, side, &(struct trace_id){side, request}, &path);
}

static bool is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static int calm(const struct step *from, const struct step *to, unsigned request)
{
	(void)from;
	return to->ms + (int)(request % 2);
}

/* What leaves store does so late. */
static int store_late(const struct step *from, const struct step *to, unsigned request)
{
	int late = is(from->service, "store") && !is(to->service, "store") ? 50 : 0;

	return calm(from, to, request) + late;
}

static int disk_varies(const struct step *from, const struct step *to, unsigned request)
{
	if (is(from->service, "disk") && is(to->service, "disk"))
		return request % 4 ? 30 : 120;
	return calm(from, to, request);
}

static int disk_varies_store_busy(const struct step *from, const struct step *to,
				  unsigned request)
{
	return disk_varies(from, to, request) + (is(from->service, "store") ? 10 : 0);
}

static const char *service_of(const struct rig *r, const struct edge_rank_end *end)
{
	return strtab_str(&r->strings, r->points.items.items[end->point].service);
}

static const struct edge_rank_result *ranked(struct rig *r, takes_fn bad, takes_fn good)
{
	for (unsigned i = 0; i < 40; i++) {
		add(r, EDGE_RANK_BAD, bad, i);
		if (good)
			add(r, EDGE_RANK_GOOD, good, i);
	}
	return edge_rank_finish(r->rank, &r->arena);
}

TEST(edge_rank_faulty_service_is_an_end_of_the_first)
{
	static const struct {
		takes_fn bad, good;
	} rows[] = {
		{store_late, calm},
		{store_late, NULL},
		{disk_varies_store_busy, disk_varies},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rig r = {0};
		const struct edge_rank_result *res = ranked(&r, rows[i].bad, rows[i].good);
		const struct edge_rank_row *first = &res->rows[0];

		ROW(i);
		OK(res->row_cnt > 0);
		OK(is(service_of(&r, &first->from), "store") ||
		   is(service_of(&r, &first->to), "store"));
		OK(first->service_ratio > 1.1);
		OK(first->more_low_ns <= first->mean_ns - first->usual_ns);
		EQ_U(first->usual, rows[i].good ? EDGE_USUAL_GOOD : EDGE_USUAL_PEERS);
		EQ_U(res->path_cnt[EDGE_RANK_BAD], 40);
		rig_release(&r);
	}
}

/* As often long as short: its median is its mean. */
static int even_delay(const struct step *from, const struct step *to, unsigned request)
{
	return calm(from, to, request) + (is(to->name, "put") ? (int)(request % 20) : 0);
}

TEST(edge_rank_even_delay_without_good_requests)
{
	struct rig r = {0};
	const struct edge_rank_result *res = ranked(&r, even_delay, NULL);

	OK(res->row_cnt > 0);
	OK(is(service_of(&r, &res->rows[0].from), "store") ||
	   is(service_of(&r, &res->rows[0].to), "store"));
	OK(res->rows[0].more_low_ns > 2 * MS);
	rig_release(&r);
}

TEST(edge_rank_nothing_when_all_is_as_usual)
{
	struct rig r = {0};
	const struct edge_rank_result *res = ranked(&r, calm, calm);

	EQ_U(res->row_cnt, 0);
	EQ_U(res->edge_cnt, STEPS - 1);
	rig_release(&r);
}

TEST(edge_rank_same_in_any_order)
{
	struct rig one = {0}, two = {0};
	const struct edge_rank_result *a, *b;

	strtab_add(&two.strings, "front of all others");
	for (unsigned i = 0; i < 40; i++)
		add(&one, EDGE_RANK_BAD, disk_varies_store_busy, i);
	for (unsigned i = 40; i-- > 0;)
		add(&two, EDGE_RANK_BAD, disk_varies_store_busy, i);
	a = edge_rank_finish(one.rank, &one.arena);
	b = edge_rank_finish(two.rank, &two.arena);
	EQ_U(a->row_cnt, b->row_cnt);
	for (uint32_t i = 0; i < a->row_cnt; i++) {
		ROW(i);
		EQ_S(service_of(&one, &a->rows[i].from), service_of(&two, &b->rows[i].from));
		OK(a->rows[i].score == b->rows[i].score);
	}
	rig_release(&one);
	rig_release(&two);
}

static int once(const struct step *from, const struct step *to, unsigned request)
{
	(void)from, (void)to, (void)request;
	return 900;
}

TEST(edge_rank_rare_edges_are_counted_only)
{
	struct rig r = {0};
	const struct edge_rank_result *res;

	add(&r, EDGE_RANK_BAD, once, 0);
	add(&r, EDGE_RANK_BAD, once, 1);
	res = edge_rank_finish(r.rank, &r.arena);
	EQ_U(res->row_cnt, 0);
	EQ_U(res->rare_cnt, STEPS - 1);
	rig_release(&r);
}

TEST(edge_rank_over_the_bound_is_counted)
{
	struct rig r = {0};
	const struct edge_rank_result *res;

	r.rank = edge_rank_new(&r.points, &r.strings);
	for (unsigned i = 0; i < EDGE_RANK_MAX + 10; i++) {
		struct cstep steps[2] = {{0}, {.edge_ns = 1}};
		struct cpath path = {.steps = steps, .step_cnt = 2};
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		steps[1].point = points_add(&r.points, &r.strings, 0,
					    strtab_add(&r.strings, name));
		points_add(&r.points, &r.strings, 0, 0);
		edge_rank_add(r.rank, EDGE_RANK_BAD, &(struct trace_id){0, i}, &path);
	}
	res = edge_rank_finish(r.rank, &r.arena);
	EQ_U(res->dropped_cnt, 10);
	rig_release(&r);
}

/* front calls store; of ten requests so many do not have the store's span. */
struct losing {
	int without_cnt;
	int store_ms[EDGE_RANK_SIDES], without_ms[EDGE_RANK_SIDES];	/* bad, good; times 0..6 */
};

static void add_losing(struct rig *r, enum edge_rank_side side, const struct losing *l, int i)
{
	static const struct {
		const char *service, *name;
		int kind;
		uint32_t span, owner;
	} events[] = {
		{"front", "order", NODE_ENTRY, 0, 0}, {"front", "call", NODE_ENTRY, 1, 0},
		{"store", "find", NODE_ENTRY, 2, 1},  {"store", "find", NODE_EXIT, 2, 2},
		{"front", "call", NODE_EXIT, 1, 1},   {"front", "order", NODE_EXIT, 0, 0},
	};
	bool without = i / 7 % 10 < l->without_cnt;
	struct cstep steps[6] = {0};
	struct cpath path = {.steps = steps};

	for (int k = 0; k < 6; k++) {
		struct cstep *step = &steps[path.step_cnt];

		if (without && events[k].span == 2)
			continue;
		step->point = points_add(&r->points, &r->strings,
					 strtab_add(&r->strings, events[k].service),
					 strtab_add(&r->strings, events[k].name));
		step->kind = (uint8_t)events[k].kind;
		step->span = events[k].span;
		step->owner = events[k].owner;
		step->edge_ns = k ? (1 + i % 3) * MS : 0;
		if (k == 3)
			step->edge_ns += (int64_t)(l->store_ms[side] * (i % 7)) * MS;
		if (k == 4 && without)
			step->edge_ns += (int64_t)(l->without_ms[side] * (i % 7)) * MS;
		path.step_cnt++;
	}
	edge_rank_add(r->rank, side, &(struct trace_id){side, (uint64_t)i}, &path);
}

TEST(edge_rank_span_that_was_lost_is_blamed_where_it_is_seen)
{
	static const struct {
		const char *why, *first;
		struct losing losing;
		uint64_t unseen;
	} rows[] = {
		{"lost", "find", {1, {10, 0}, {10, 0}}, 1},
		{"lost, more of them", "find", {4, {30, 2}, {30, 2}}, 1},
		{"lost where it took longest", "find", {1, {20, 0}, {30, 0}}, 1},
		{"late for another reason too", "call", {1, {5, 0}, {60, 0}}, 1},
		{"not asked, and slow for another reason", "call", {1, {1, 1}, {30, 0}}, 0},
		{"not asked, quick, and slow for another reason", "call", {1, {60, 60}, {9, 0}}, 0},
		{"most have none", "call", {6, {10, 0}, {30, 0}}, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rig r = {0};
		const struct edge_rank_result *res;
		ROW(i);
		r.rank = edge_rank_new(&r.points, &r.strings);
		for (int k = 0; k < 420; k++) {
			add_losing(&r, EDGE_RANK_GOOD, &rows[i].losing, k);
			add_losing(&r, EDGE_RANK_BAD, &rows[i].losing, k);
		}
		res = edge_rank_finish(r.rank, &r.arena);
		OK(res->row_cnt > 0);
		EQ_S(strtab_str(&r.strings,
				r.points.items.items[res->rows[0].from.point].name), rows[i].first);
		EQ_U(res->unseen_cnt, rows[i].unseen);
		if (rows[i].unseen)
			EQ_U(res->unseen_visit_cnt, rows[i].losing.without_cnt * 42);
		for (uint32_t k = 1; rows[i].unseen && k < res->row_cnt; k++)
			OK(res->rows[k].score < 0.5 * res->rows[0].score);
		rig_release(&r);
	}
}
