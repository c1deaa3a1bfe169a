/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "req_make.h"
#include "requests/stats/exemplars.h"
#include "requests/requests.h"
#include "unit.h"

/*
 * All take as long, but every fourth spends its time where the others do not:
 * by their totals nobody could tell which is typical.
 */
TEST(examples_typical_is_the_medoid)
{
	for (uint64_t seed = 0; seed < 24; seed++) {
		struct req_maker m = {.random = seed + 1};
		struct requests *r = requests_new(NULL, &m.strings, &m.points);
		const struct requests_result *result;
		struct arena arena = {0};
		const struct request_copy *typical;
		const struct span *first;

		for (uint64_t i = 0; i < 60; i++) {
			int64_t a = (i % 4 == 3 ? 70000 : 30000) + req_random(&m, 2000);
			uint64_t root;

			req_begin(&m, hash_pair(seed, i));
			root = req_span(&m, 0, "s", "GET /", 0, 100000);
			req_span(&m, root, "s", "first", 0, a);
			req_span(&m, root, "s", "second", a, 100000);
			requests_add(r, req_trace(&m));
		}
		result = requests_finish(r, &arena);
		ROW(seed);
		EQ_U(result->types[0].group_cnt, 1);
		typical = &result->types[0].groups[0].typical;
		OK(typical->trace && typical->trace->span_cnt == 3);
		first = &typical->trace->spans[1];
		OK(first->end_ns - first->begin_ns < 40000000);
		requests_free(r);
		arena_release(&arena);
		req_release(&m);
	}
}

enum { MEMBERS = 401 /* a prime: steps go round */, SPANS_BIG = 200 };

static void add_member(struct copies *c, uint64_t i)
{
	static const struct span spans[SPANS_BIG];
	struct trace trace = {.id = {.lo = i + 1},
			      .spans = spans,
			      .span_cnt = hash_u64(i) % 3 ? 3 : SPANS_BIG};

	copies_add(c, &trace, hash_u64(i + 1000) % 300, (int64_t)(1000 + hash_u64(i + 5) % 9000));
}

static uint64_t copies_digest(const struct copies *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->items.cnt; i++)
		sum += hash_pair(c->items.items[i].id.lo, c->items.items[i].trace->span_cnt);
	return hash_pair(sum, c->items.cnt);
}

/* Big and small ones, some of equal hash, in any order and from any parts. */
TEST(examples_kept_do_not_depend_on_order)
{
	struct copies first = {0};

	for (uint64_t i = 0; i < MEMBERS; i++)
		add_member(&first, i);
	OK(first.items.cnt > 20);
	for (uint64_t step = 3; step < 60; step += 2) {
		struct copies halves[2] = {0};

		for (uint64_t i = 0; i < MEMBERS; i++)
			add_member(&halves[i % 5 > step % 4], i * step % MEMBERS);
		ROW(step);
		copies_move(&halves[0], &halves[1]);
		EQ_U(copies_digest(&halves[0]), copies_digest(&first));
		copies_release(&halves[0]);
	}
	copies_release(&first);
}

/* No more than a few of each size. */
TEST(examples_kept_are_few)
{
	struct copies c = {0};
	uint32_t most = 0;

	for (uint64_t i = 0; i < MEMBERS; i++)
		add_member(&c, i);
	for (size_t i = 0; i < c.items.cnt; i++) {
		uint32_t same = 0;

		for (size_t k = 0; k < c.items.cnt; k++)
			same += c.items.items[k].bucket == c.items.items[i].bucket;
		if (same > most)
			most = same;
	}
	EQ_U(most, COPY_MORE + 1);
	copies_release(&c);
}
