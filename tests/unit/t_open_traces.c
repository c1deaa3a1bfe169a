/* SPDX-License-Identifier: Apache-2.0 */
/* Traces that are completed by time-out, in bounded memory. */
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "spans/live/open_traces.h"
#include "unit.h"

struct got {
	unsigned trace_cnt, span_cnt, largest;
	uint64_t last_lo;
	uint32_t name;
};

static void take(void *ctx, const struct trace *t)
{
	struct got *g = ctx;

	g->trace_cnt++;
	g->span_cnt += t->span_cnt;
	g->largest = t->span_cnt > g->largest ? t->span_cnt : g->largest;
	g->last_lo = t->id.lo;
	g->name = t->spans[0].name;
	EQ_U(t->attr_cnt, 0);
}

static struct open_traces *start(struct got *g, uint64_t max_bytes)
{
	const struct open_traces_opts opts = {.max_bytes = max_bytes, .ctx = g, .trace = take};

	return open_traces_new(&opts);
}

static bool add(struct open_traces *o, uint64_t trace, uint64_t id, uint64_t parent, double s)
{
	const struct trace_id t = {.lo = trace};
	const struct span span = {.id = id, .parent = parent, .name = 7, .attr_cnt = 3};

	return open_traces_add(o, &t, &span, (uint64_t)(s * 1e9));
}

static void step(struct open_traces *o, double s)
{
	open_traces_step(o, (uint64_t)(s * 1e9));
}

TEST(open_traces_complete_when_quiet)
{
	struct got g = {0};
	struct open_traces *o = start(&g, 0);

	OK(add(o, 1, 10, 0, 1));
	OK(add(o, 1, 11, 10, 5)); /* joins after its root, and the quiet begins anew */
	OK(add(o, 2, 20, 99, 5)); /* without root: waits longer */
	step(o, 10.9);
	EQ_U(g.trace_cnt, 0);
	step(o, 11.1);
	EQ_U(g.trace_cnt, 1);
	EQ_U(g.span_cnt, 2);
	step(o, 19.9);
	EQ_U(g.trace_cnt, 1);
	step(o, 20.1);
	EQ_U(g.trace_cnt, 2);
	OK(!add(o, 1, 12, 10, 21)); /* late */
	EQ_U(open_traces_stats(o)->late_cnt, 1);
	EQ_U(open_traces_stats(o)->joined_cnt, 1);
	EQ_U(open_traces_stats(o)->rootless_cnt, 1);
	EQ_U(open_traces_stats(o)->open_cnt, 0);
	open_traces_free(o);
}

TEST(open_traces_stay_in_bounds)
{
	struct got g = {0};
	struct open_traces *o = start(&g, 100000);
	const struct open_traces_stats *st;
	uint64_t kept = 0;

	for (uint64_t i = 0; i < 20000; i++)
		kept += add(o, 1 + i / 2, 1 + i, i % 2, 1);
	st = open_traces_stats(o);
	OK(st->early_cnt > 9000 && st->open_cnt < 400);
	open_traces_step(o, UINT64_MAX);
	EQ_U(g.span_cnt, kept);
	EQ_U(st->trace_cnt, 10000);
	for (uint64_t i = 0; i < OPEN_TRACE_SPANS_MAX + 10; i++)
		add(o, 50000, i + 1, i, 2);
	open_traces_step(o, UINT64_MAX);
	OK(g.largest < OPEN_TRACE_SPANS_MAX); /* memory is less than one such trace takes */
	open_traces_free(o);
}

TEST(open_traces_of_too_many_spans_are_cut)
{
	struct got g = {0};
	struct open_traces *o = start(&g, 0);

	for (uint64_t i = 0; i < OPEN_TRACE_SPANS_MAX + 10; i++)
		EQ_I(add(o, 5, i + 1, i, 2), i < OPEN_TRACE_SPANS_MAX);
	open_traces_step(o, UINT64_MAX);
	EQ_U(g.largest, OPEN_TRACE_SPANS_MAX);
	EQ_U(open_traces_stats(o)->cut_cnt, 10);
	open_traces_free(o);
}

static uint32_t rename_one(void *ctx, uint32_t id)
{
	(void)ctx;
	return id == 7 ? 1 : 0;
}

TEST(open_traces_get_new_names)
{
	struct got g = {0};
	struct open_traces *o = start(&g, 0);

	add(o, 5, 1, 0, 2);
	open_traces_rename(o, rename_one, NULL);
	open_traces_step(o, UINT64_MAX);
	EQ_U(g.name, 1);
	open_traces_free(o);
}
