/* SPDX-License-Identifier: Apache-2.0 */
/* The answer does not depend on the order of traces, not by a bit. */
#include <math.h>
#include <stdio.h>

#include "requests/requests.h"
#include "requests/requests_int.h"

#include "req_make.h"
#include "unit.h"

/*
 * Request number id, always the same: of two types, calls at once so that many
 * paths come up, some with keys, some slow.
 */
static const struct trace *request(struct req_maker *m, uint64_t id, uint32_t rounds)
{
	static const char *const services[] = {"user", "media", "text", "movie", "rate", "plot"};
	char key[16];
	uint64_t root;
	int64_t end = 0;

	m->random = hash_u64(id);
	req_begin(m, id);
	root = req_span(m, 0, "front", id % 5 ? "compose" : "browse", 0, 0);
	req_num(m, "size", (double)req_random(m, 5000));
	for (uint32_t i = 0; i < 3 * rounds; i++) {
		int64_t begin = i % 3 ? end : end + 10, took = 50 + req_random(m, 4000);

		if (i % 3 == 0)
			end = begin;
		req_span(m, root, services[(i % 3) + 3 * (id % 2)], "call", begin, begin + took);
		snprintf(key, sizeof(key), "k%d", (int)req_random(m, 6));
		req_str(m, key, services[req_random(m, 6)]);
		if (i % 3 == 2)
			for (uint32_t j = 0; j < 3; j++)
				end = m->spans.items[m->spans.cnt - 1 - j].end_ns / 1000 > end
					      ? m->spans.items[m->spans.cnt - 1 - j].end_ns / 1000
					      : end;
	}
	m->spans.items[0].end_ns = (end + 20 + (id % 40 ? 0 : 90000)) * 1000;
	return req_trace(m);
}

/* step and cnt without a common factor: each request once, in another order. */
static uint64_t run(uint64_t cnt, uint64_t step, uint32_t rounds, bool ask_before,
		    struct requests_stats *ret_stats)
{
	struct req_maker m = {.random = 1};
	struct requests *r = requests_new(NULL, &m.strings, &m.points);
	struct arena arena = {0};
	const struct requests_result *result;
	uint64_t digest;

	for (uint64_t i = 0; i < cnt; i++) {
		requests_add(r, request(&m, 1 + i * step % cnt, rounds));
		if (ask_before && i == cnt / 2)
			requests_finish(r, &arena);
	}
	result = requests_finish(r, &arena);
	digest = req_digest(&m, result);
	*ret_stats = result->stats;
	requests_free(r);
	arena_release(&arena);
	req_release(&m);
	return digest;
}

TEST(requests_order_changes_nothing)
{
	struct requests_stats stats;
	uint64_t digest = run(1500, 1, 3, false, &stats);

	EQ_U(stats.trace_cnt, 1500);
	OK(stats.test_cnt > 20);
	EQ_U(run(1500, 1499, 3, false, &stats), digest);
	EQ_U(run(1500, 707, 3, false, &stats), digest);
	OK(run(1499, 1, 3, false, &stats) != digest);
	/* nor does asking in between */
	EQ_U(run(1500, 11, 3, true, &stats), digest);
}

/* Nor when there are more paths than are kept apart. */
TEST(requests_order_changes_nothing_over_the_bound)
{
	const uint64_t cnt = LEAVES_MAX * 2 + 1;
	struct requests_stats stats;
	uint64_t digest = run(cnt, 1, 9, false, &stats);

	OK(stats.merged_cnt >= 1);
	EQ_U(run(cnt, cnt - 1, 9, false, &stats), digest);
	EQ_U(run(cnt, 2600, 9, true, &stats), digest);
}

/* Nor when paths that are long and many are few enough but too big together. */
TEST(requests_order_changes_nothing_over_the_bound_of_columns)
{
	enum { PATHS = 280, STEPS = 120, EACH = ACC_RAW + 2 };
	uint64_t digests[2];

	for (uint32_t backward = 0; backward < 2; backward++) {
		struct req_maker m = {.random = 1};
		struct requests *r = requests_new(NULL, &m.strings, &m.points);
		struct arena arena = {0};
		const struct requests_result *result;

		for (uint32_t n = 0; n < PATHS * EACH; n++) {
			uint32_t id = backward ? PATHS * EACH - n : n + 1;
			uint64_t root;
			char name[16];

			m.random = id;
			req_begin(&m, id);
			root = req_span(&m, 0, "front", "get", 0, STEPS * 10 + 100);
			for (uint32_t s = 0; s < STEPS; s++) {
				snprintf(name, sizeof(name), "%u", s * (1 + id % PATHS) % 509);
				req_span(&m, root, "step", name, s * 10 + 1,
					 s * 10 + 2 + req_random(&m, 7));
			}
			requests_add(r, req_trace(&m));
		}
		result = requests_finish(r, &arena);
		EQ_U(result->stats.merged_cnt, 1);
		digests[backward] = req_digest(&m, result);
		requests_free(r);
		arena_release(&arena);
		req_release(&m);
	}
	EQ_U(digests[0], digests[1]);
}
