/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_MAKE_H
#define TRACE_MAKE_H
/*
 * Traces for tests of the request engine.
 *
 *	struct made m = {0};
 *	made_span(&m, 1, 0, "front", "GET /a", 0, 100);
 *	made_ref(&m, 3, 2, SPAN_REF_AFTER);
 *	made_trace(&m) ...  made_release
 */
#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "trace/points.h"
#include "trace/trace.h"
#include "requests/graph/critical.h"
#include "requests/graph/graph.h"

struct made {
	struct strtab strings;
	struct points points;
	struct arena arena;
	VEC(struct span) spans;
	VEC(struct span_ref) refs;	/* in the order of their spans */
	VEC(struct attr) attrs;
	struct trace trace;
	struct graph graph;
	struct cpath path;
	struct graph_stats stats;
};

/* Of the last one added; good until the next. */
struct span *made_span(struct made *m, uint64_t id, uint64_t parent, const char *point,
		       int64_t begin, int64_t end);	/* point: "service/name" */
void made_ref(struct made *m, uint64_t to, enum span_ref_kind kind);	/* of the last span */
void made_attr(struct made *m, const char *key, const char *value);	/* of the last span */
const struct trace *made_trace(struct made *m);
/* Graph and path of all spans. */
void made_path(struct made *m);
/*
 * That path and type are also found without the graph, of what made_path was
 * last called for; true if it was done without.  bins: as struct graph's.
 */
bool made_same_quick(struct made *m, const uint64_t *bins);
/* "front/a> front/b> front/b< front/a<": entry, exit; "." is an instant. */
const char *made_steps(struct made *m);
/* Puts the spans in another order, which seed says; refs and attributes follow. */
void made_shuffle(struct made *m, uint64_t seed);
/* Forgets the spans; strings and tracepoints stay. */
void made_clear(struct made *m);
void made_release(struct made *m);

#endif /* TRACE_MAKE_H */
