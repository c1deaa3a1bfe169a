/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are spans of up to eight requests: wild times, parents that are
 * not there or in rings, values of all types.  Whatever comes, the answer does
 * not depend on the order of the requests, shares add to 1, each request can
 * be explained, and its path is the same with and without its graph, also those
 * of what its messages began.
 */
#include "fuzz.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/bug.h"
#include "base/vec.h"
#include "trace/points.h"
#include "requests/graph/critical.h"
#include "requests/graph/async_split.h"
#include "requests/graph/graph.h"
#include "requests/graph/critical_fast.h"
#include "requests/requests.h"
#include "requests/clocks/skew.h"
#include "requests/graph/synthetic_root.h"
#include "requests/tree/tree.h"

enum { TRACES = 8, SPANS_MAX = 64, SPAN_BYTES = 14 };

struct request {
	VEC(struct span) spans;
	VEC(struct attr) attrs;
};

struct world {
	struct strtab strings;
	struct points points;
	struct arena arena;
	struct request requests[TRACES];
};

static uint32_t name_of(struct world *w, uint8_t byte)
{
	char name[2] = {(char)('a' + byte % 16), 0};

	return strtab_add(&w->strings, name);
}

/* Times from nanoseconds to centuries, and back. */
static int64_t time_of(uint8_t size, uint8_t value)
{
	int64_t t = (int64_t)((uint64_t)value << size % 54);

	return size & 0x80 ? -t : t;
}

static void take_span(struct world *w, const uint8_t *b)
{
	struct request *r = &w->requests[b[0] % TRACES];
	struct span s = {.id = 1 + b[1] % 16,
			 .parent = b[2] % 20,
			 .service = name_of(w, b[3] % 4),
			 .name = name_of(w, b[3] / 4),
			 .host = b[4] & 8 ? name_of(w, b[4]) : 0,
			 .kind = b[4] % 6,
			 .flags = b[5] & 0xf,
			 .begin_ns = time_of(b[6], b[7]),
			 .attr_idx = (uint32_t)r->attrs.cnt};
	struct attr a = {.key = name_of(w, b[10]), .type = b[11] % 3};

	if (r->spans.cnt >= SPANS_MAX)
		return;
	s.end_ns = s.begin_ns + time_of(b[8], b[9]);
	if (s.flags & (SPANF_POINT | SPANF_OPEN))
		s.end_ns = s.begin_ns;
	if (a.type == ATTR_STR)
		a.str = name_of(w, b[12]);
	else
		a.num = b[13] == 255 ? NAN : b[13] == 254 ? INFINITY : ldexp(b[12], b[13]);
	if (b[10] & 0x80) {
		s.attr_cnt = 1;
		vec_push(&r->attrs, a);
	}
	vec_push(&r->spans, s);
}

/* Half of them as they are, since several roots must not hurt the graph either. */
static struct trace trace_of(struct world *w, uint32_t i, uint64_t copy)
{
	const struct request *r = &w->requests[i];
	struct trace t = {.id = {i + 1, copy},
			  .spans = r->spans.items,
			  .span_cnt = (uint32_t)r->spans.cnt,
			  .attrs = r->attrs.items,
			  .attr_cnt = (uint32_t)r->attrs.cnt};
	struct stand_in_stats rooted = {0};
	struct trace ret = t;

	if (i % 2)
		stand_in(&t, &w->strings, &w->arena, &rooted, &ret);
	return ret;
}

static void check_path(struct world *w, const struct trace *trace)
{
	struct graph_stats stats = {0}, quick_stats = {0};
	struct tree_ctx ctx = {&w->points, &w->strings, &w->arena, &quick_stats};
	struct graph graph, quick_graph;
	struct cpath path, quick;

	if (graph_build(trace, &w->points, &w->strings, &w->arena, &graph, &stats) < 0) {
		BUG_ON(quick_path(&ctx, trace, NULL, &quick_graph, &quick) >= 0);
		return;
	}
	BUG_ON(critical_path(&graph, &w->points, &w->arena, &path) < 0 ||
	       quick_path(&ctx, trace, NULL, &quick_graph, &quick) < 0);
	BUG_ON(memcmp(&stats, &quick_stats, sizeof(stats)) != 0 || path.hash != quick.hash ||
	       path.total_ns != quick.total_ns || path.step_cnt != quick.step_cnt ||
	       graph.type_hash != quick_graph.type_hash ||
	       memcmp(path.steps, quick.steps, path.step_cnt * sizeof(*path.steps)) != 0);
}

static int check_part(void *ctx, const struct trace *part)
{
	check_path(ctx, part);
	return 0;
}

/* Clocks from all copies of all requests; a span is moved as a whole or stands at an end. */
static void run_clocks(struct world *w)
{
	struct skew *s = skew_new(&w->strings);

	for (uint32_t n = 0; n < TRACES * 6; n++) {
		struct trace t = trace_of(w, n % TRACES, n / TRACES);

		if (t.span_cnt)
			skew_learn(s, &t);
	}
	skew_finish(s);
	for (uint32_t n = 0; n < TRACES; n++) {
		struct trace t = trace_of(w, n, 0), mended;

		skew_mend(s, &t, &w->arena, &mended);
		BUG_ON(mended.span_cnt != t.span_cnt);
		for (uint32_t i = 0; i < t.span_cnt; i++)
			BUG_ON((mended.spans[i].end_ns < mended.spans[i].begin_ns) !=
			       (t.spans[i].end_ns < t.spans[i].begin_ns));
	}
	skew_free(s);
}

static void check_group(const struct request_group *g)
{
	double share = 0, owners = 0, sure = 1e-6;

	for (uint32_t i = 0; i < g->edge_cnt; i++) {
		share += g->edges[i].share;
		sure += fabs(g->edges[i].share) * 4 * DBL_EPSILON;	/* two of 1e11 cancel out */
	}
	for (uint32_t i = 0; i < g->owner_cnt; i++)
		owners += g->owners[i].share;
	if (g->latency.sd_ns > 0 && g->edge_cnt)
		BUG_ON(fabs(share - 1) > sure || fabs(owners - 1) > sure);
}

/* The figures of all groups one after the other, to be compared. */
static double run(struct world *w, bool backward)
{
	struct requests *r = requests_new(NULL, &w->strings, &w->points);
	const struct requests_result *result;
	double sum = 0;

	for (uint32_t n = 0; n < TRACES * 6; n++) {
		uint32_t at = backward ? TRACES * 6 - 1 - n : n;
		struct trace t = trace_of(w, at % TRACES, at / TRACES);

		requests_add(r, &t);
	}
	result = requests_finish(r, &w->arena);
	for (uint32_t t = 0; t < result->type_cnt; t++) {
		for (uint32_t g = 0; g < result->types[t].group_cnt; g++) {
			const struct request_group *group = &result->types[t].groups[g];

			check_group(group);
			sum = sum * 3 + group->latency.mean_ns + group->latency.p95_ns +
			      (double)(group->hash >> 40) + (double)group->slow.id.lo +
			      (group->edge_cnt ? group->edges[0].share : 0);
		}
	}
	for (uint32_t i = 0; i < TRACES; i++) {
		struct detach_stats detached = {0};
		struct request_explain e;
		struct trace t = trace_of(w, i, 0);

		requests_explain(r, result, &t, &w->arena, &e);
		check_path(w, &t);
		BUG_ON(detach_each(&t, &w->arena, &detached, check_part, w) != 0);
	}
	requests_free(r);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {0};
	double forth, back;

	for (size_t i = 0; i + SPAN_BYTES <= size; i += SPAN_BYTES)
		take_span(&w, data + i);
	run_clocks(&w);
	forth = run(&w, false);
	back = run(&w, true);
	BUG_ON(memcmp(&forth, &back, sizeof(forth)) != 0);
	for (uint32_t i = 0; i < TRACES; i++) {
		vec_release(&w.requests[i].spans);
		vec_release(&w.requests[i].attrs);
	}
	strtab_release(&w.strings);
	points_release(&w.points);
	arena_release(&w.arena);
	return 0;
}
