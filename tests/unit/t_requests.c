/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "requests/critical.h"
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
	for (uint32_t i = 0; i < type->level_cnt; i++) {
		OK(type->levels[i].between_share <= before + 1e-12);
		before = type->levels[i].between_share;
	}
	OK(near(before, 0, 1e-12));
	requests_free(r);
	arena_release(&arena);
	req_release(&m);
}
