/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "requests/graph/critical.h"
#include "requests/keys/keys.h"
#include "requests/requests.h"

#include "req_make.h"
#include "unit.h"

/* front calls auth (steady) and then db (uniform 1..21 ms); front's own parts are steady. */
static const struct trace *steady_but_db(struct req_maker *m, uint64_t id)
{
	int64_t db = 1000 + req_random(m, 20000);
	uint64_t root;

	req_begin(m, id);
	root = req_span(m, 0, "front", "GET /cart", 0, 11000 + db);
	req_span(m, root, "auth", "check", 1000, 5000);
	req_span(m, root, "db", "query", 6000, 6000 + db);
	return req_trace(m);
}

static const struct request_edge *edge_of(const struct req_maker *m,
					  const struct request_group *g, const char *owner)
{
	const struct request_edge *best = NULL;

	for (uint32_t i = 0; i < g->edge_cnt; i++) {
		const struct point *p = &m->points.items.items[g->edges[i].key.owner];

		if (!strcmp(strtab_str(&m->strings, p->service), owner) &&
		    (!best || g->edges[i].share > best->share))
			best = &g->edges[i];
	}
	return best;
}

static bool near(double got, double want, double off)
{
	return fabs(got - want) <= off;
}

TEST(requests_find_the_edge_that_varies)
{
	struct req_maker m = {.random = 1};
	struct requests *r = requests_new(NULL, &m.strings, &m.points);
	struct arena arena = {0};
	const struct requests_result *result;
	const struct request_group *g;
	const struct request_edge *db;
	double sum = 0, time = 0;

	for (uint64_t i = 1; i <= 500; i++)
		requests_add(r, steady_but_db(&m, i));
	result = requests_finish(r, &arena);
	EQ_U(result->type_cnt, 1);
	EQ_S(strtab_str(&m.strings, result->types[0].name), "front: GET /cart");
	EQ_U(result->types[0].group_cnt, 1);
	g = &result->types[0].groups[0];
	EQ_U(g->latency.cnt, 500);
	EQ_U(g->level, CSHAPE_EXACT);
	db = edge_of(&m, g, "db");
	OK(near(db->share, 1, 1e-12) && near(db->trimmed_share, 1, 1e-9));
	OK(near(db->tail_share, 1, 1e-9));
	OK(near(db->latency.mean_ns, 11e6, 0.6e6) && near(g->latency.mean_ns, 22e6, 0.6e6));
	OK(near(db->latency.p50_ns, 11e6, 1e6));
	for (uint32_t i = 0; i < g->edge_cnt; i++) {
		sum += g->edges[i].share;
		time += g->edges[i].time_share;
	}
	OK(near(sum, 1, 1e-12) && near(time, 1, 1e-12));
	EQ_U(result->problem_cnt, 1);
	EQ_U(result->problems[0].kind, PROBLEM_VARIANCE);
	EQ_U(result->problems[0].edge_cnt, 1);
	OK(&g->edges[result->problems[0].edges[0]] == db);
	OK(g->typical.trace && near((double)g->typical.total_ns, g->latency.p50_ns, 4e6));
	OK(g->fast.total_ns < g->typical.total_ns && g->typical.total_ns < g->slow.total_ns);
	requests_free(r);
	EQ_U(g->typical.trace->spans[0].parent, 0);
	arena_release(&arena);
	req_release(&m);
}

/* One trace of 28 s does not make an unsteady path, and four traces make nothing at all. */
TEST(requests_outlier_and_few_are_no_problem)
{
	const uint64_t cnts[] = {200, 4};

	for (size_t row = 0; row < 2; row++) {
		struct req_maker m = {.random = 3};
		struct requests *r = requests_new(NULL, &m.strings, &m.points);
		struct arena arena = {0};
		const struct requests_result *result;

		ROW(row);
		for (uint64_t i = 1; i <= cnts[row]; i++) {
			int64_t us = i == 2 ? 28000000 : 10000 + req_random(&m, 100);

			req_begin(&m, i);
			req_span(&m, 0, "front", "GET /cart", 0, us);
			requests_add(r, req_trace(&m));
		}
		result = requests_finish(r, &arena);
		OK(result->types[0].all->latency.cv > 1);
		OK(result->types[0].all->by_outliers);
		OK(result->types[0].all->trimmed_cv < 0.01);
		EQ_U(result->problem_cnt, 0);
		requests_free(r);
		arena_release(&arena);
		req_release(&m);
	}
}

/* A third of the requests goes to the archive, which is slow and steady. */
TEST(requests_steadily_slow_path)
{
	struct req_maker m = {.random = 5};
	struct requests *r = requests_new(NULL, &m.strings, &m.points);
	struct arena arena = {0};
	const struct requests_result *result;
	const struct request_problem *slow = NULL;

	for (uint64_t i = 1; i <= 300; i++) {
		int64_t own = 10000 + req_random(&m, 300), far = i % 3 ? 0 : 40000;
		uint64_t root;

		req_begin(&m, i);
		root = req_span(&m, 0, "front", "GET /doc", 0, own + far);
		req_span(&m, root, far ? "archive" : "cache", "read", 5000, 6000 + far);
		requests_add(r, req_trace(&m));
	}
	result = requests_finish(r, &arena);
	EQ_U(result->types[0].group_cnt, 2);
	OK(near(result->types[0].between_share, 1, 1e-3));
	OK(near(result->types[0].between_share + result->types[0].within_share, 1, 1e-12));
	for (uint32_t i = 0; i < result->problem_cnt; i++) {
		OK(result->problems[i].kind != PROBLEM_VARIANCE);
		if (result->problems[i].kind == PROBLEM_SLOW)
			slow = &result->problems[i];
	}
	OK(slow);
	EQ_U(result->types[0].groups[slow->group].latency.cnt, 100);
	OK(&result->types[0].groups[slow->group].edges[slow->edges[0]] ==
	   edge_of(&m, &result->types[0].groups[slow->group], "archive"));
	requests_free(r);
	arena_release(&arena);
	req_release(&m);
}

/* Six calls at once, four times: which one comes last, and so the path, is chance. */
static const struct trace *fan_out(struct req_maker *m, uint64_t id)
{
	static const char *const services[] = {"user", "media", "text", "movie", "rate", "plot"};
	uint64_t root;

	req_begin(m, id);
	root = req_span(m, 0, "front", "compose", 0, 120000 + req_random(m, 1000));
	for (uint32_t i = 0; i < 24; i++) {
		int64_t begin = 30000 * (i / 6) + 100 * (i % 6);
		int64_t end = begin + 5000 + req_random(m, 20000);
		uint64_t call = req_span(m, root, services[i % 6], "call", begin, end);

		req_span(m, call, services[i % 6], "store", begin + 10, end - 10);
	}
	return req_trace(m);
}

TEST(requests_concurrent_paths_are_in_usable_groups)
{
	struct req_maker m = {.random = 7};
	struct requests *r = requests_new(NULL, &m.strings, &m.points);
	struct arena arena = {0};
	const struct requests_result *result;
	const struct request_type *type;
	uint64_t members = 0;
	double before = 1;

	for (uint64_t i = 1; i <= 1000; i++)
		requests_add(r, fan_out(&m, i));
	result = requests_finish(r, &arena);
	type = &result->types[0];
	OK(type->levels[0].usable_cnt < 300);
	OK(type->usable_cnt >= 950);
	for (uint32_t i = 0; i < type->group_cnt; i++) {
		double sum = 0;

		members += type->groups[i].latency.cnt;
		for (uint32_t e = 0; e < type->groups[i].edge_cnt; e++)
			sum += type->groups[i].edges[e].share;
		OK(type->groups[i].latency.cnt < 2 || near(sum, 1, 1e-9));
	}
	EQ_U(members, 1000);
	/* the way taken through as many equal calls says nothing of the latency */
	OK(type->levels[0].between_share > 0.3 && type->levels[0].beyond_chance < 0.3);
	for (uint32_t i = 0; i < type->level_cnt; i++) {
		OK(type->levels[i].between_share <= before + 1e-12);
		before = type->levels[i].between_share;
	}
	OK(near(before, 0, 1e-12));
	requests_free(r);
	arena_release(&arena);
	req_release(&m);
}

TEST(requests_explain_one)
{
	struct req_maker m = {.random = 1};
	struct requests *r = requests_new(NULL, &m.strings, &m.points);
	struct arena arena = {0};
	const struct requests_result *result;
	struct request_explain e;
	const struct explain_edge *first;
	uint64_t root;

	for (uint64_t i = 1; i <= 500; i++)
		requests_add(r, steady_but_db(&m, i));
	result = requests_finish(r, &arena);
	req_begin(&m, 1000);
	root = req_span(&m, 0, "front", "GET /cart", 0, 80000);
	req_span(&m, root, "auth", "check", 1000, 60000);
	req_span(&m, root, "db", "query", 61000, 75000);
	EQ_I(requests_explain(r, result, req_trace(&m), &arena, &e), 0);
	EQ_U(e.type, 0);
	EQ_U(e.group, 0);
	OK(e.percentile > 99.9 && e.robust_z > 3);
	first = &e.edges[e.by_excess[0]];
	EQ_S(strtab_str(&m.strings, m.points.items.items[first->key.owner].service), "auth");
	OK(near(first->excess_ns, 55e6, 0.1e6) && first->excess_share > 0.8);
	EQ_I(first->begin_ns, 1000000);
	OK(&result->types[0].groups[0].edges[first->edge] ==
	   edge_of(&m, &result->types[0].groups[0], "auth"));
	requests_free(r);
	arena_release(&arena);
	req_release(&m);
}

static const struct request_key *key_of(const struct req_maker *m, const struct request_group *g,
					const char *name)
{
	for (uint32_t i = 0; i < g->key_cnt; i++)
		if (!strcmp(strtab_str(&m->strings, g->keys[i].key), name))
			return &g->keys[i];
	return NULL;
}

/* The query takes as long as it has rows and longer for one tenant; the rest is noise or ids. */
static const struct trace *explained_by_keys(struct req_maker *m, uint64_t id)
{
	static const char *const tenants[] = {"acme", "bolt", "core", "dust"};
	static const char *const colours[] = {"red", "green", "blue"};
	int64_t rows = req_random(m, 1000), tenant = req_random(m, 4);
	int64_t db = 1000 + 10 * rows + (tenant == 2 ? 9000 : 0) + req_random(m, 1000);
	uint64_t root;
	char name[32];

	snprintf(name, sizeof(name), "r-%" PRIu64, id);
	req_begin(m, id);
	root = req_span(m, 0, "front", "GET /cart", 0, 2000 + db);
	req_str(m, "request.id", name);
	req_str(m, "colour", colours[req_random(m, 3)]);
	req_num(m, "noise", (double)req_random(m, 100));
	req_num(m, "same", 7);
	req_span(m, root, "db", "query", 1000, 1000 + db);
	req_num(m, "rows", (double)rows);
	req_num(m, "bytes", (double)rows * 64);
	req_str(m, "tenant", tenants[tenant]);
	return req_trace(m);
}

TEST(requests_keys_that_explain)
{
	struct req_maker m = {.random = 11};
	struct requests *r = requests_new(NULL, &m.strings, &m.points);
	struct arena arena = {0};
	const struct requests_result *result;
	const struct request_group *g;
	const struct request_key *rows, *tenant;

	for (uint64_t i = 1; i <= 3000; i++)
		requests_add(r, explained_by_keys(&m, i));
	result = requests_finish(r, &arena);
	g = &result->types[0].groups[0];
	rows = key_of(&m, g, "rows");
	tenant = key_of(&m, g, "tenant");
	/* rows and bytes always go together: one stands for both */
	if (!rows)
		rows = key_of(&m, g, "bytes");
	OK(rows && tenant);
	OK(!key_of(&m, g, "rows") || !key_of(&m, g, "bytes"));
	EQ_U(rows->alias_cnt, 1);
	EQ_U(rows->kind, KEY_NUMERIC);
	/* sd of the parts: rows 2.9 ms, tenant 3.9 ms, noise 0.3 ms */
	OK(near(rows->r, 0.59, 0.06) && rows->explains && rows->p < 1e-30);
	EQ_U(tenant->kind, KEY_CATEGORICAL);
	OK(near(tenant->eta2, 0.64, 0.06) && tenant->explains);
	EQ_U(tenant->value_cnt, 4);
	OK(rows->value_cnt == KEY_RANGES && rows->values[0].mean_ns < rows->values[4].mean_ns);
	OK(!key_of(&m, g, "colour") && !key_of(&m, g, "noise") && !key_of(&m, g, "same"));
	OK(!key_of(&m, g, "request.id") && result->stats.id_key_cnt == 2);
	requests_free(r);
	arena_release(&arena);
	req_release(&m);
}

/* With a hundred keys of noise, hardly any is called a discovery. */
TEST(requests_keys_of_noise_are_not_found)
{
	struct req_maker m = {.random = 13};
	struct requests *r = requests_new(NULL, &m.strings, &m.points);
	struct arena arena = {0};
	const struct requests_result *result;
	char name[16];

	for (uint64_t i = 1; i <= 300; i++) {
		req_begin(&m, i);
		/* heavy tailed: squares of one over a uniform number */
		req_span(&m, 0, "front", "GET /", 0, 10 + 1000000 / (1 + req_random(&m, 1000)));
		for (uint32_t k = 0; k < 100; k++) {
			snprintf(name, sizeof(name), "k%u", k);
			req_num(&m, name, (double)req_random(&m, k % 2 ? 3 : 1000));
		}
		requests_add(r, req_trace(&m));
	}
	result = requests_finish(r, &arena);
	OK(result->stats.test_cnt >= 100);
	OK(result->types[0].groups[0].key_cnt <= 1);
	requests_free(r);
	arena_release(&arena);
	req_release(&m);
}

/* A number as the bins of a key: paths that are the same but for it are apart. */
TEST(requests_bins_part_paths)
{
	const double bounds[] = {500};
	const struct key_spec specs[] = {
		{.name = "rows", .bounds = bounds, .bound_cnt = 1}, {.name = "tenant"}};
	const struct requests_opts opts = {.keys = specs, .key_cnt = 2};
	struct req_maker m = {.random = 11};
	struct requests *r = requests_new(&opts, &m.strings, &m.points);
	struct arena arena = {0};
	const struct requests_result *result;

	for (uint64_t i = 1; i <= 800; i++)
		requests_add(r, explained_by_keys(&m, i));
	result = requests_finish(r, &arena);
	EQ_U(result->types[0].group_cnt, 8);
	OK(result->types[0].between_share > 0.85);
	for (uint32_t i = 0; i < 8; i++) {
		const struct request_group *g = &result->types[0].groups[i];
		const char *rows = strtab_str(&m.strings, g->bins[0].label);

		EQ_U(g->bin_cnt, 2);
		OK(!strcmp(rows, "rows<500") || !strcmp(rows, "rows>=500"));
		OK(!strncmp(strtab_str(&m.strings, g->bins[1].label), "tenant=", 7));
	}
	requests_free(r);
	arena_release(&arena);
	req_release(&m);
}

/* Paths that are all different; those on which the archive is asked three times take longer. */
TEST(requests_coarse_groups_are_parted_by_where_paths_lead)
{
	static const char *const services[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct req_maker m = {.random = 17};
	struct requests *r = requests_new(NULL, &m.strings, &m.points);
	struct arena arena = {0};
	const struct requests_result *result;
	const struct request_type *type;
	uint64_t with = 0;

	for (uint64_t i = 1; i <= 400; i++) {
		int64_t at = 10;
		uint64_t root;

		req_begin(&m, i);
		root = req_span(&m, 0, "front", "GET /doc", 0, 0);
		for (uint32_t k = 0; k < 8; k++, at += 2000)
			req_span(&m, root, services[req_random(&m, 8)],
				 k % 2 ? "read" : "write", at, at + 1000 + req_random(&m, 900));
		for (uint32_t k = 0; k < (i % 4 ? 2 : 4); k++, at += 5010)
			req_span(&m, root, "archive", "ask", at, at + 5000);
		m.spans.items[0].end_ns = (at + 10) * 1000;
		requests_add(r, req_trace(&m));
	}
	result = requests_finish(r, &arena);
	type = &result->types[0];
	OK(type->levels[0].usable_cnt == 0 && type->usable_cnt == 400);
	OK(type->between_share > 0.9);
	for (uint32_t i = 0; i < type->group_cnt; i++) {
		const struct request_group *g = &type->groups[i];

		OK(g->rule_cnt >= 1);
		EQ_U(g->rules[0].times, 4);
		EQ_S(strtab_str(&m.strings, m.points.items.items[g->rules[0].point].service),
		     "archive");
		with += g->rules[0].holds ? g->latency.cnt : 0;
	}
	EQ_U(with, 100);
	requests_free(r);
	arena_release(&arena);
	req_release(&m);
}

TEST(requests_of_nothing)
{
	const struct requests_opts opts = {.min_cnt = 1};
	struct req_maker m = {.random = 1};
	struct requests *r = requests_new(&opts, &m.strings, &m.points);
	struct arena arena = {0};
	const struct requests_result *result = requests_finish(r, &arena);
	struct request_explain e;

	EQ_U(result->type_cnt, 0);
	EQ_U(result->problem_cnt, 0);
	req_begin(&m, 1);
	requests_add(r, req_trace(&m));
	OK(requests_explain(r, result, req_trace(&m), &arena, &e) < 0);
	req_begin(&m, 2);
	req_span(&m, 0, "front", "GET /", 5, 5);
	EQ_I(requests_explain(r, result, req_trace(&m), &arena, &e), 0);
	EQ_U(e.type, REQUEST_ALL);
	requests_add(r, req_trace(&m));
	result = requests_finish(r, &arena);
	EQ_U(result->stats.bad_cnt, 1);
	EQ_U(result->type_cnt, 1);
	EQ_U(result->types[0].groups[0].latency.cnt, 1);
	EQ_U(result->problem_cnt, 0);
	EQ_I(requests_explain(r, result, req_trace(&m), &arena, &e), 0);
	EQ_U(e.type, 0);
	requests_free(r);
	arena_release(&arena);
	req_release(&m);
}

/* Told apart up to a bound; over it a call that is made again is one edge with the others. */
TEST(requests_of_long_paths)
{
	struct req_maker m = {.random = 1};
	struct requests *r = requests_new(NULL, &m.strings, &m.points);
	struct arena arena = {0};
	const struct requests_result *result;
	const struct request_group *g;
	double sum = 0;

	for (uint64_t i = 1; i <= 30; i++) {
		uint64_t root;

		req_begin(&m, i);
		root = req_span(&m, 0, "front", "GET /all", 0, 2000000);
		for (int64_t call = 0; call < 700; call++)
			req_span(&m, root, "db", call % 2 ? "query" : "count", 1000 * call + 10,
				 1000 * call + 10 + (call % 2 ? 400 + (int64_t)i : 100));
		requests_add(r, req_trace(&m));
	}
	result = requests_finish(r, &arena);
	g = &result->types[0].groups[0];
	EQ_U(result->stats.folded_edge_cnt, 0);
	/* begin to the first, in either, from either to the other, from the last to the end */
	EQ_U(g->edge_cnt, 6);
	EQ_U(result->stats.united_edge_cnt, 30 * (2 * 700 + 1 - 6));
	for (uint32_t i = 0; i < g->edge_cnt; i++) {
		EQ_U(g->edges[i].key.occurrence, EDGE_ALL);
		EQ_U(g->edges[i].present_cnt, 30);
		sum += g->edges[i].latency.mean_ns;
	}
	OK(near(sum, g->latency.mean_ns, 1));
	OK(near(edge_of(&m, g, "db")->latency.mean_ns, 350 * 100e3, 1) ||
	   near(edge_of(&m, g, "db")->latency.mean_ns, 350 * 415.5e3, 1));
	requests_free(r);
	arena_release(&arena);
	req_release(&m);
}

/* One of 150 tenants, in as small a part of the requests. */
TEST(requests_keys_of_rare_values)
{
	struct req_maker m = {.random = 5};
	struct requests *r = requests_new(NULL, &m.strings, &m.points);
	struct arena arena = {0};
	const struct requests_result *result;
	const struct request_key *key;

	for (uint64_t i = 1; i <= 1000; i++) {
		int64_t tenant = req_random(&m, 150);
		char name[24];

		req_begin(&m, i);
		req_span(&m, 0, "front", "GET /a", 0,
			 5000 + req_random(&m, 1000) + (tenant == 77 ? 40000 : 0));
		snprintf(name, sizeof(name), "t%" PRId64, tenant);
		req_str(&m, "tenant", name);
		snprintf(name, sizeof(name), "c%" PRId64, req_random(&m, 150));
		req_str(&m, "colour", name);
		requests_add(r, req_trace(&m));
	}
	result = requests_finish(r, &arena);
	key = key_of(&m, &result->types[0].groups[0], "tenant");
	OK(key && key->explains && key->strength > 0.8);
	EQ_U(key->told_cnt, 1);
	EQ_S(strtab_str(&m.strings, key->values[0].str), "t77");
	OK(!key_of(&m, &result->types[0].groups[0], "colour"));
	requests_free(r);
	arena_release(&arena);
	req_release(&m);
}
