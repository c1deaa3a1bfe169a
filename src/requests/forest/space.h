/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPACE_H
#define SPACE_H
/*
 * The search space: what requests look like when every tracepoint is on.
 * Learnt from such traces; the control logic asks it what may be hidden
 * between two tracepoints that are seen, and what time was usual there.
 * No files: requests/forest/forest_file.h stores it by walking it and by the puts.
 *
 *	space_new, space_add for each full trace (or the puts, when read from a
 *	file; they add to what is there, which is also how two are merged),
 *	space_view, space_free
 *
 * Nothing in it depends on the order of traces or of puts: counts are sums,
 * and what is kept of many is what has the smallest hash of its text or trace
 * id.  Bounds are the limits below; what is over them is counted in the view.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "trace/points.h"
#include "trace/trace.h"

enum {
	SPACE_TYPES_MAX = 4096,
	SPACE_PATHS_MAX = 8192,	   /* of one request type */
	SPACE_STEPS_MAX = 4096,	   /* of one path: the rest is cut off */
	SPACE_CONTEXTS_MAX = 65536, /* of one request type */
	SPACE_KEYS_MAX = 64,	   /* of one tracepoint */
	SPACE_SAMPLES_MAX = 128,   /* whole traces kept of one request type */
	SPACE_SAMPLE_SPANS_MAX = 8192, /* a trace of more is learnt from but not kept */
};

/* One event of a potential critical path.  kind is enum node_kind (requests/graph/graph.h). */
struct space_step {
	uint32_t point;
	uint32_t kind;
	uint32_t parent; /* step of the entry of the span around it; UINT32_MAX: none */
	uint32_t pad;
	/* Time since the step before, over the traces counted in the path. */
	__int128 sum_ns, sum_sq_ns;
};

/* A way from the start of a request to its end; each branch of a fork is in one. */
struct space_path {
	uint64_t hash;		/* of the texts of its steps: the same in every process */
	uint64_t critical_cnt;	/* traces in which it was the critical one */
	uint64_t branch_cnt;	/* traces in which it was another branch */
	const struct space_step *steps;
	uint32_t step_cnt;
	uint32_t pad;
};

/* A calling context: a tracepoint under the contexts that called it. */
struct space_context {
	uint32_t point;
	uint32_t parent;	/* in contexts; UINT32_MAX: a root.  Parents come first */
	uint64_t span_cnt;
	__int128 sum_ns, sum_sq_ns; /* durations */
};

struct space_key {
	uint32_t point;
	uint32_t key;		/* string id */
	uint64_t seen_cnt;	/* spans that carried it */
	uint64_t num_cnt;	/* of these, with a number */
};

/*
 * What starts requests, forks or joins is always on: space_point_always.  Where
 * spans were lost or several parts of a request were not joined, many a span
 * looks like a root or a branch beside others.  So a tracepoint that is a root
 * in few of its traces is none, and what a span of unknown parent forks and
 * joins with counts only for tracepoints whose parent is mostly unknown.
 */
struct space_point {
	uint32_t point;
	bool sync;		/* forks or joins */
	bool stray_sync;	/* forks or joins with spans of another, or no, known parent */
	uint16_t pad;
	uint64_t span_cnt;
	uint64_t stray_cnt;	/* of these, of no known parent and no root */
	uint64_t trace_cnt;
	uint64_t root_cnt;	/* of these, it started the request or named its type */
};

struct space_type {
	uint64_t hash;		/* of the type's text, as in struct graph */
	uint32_t point;		/* the root's tracepoint */
	uint32_t path_cnt;
	uint64_t trace_cnt;
	__int128 sum_ns, sum_sq_ns; /* times of whole requests */
	const struct space_path *paths;	/* most often critical first, then by hash */
	const struct space_context *contexts;
	uint32_t context_cnt;
	uint32_t sample_cnt;
	const struct trace *samples; /* whole traces, by id */
};

struct space_view {		/* lives in the arena given */
	uint64_t fingerprint;	/* of points, sync marks and contexts: another release, another */
	const struct space_type *types;	  /* by hash */
	const struct space_point *points; /* by text */
	const struct space_key *keys;	  /* by point's and key's text */
	uint32_t type_cnt, point_cnt, key_cnt, pad;
	uint64_t trace_cnt;
	uint64_t path_dropped_cnt, context_dropped_cnt, key_dropped_cnt, type_dropped_cnt;
	uint64_t bad_trace_cnt;	/* no request could be made out */
};

struct space;

/* points and strings are borrowed for the life of the space, and added to. */
struct space *space_new(struct points *points, struct strtab *strings);
void space_free(struct space *s);

/* Learns from a trace in which everything was on.  -errno (counted): no request in it. */
int space_add(struct space *s, const struct trace *t);

/* Adds all of from, which has the same points and strings. */
void space_merge(struct space *s, const struct space *from);

/* View of what is known now; the arrays are the arena's. */
void space_view(const struct space *s, struct arena *arena, struct space_view *ret);

/* The puts: each adds the counts it is given. */
void space_put_type(struct space *s, const struct space_type *type); /* its arrays are ignored */
void space_put_path(struct space *s, uint64_t type, const struct space_path *path);
/* All contexts of one view's type at once. */
void space_put_contexts(struct space *s, uint64_t type, const struct space_context *contexts,
			uint32_t cnt);
void space_put_point(struct space *s, const struct space_point *point);
void space_put_key(struct space *s, const struct space_key *key);
/* Writes the view's counts of unusable and over-bound items. */
void space_put_counts(struct space *s, const struct space_view *counts);
void space_put_sample(struct space *s, uint64_t type, const struct trace *sample);

/* How well a trace (with everything on) fits what was learnt. */
struct space_fit {
	uint32_t span_cnt;
	uint32_t new_point_cnt;	  /* spans of tracepoints that are not in the space */
	uint32_t new_context_cnt; /* spans called by what never called them before */
	bool new_type;
};

void space_fit(const struct space *s, const struct trace *t, struct space_fit *ret);

bool space_point_always(const struct space_point *p);

/* By point, of all point_cnt: enum sides, an instant has one; 0: it is not in the space. */
void space_sides(const struct space_view *v, uint8_t *ret, uint32_t point_cnt);

bool space_has(const struct space *s, uint32_t point);
/* Is it to be on at all times: a root, a fork or a join. */
bool space_always(const struct space *s, uint32_t point);

#endif /* SPACE_H */
