/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast spans are read, and what it takes.
 *
 *	build/bench/spans bytes|decode|spans|traces|paths|groups|keys FILE [MAX-MIB]
 *
 *	bytes	the file through the window, each byte touched: what no reader beats
 *	decode	every field of protobuf or token of JSON, and nothing done with it
 *	spans	the reader, with names interned and attributes kept, into nothing
 *	traces	and the assembler, with at most MAX-MIB of memory: whole traces
 *	paths	and the graph and critical path of each
 *	groups	and the groups with their latencies, edges and problems
 *	keys	and which attributes explain each: all that a report is made of
 *
 * Prints `name value` lines: CPU seconds of this thread, peak memory, counts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "trace/points.h"
#include "requests/graph/critical.h"
#include "requests/graph/graph.h"
#include "requests/graph/critical_fast.h"
#include "requests/requests.h"
#include "requests/graph/tree.h"
#include "spans/assemble.h"
#include "spans/spans_input.h"
#include "spans/parse/jsontok.h"
#include "spans/parse/protobuf.h"
#include "spans/spans.h"

struct result {
	uint64_t bytes, spans, traces, groups, sum;
};

static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int run_bytes(struct spans_in *in, struct result *ret)
{
	size_t len;

	while ((len = in_fill(in, 1)) != 0) {
		for (size_t i = 0; i + 8 <= len; i += 8) {
			uint64_t v;

			memcpy(&v, in->at + i, 8);
			ret->sum += v;
		}
		in->at += len;
	}
	return 0;
}

/* ---- decoding alone */

static void walk_value(struct jsontok *t, struct result *ret)
{
	struct tok_str s;
	double num;
	bool truth;

	switch (jsontok_kind(t)) {
	case TOK_OBJ:
		jsontok_obj(t);
		while (jsontok_key(t, &s)) {
			ret->spans += tok_is(&s, "spanId");
			walk_value(t, ret);
		}
		break;
	case TOK_ARR:
		jsontok_arr(t);
		while (jsontok_item(t))
			walk_value(t, ret);
		break;
	case TOK_STR:
		if (jsontok_str(t, &s))
			ret->sum += s.len;
		break;
	case TOK_NUM:
		if (jsontok_f64(t, &num))
			ret->sum += (uint64_t)num;
		break;
	case TOK_BOOL:
		jsontok_bool(t, &truth);
		break;
	default:
		jsontok_skip(t);
	}
}

static int decode_json(struct spans_in *in, struct result *ret)
{
	struct jsontok t;
	bool broken;

	jsontok_init_in(&t, in);
	while (jsontok_more(&t))
		walk_value(&t, ret);
	broken = jsontok_broken(&t);
	jsontok_release(&t);
	return broken ? -1 : 0;
}

/*
 * Which fields of OTLP's messages are messages, by bit: of the request, a
 * resource's spans, a scope's spans, a span, a key with its value, a value.
 */
enum message { REQUEST, RESOURCE_SPANS, RESOURCE, SCOPE_SPANS, SPAN, KEY_VALUE, VALUE };

static int inner_of(enum message msg, uint32_t num)
{
	switch (msg) {
	case REQUEST:
		return num == 1 ? RESOURCE_SPANS : -1;
	case RESOURCE_SPANS:
		return num == 1 ? RESOURCE : num == 2 ? SCOPE_SPANS : -1;
	case RESOURCE:
		return num == 1 ? KEY_VALUE : -1;
	case SCOPE_SPANS:
		return num == 2 ? SPAN : -1;
	case SPAN:
		return num == 9 ? KEY_VALUE : num == 11 || num == 15 ? VALUE : -1;
	case KEY_VALUE:
		return num == 2 ? VALUE : -1;
	default:
		return -1;
	}
}

static int walk_message(struct pb m, enum message msg, struct result *ret)
{
	struct pb_field f;

	while (pb_next(&m, &f)) {
		int inner = f.type == PB_LEN ? inner_of(msg, f.num) : -1;

		ret->spans += inner == SPAN;
		ret->sum += f.value;
		if (inner >= 0 && walk_message(f.bytes, (enum message)inner, ret) < 0)
			return -1;
	}
	return m.broken ? -1 : 0;
}

static int decode_proto(struct spans_in *in, struct result *ret)
{
	while (in_fill(in, 4) >= 4) {
		uint32_t len = (uint32_t)in->at[0] << 24 | (uint32_t)in->at[1] << 16 |
			       (uint32_t)in->at[2] << 8 | in->at[3];

		in->at += 4;
		if (in_fill(in, len) < len ||
		    walk_message(pb_bytes(in->at, len), REQUEST, ret) < 0)
			return -1;
		in->at += len;
	}
	return 0;
}

static int run_decode(struct spans_in *in, struct result *ret)
{
	return in_fill(in, 1) && *in->at == '{' ? decode_json(in, ret) : decode_proto(in, ret);
}

/* ---- the reader */

static int take(void *ctx, const struct trace_id *trace, const struct span *span,
		const struct attr *attrs, const struct span_ref *refs)
{
	struct result *r = ctx;

	(void)attrs;
	(void)refs;
	r->spans += !(span->flags & SPANF_POINT);
	r->sum += trace->lo ^ span->attr_cnt;
	return 0;
}

static int run_spans(const char *path, struct result *ret, struct err *err)
{
	struct span_sink sink = {.ctx = ret, .span = take};
	struct strtab strings = {0};
	struct spans_stats st;
	int rc = spans_read(path, NULL, &strings, &sink, &st, err);

	if (rc == 0)
		printf("strings %u\nbad %" PRIu64 "\ndropped %" PRIu64 "\npassed %" PRIu64 "\n",
		       strings.cnt, st.bad_cnt, st.attr_dropped_cnt, st.attr_passed_cnt);
	strtab_release(&strings);
	return rc;
}

/* ---- whole traces */

struct whole {
	struct assembler *assembler;
	struct strtab strings;
	struct points points;
	struct requests *requests; /* NULL: paths only, or nothing */
	bool paths;
	struct arena arena;
	struct graph_stats graph_stats;
	struct result *ret;
};

static int add(void *ctx, const struct trace_id *trace, const struct span *span,
	       const struct attr *attrs, const struct span_ref *refs)
{
	struct whole *w = ctx;

	w->ret->spans += !(span->flags & SPANF_POINT);
	return assembler_add(w->assembler, trace, span, attrs, refs);
}

static int take_trace(void *sink, const struct trace *trace)
{
	struct whole *w = sink;
	struct tree_ctx ctx = {&w->points, &w->strings, &w->arena, &w->graph_stats};
	struct graph graph;
	struct cpath path;

	w->ret->traces++;
	w->ret->sum += trace->span_cnt ^ trace->id.lo;
	if (w->requests) {
		requests_add(w->requests, trace);
	} else if (w->paths) {
		if (quick_path(&ctx, trace, NULL, &graph, &path) == 0)
			w->ret->sum += path.hash;
		arena_clear(&w->arena);
	}
	return 0;
}

static void count_groups(struct whole *w)
{
	const struct requests_result *found = requests_finish(w->requests, &w->arena);

	for (uint32_t i = 0; i < found->type_cnt; i++)
		w->ret->groups += found->types[i].levels[0].group_cnt;
}

static int run_whole(const char *what, const char *path, uint64_t max_mib, struct result *ret,
		     struct err *err)
{
	struct assembler_opts opts = {.max_bytes = max_mib << 20};
	struct requests_opts requests_opts = {.no_keys = strcmp(what, "groups") == 0};
	struct whole w = {.ret = ret, .paths = strcmp(what, "paths") == 0};
	struct span_sink sink = {.ctx = &w, .span = add};
	struct assembler_stats stats = {0};
	struct spans_stats st;
	int rc;

	w.assembler = assembler_new(&opts, err);
	if (!w.assembler)
		return err->code;
	if (strcmp(what, "groups") == 0 || strcmp(what, "keys") == 0)
		w.requests = requests_new(&requests_opts, &w.strings, &w.points);
	rc = spans_read(path, NULL, &w.strings, &sink, &st, err);
	printf("read_cpu_s %.3f\n", cpu_s());
	if (rc == 0)
		rc = assembler_finish(w.assembler, take_trace, &w, &stats, err);
	printf("added_cpu_s %.3f\n", cpu_s());
	if (rc == 0 && w.requests)
		count_groups(&w);
	printf("strings %u\nspilled_mib %" PRIu64 "\n", w.strings.cnt, stats.spilled_bytes >> 20);
	requests_free(w.requests);
	assembler_free(w.assembler);
	points_release(&w.points);
	strtab_release(&w.strings);
	arena_release(&w.arena);
	return rc;
}

static int run_window(const char *what, const char *path, struct result *ret, struct err *err)
{
	struct spans_in *in;
	int rc = in_open(path, &in, err);

	if (rc < 0)
		return rc;
	rc = strcmp(what, "bytes") == 0 ? run_bytes(in, ret) : run_decode(in, ret);
	if (rc < 0)
		err_set(err, rc, "%s: offset %" PRIu64 ": broken", path, in_off(in));
	in_free(in);
	return rc;
}

int main(int argc, char **argv)
{
	struct result r = {0};
	struct err err = {0};
	struct rusage usage;
	double begin = cpu_s();
	int rc;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: spans bytes|decode|spans|traces|paths|groups|keys "
				"FILE [MAX-MIB]\n");
		return 2;
	}
	if (strcmp(argv[1], "spans") == 0)
		rc = run_spans(argv[2], &r, &err);
	else if (strcmp(argv[1], "bytes") == 0 || strcmp(argv[1], "decode") == 0)
		rc = run_window(argv[1], argv[2], &r, &err);
	else
		rc = run_whole(argv[1], argv[2], argc == 4 ? strtoull(argv[3], NULL, 10) : 0, &r,
			       &err);
	if (rc < 0) {
		fprintf(stderr, "spans: %s\n", err.msg);
		return 1;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("cpu_s %.3f\nrss_kib %ld\nspans %" PRIu64 "\ntraces %" PRIu64
	       "\ngroups %" PRIu64 "\nsum %" PRIx64 "\n",
	       cpu_s() - begin, usage.ru_maxrss, r.spans, r.traces, r.groups, r.sum);
	return 0;
}
