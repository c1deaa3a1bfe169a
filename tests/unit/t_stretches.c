/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "trace/trace.h"
#include "requests/graph/critical.h"
#include "requests/graph/graph.h"
#include "requests/lost_spans.h"

enum { STEPS_MAX = 64 };

/* "P( a( a) P)": each begins or ends; a letter is a span, and its tracepoint in lower case. */
static void path_of(const char *text, struct cstep *steps, struct cpath *ret)
{
	uint32_t stack[STEPS_MAX] = {0}, depth = 0, cnt = 0;

	for (const char *at = text; *at; at++) {
		uint32_t span = (uint32_t)at[0];
		bool begin = at[1] == '(';

		if (*at == ' ')
			continue;
		steps[cnt] = (struct cstep){
			.edge_ns = cnt ? 10 : 0, .span = span, .point = span | 0x20,
			.kind = begin ? NODE_ENTRY : NODE_EXIT,
			.owner = begin && depth ? stack[depth - 1] : span};
		if (begin)
			stack[depth++] = span;
		else
			depth--;
		cnt++;
		at++;
	}
	*ret = (struct cpath){.steps = steps, .step_cnt = cnt};
}

static void put(void *ctx, const struct stretch *s)
{
	buf_printf(ctx, "%s%c%c %c%c %u", ((struct buf *)ctx)->len ? ", " : "", s->from.point,
		   s->from.kind == NODE_ENTRY ? '(' : ')', s->to.point,
		   s->to.kind == NODE_ENTRY ? '(' : ')', (unsigned)s->took_ns);
}

TEST(stretches_are_of_one_span_that_ran)
{
	static const struct {
		const char *path, *stretches;
	} rows[] = {
		{"p( p)", ""},
		{"p( a( a) p)", "p( p) 30"},
		{"p( a( a) b( b) p)", "p( b( 30, p( p) 50, a) p) 30"},
		{"p( a( b( b) a) p)", "a( a) 30, p( p) 50"},
		/* the same call again and again: only from the last to what comes after */
		{"p( a( a) A( A) p)", "p( p) 50"},
		{"p( a( a) b( b) A( A) p)", "p( b( 30, p( p) 70, a) a( 30, b) p) 30"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct stretches *s = stretches_new();
		struct cstep steps[STEPS_MAX];
		const struct trace_id id = {1, 2};
		struct buf got = {0};
		struct cpath path;

		ROW(i);
		path_of(rows[i].path, steps, &path);
		stretches_add(s, EDGE_RANK_BAD, &id, 1, &path);
		stretches_each(s, EDGE_RANK_BAD, put, &got);
		EQ_S(buf_str(&got), rows[i].stretches);
		buf_clear(&got);
		stretches_each(s, EDGE_RANK_GOOD, put, &got);
		EQ_S(buf_str(&got), "");
		buf_release(&got);
		stretches_free(s);
	}
}

struct sums {
	uint64_t digest, cnt, weight, roots_seen;
	bool seen[2 * STRETCHES_ROOTS_MAX];
};

static void sum(void *ctx, const struct stretch *s)
{
	struct sums *sums = ctx;

	sums->digest += hash_pair(s->took_ns, hash_pair(s->from.point, s->weight));
	sums->cnt++;
	sums->weight += s->weight;
	sums->roots_seen += !sums->seen[s->from.point];
	sums->seen[s->from.point] = true;
}

/* One stretch each; the root is one of so many, the first of them in half of the requests. */
static void add(struct stretches *s, uint32_t i, uint32_t root_cnt)
{
	uint32_t root = i % 2 ? i / 2 % root_cnt : 0;
	struct cstep steps[] = {
		{.point = root, .kind = NODE_ENTRY},
		{.edge_ns = i, .point = 999, .kind = NODE_ENTRY, .owner = 0, .span = 1},
		{.edge_ns = 5, .point = 999, .kind = NODE_EXIT, .owner = 1, .span = 1},
		{.edge_ns = 5, .point = root, .kind = NODE_EXIT},
	};
	struct cpath path = {.steps = steps, .step_cnt = 4};

	stretches_add(s, EDGE_RANK_GOOD, &(struct trace_id){7, i}, root, &path);
}

TEST(stretches_kept_are_the_same_in_any_order)
{
	static const struct {
		uint32_t cnt, roots;
	} rows[] = {{100, 1}, {10000, 1}, {40000, 100}, {40000, STRETCHES_ROOTS_MAX},
		    {40000, 2 * STRETCHES_ROOTS_MAX}};

	for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
		struct stretches *up = stretches_new(), *down = stretches_new();
		struct sums a = {0}, b = {0};

		ROW(r);
		for (uint32_t i = 0; i < rows[r].cnt; i++) {
			add(up, i, rows[r].roots);
			add(down, rows[r].cnt - 1 - i, rows[r].roots);
		}
		stretches_each(up, EDGE_RANK_GOOD, sum, &a);
		stretches_each(down, EDGE_RANK_GOOD, sum, &b);
		EQ_U(a.digest, b.digest);
		OK(a.roots_seen == rows[r].roots || rows[r].roots > STRETCHES_ROOTS_MAX);
		OK(a.cnt <= STRETCHES_SLOTS);
		OK(a.weight > rows[r].cnt * 9 / 10 && a.weight < rows[r].cnt * 11 / 10);
		stretches_free(up);
		stretches_free(down);
	}
}

/* Roots over the bound share the room of others; a path too long is left out. */
TEST(stretches_are_bounded)
{
	struct cstep steps[STRETCHES_STEPS_MAX + 1] = {0};
	struct cpath path = {.steps = steps, .step_cnt = STRETCHES_STEPS_MAX + 1};
	struct stretches *s = stretches_new();
	struct sums sums = {0};

	stretches_add(s, EDGE_RANK_GOOD, &(struct trace_id){1, 1}, 1, &path);
	stretches_each(s, EDGE_RANK_GOOD, sum, &sums);
	EQ_U(sums.cnt, 0);
	for (uint32_t i = 0; i < 60000; i++)
		add(s, i, 2 * STRETCHES_ROOTS_MAX);
	stretches_each(s, EDGE_RANK_GOOD, sum, &sums);
	OK(sums.cnt <= STRETCHES_SLOTS);
	OK(sums.roots_seen >= STRETCHES_ROOTS_MAX);
	stretches_free(s);
}
