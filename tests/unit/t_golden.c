/* SPDX-License-Identifier: Apache-2.0 */
/* Real traces, and those of the Jaeger UI's own tests with the answers it expects. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "trace/points.h"
#include "requests/graph/critical.h"
#include "requests/graph/graph.h"
#include "requests/graph/synthetic_root.h"
#include "spans/assemble.h"
#include "spans/spans.h"
#include "unit.h"

#define DATA "../shared/data/traces/"

struct loaded {
	struct strtab strings;
	struct points points;
	struct assembler *assembler;
};

static int give(void *ctx, const struct trace_id *trace, const struct span *span,
		const struct attr *attrs, const struct span_ref *refs)
{
	return assembler_add(ctx, trace, span, attrs, refs);
}

static void load(struct loaded *l, const char *path, const char *text)
{
	struct span_sink sink = {.span = give};
	struct spans_stats stats;
	struct err err = {0};

	l->assembler = sink.ctx = assembler_new(NULL, &err);
	if (text)
		spans_read_bytes(text, strlen(text), path, NULL, &l->strings, &sink, &stats, &err);
	else
		spans_read(path, NULL, &l->strings, &sink, &stats, &err);
	EQ_S(err.msg, "");
	EQ_U(stats.bad_cnt, 0);
}

static void unload(struct loaded *l)
{
	assembler_free(l->assembler);
	points_release(&l->points);
	strtab_release(&l->strings);
}

struct golden {
	struct loaded l;
	struct buf got;
};

static int sections_take(void *ctx, const struct trace *trace)
{
	struct golden *g = ctx;
	struct arena arena = {0};
	struct graph_stats stats = {0};
	const struct csection *sections;
	struct graph graph;
	struct cpath path;
	int64_t base;
	size_t cnt;

	EQ_I(graph_build(trace, &g->l.points, &g->l.strings, &arena, &graph, &stats), 0);
	EQ_I(critical_path(&graph, &g->l.points, &arena, &path), 0);
	sections = critical_sections(&path, &arena, &cnt);
	base = trace->spans[graph.root_span].begin_ns / 1000;
	while (cnt-- > 0)
		buf_printf(&g->got, "%016" PRIx64 " %" PRId64 "-%" PRId64 "\n",
			   trace->spans[sections[cnt].span].id,
			   base + sections[cnt].begin_ns / 1000,
			   base + sections[cnt].end_ns / 1000);
	arena_release(&arena);
	return 0;
}

/* The object that "trace": names, as Jaeger's API would give it; what follows it in *ret_rest. */
static char *trace_of(const char *text, const char **ret_rest)
{
	const char *trace = strstr(text, "\"trace\":");
	const char *rest = strstr(text, "\"criticalPathSections\"");
	char *document;
	size_t len;

	OK(trace && rest);
	trace += strlen("\"trace\":");
	len = (size_t)(rest - trace);
	while (len && trace[len - 1] != '}')
		len--;
	document = malloc(len + 32);
	snprintf(document, len + 32, "{\"data\": [%.*s]}", (int)len, trace);
	*ret_rest = rest;
	return document;
}

static void sections_want(const char *rest, struct buf *out)
{
	char id[64];
	long begin, end;

	for (; (rest = strstr(rest, "\"spanID\"")); rest++) {
		EQ_I(sscanf(rest, "\"spanID\": \"%63[^\"]\", \"sectionStart\": %ld, "
				  "\"sectionEnd\": %ld", id, &begin, &end), 3);
		buf_printf(out, "%016" PRIx64 " %ld-%ld\n", hash_bytes(id, strlen(id)), begin, end);
	}
}

TEST(golden_sections_of_the_jaeger_ui)
{
	static const int numbers[] = {1, 2, 4, 5, 6, 8};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct golden g = {0};
		struct buf text = {0}, want = {0};
		struct assembler_stats stats;
		char path[128], *document;
		const char *rest;

		ROW(numbers[i]);
		snprintf(path, sizeof(path), DATA "golden/jaeger-ui-critical-path-%d.json",
			 numbers[i]);
		if (file_read(path, 1 << 20, &text, NULL) < 0)
			SKIP("no ../shared/data");
		document = trace_of(buf_str(&text), &rest);
		sections_want(rest, &want);
		load(&g.l, path, document);
		EQ_I(assembler_finish(g.l.assembler, sections_take, &g, &stats, NULL), 0);
		EQ_U(stats.trace_cnt, 1);
		EQ_S(buf_str(&g.got), buf_str(&want));
		unload(&g.l);
		free(document);
		buf_release(&text);
		buf_release(&want);
		buf_release(&g.got);
	}
}

struct real {
	struct loaded l;
	struct arena arena;
	struct graph_stats stats;
	uint64_t trace_cnt, step_cnt;
	int64_t longest_ns;
};

static int real_take(void *ctx, const struct trace *trace)
{
	struct real *r = ctx;
	struct stand_in_stats rooted = {0};
	struct trace whole;
	struct graph graph;
	struct cpath path;
	int64_t sum = 0;

	arena_clear(&r->arena);
	stand_in(trace, &r->l.strings, &r->arena, &rooted, &whole);
	EQ_I(graph_build(&whole, &r->l.points, &r->l.strings, &r->arena, &graph, &r->stats), 0);
	EQ_I(critical_path(&graph, &r->l.points, &r->arena, &path), 0);
	for (uint32_t i = 0; i < path.step_cnt; i++) {
		OK(path.steps[i].edge_ns >= 0);
		sum += path.steps[i].edge_ns;
	}
	EQ_I(sum, path.total_ns);
	EQ_U(path.steps[0].span, graph.root_span);
	r->trace_cnt++;
	r->step_cnt += path.step_cnt;
	if (path.total_ns > r->longest_ns)
		r->longest_ns = path.total_ns;
	return 0;
}

TEST(golden_real_traces)
{
	static const struct {
		const char *file;
		uint64_t traces, spans;
		uint64_t steps;		/* of the one request; 0: many, not compared */
		int64_t total_ns;
	} table[] = {
		{"hotel-load150.jaeger.json.gz", 400, 4400, 0, 0},
		{"media-load150.jaeger.json.gz", 400, 10800, 0, 0},
		{"node-load150.jaeger.json.gz", 400, 2400, 0, 0},
		/* as a walk in Python found them, from each event to its latest edge */
		{"hdfs-upload.xtrace.json.gz", 1, 2483, 174, 2073973781},
		{"hdfs-download.xtrace.json.gz", 1, 839, 681, 1637624474},
		/*
		 * Twelve calls of a command that is not in it, so they get a root; the time
		 * is from the first's begin to the last's end, as the report has them.  Its
		 * steps were counted by nobody else: the number shows that they change.
		 */
		{"openstack-vm-create.osprofiler.json.gz", 1, 444, 196, 135143445000},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct real r = {0};
		struct assembler_stats stats;
		char path[128];

		ROW(i);
		snprintf(path, sizeof(path), DATA "%s", table[i].file);
		if (access(path, R_OK))
			SKIP("no ../shared/data");
		load(&r.l, path, NULL);
		EQ_I(assembler_finish(r.l.assembler, real_take, &r, &stats, NULL), 0);
		EQ_U(r.trace_cnt, table[i].traces);
		EQ_U(r.stats.span_cnt, table[i].spans);
		if (table[i].steps) {
			EQ_U(r.step_cnt, table[i].steps);
			EQ_I(r.longest_ns, table[i].total_ns);
		}
		unload(&r.l);
		arena_release(&r.arena);
	}
}
