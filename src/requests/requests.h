/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUESTS_H
#define REQUESTS_H
/*
 * From whole traces to the causes of slow or variable requests: critical path
 * groups, the edges that carry variance and time, the keys that explain them,
 * and the problems.  Streaming; no files, no clock.
 *
 *	requests_new, requests_add for each trace, requests_finish, requests_free
 *
 * The answer is the same bit for bit in whatever order traces came: sums are
 * exact integers, quantiles come from logarithmic buckets (1.6 % wide for
 * totals, 3.1 % for edges; a bucket is stood for by the mean of its members),
 * samples are those of the lowest hash of the trace id, ties go by trace id or
 * hash of text.  Bounds are in group_sums.h and here; what a bound cost is counted.
 *
 * Two bounds are first come, first served: REQUEST_TYPES_MAX and KEY_VARS_MAX
 * (attr_samples.h).  So traces are to come as the assembler gives them, by a hash of
 * their ids: then files and spans may be in any order, and the types that many
 * requests are of are among the first to come.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"
#include "requests/stats/attr_bins.h"
#include "requests/edge_rank.h"
#include "requests/graph/graph.h"
#include "requests/stats/result.h"

struct arena;
struct points;
struct strtab;
struct requests;

enum { REQUEST_TYPES_MAX = 1024 };	/* the traces of further types are counted only */

struct requests_opts {		/* a zero field means its default */
	double cv_min;		/* 0.10: a group is variable above it */
	double slow_pct;	/* 95: consistently slow against the rest of its type */
	uint32_t min_cnt;	/* 20: of fewer members nothing is decided (requests.c says why) */
	double q_max;		/* 0.01: false discovery rate for keys */
	const struct key_spec *keys;	/* borrowed for the life of struct requests */
	uint32_t key_cnt;
	bool no_keys;		/* explain nothing by attributes: no sample is taken of them */
	enum edge_rank_side rank_side;
	struct edge_rank *rank;	/* if not NULL it is given all paths too; borrowed */
};

struct requests_stats {
	uint64_t trace_cnt, span_cnt;
	uint64_t bad_cnt;	/* no path could be made */
	uint64_t type_over_cnt;	/* traces of types over REQUEST_TYPES_MAX */
	uint64_t clipped_cnt;	/* durations over MOMENTS_NS_MAX or under 0 */
	uint64_t folded_edge_cnt;	/* edges folded into "other" */
	uint64_t united_edge_cnt;	/* edges of paths too long, one with others of their kind */
	uint64_t merged_cnt;	/* types with too many exact paths to keep apart */
	uint64_t id_key_cnt;	/* keys that are ids: nearly each request its own value */
	uint64_t uncopied_cnt;	/* of what is kept to be drawn, too big to keep whole */
	uint64_t value_over_cnt;	/* values of keys over SAMPLE_VALUES_MAX or KEY_VARS_MAX */
	uint64_t call_over_cnt;	/* calls over CALLS_MAX of one type */
	uint64_t moment_over_cnt;	/* requests over MOMENTS_CNT_MAX of one path */
	uint64_t test_cnt;	/* statistical tests of keys */
};

struct requests_result {
	const struct request_type *types;	/* by requests, most first */
	uint32_t type_cnt;
	const struct request_problem *problems;	/* worst first */
	uint32_t problem_cnt;
	struct call_splits splits;
	struct requests_stats stats;
	struct graph_stats graph_stats;	/* corrections made in the traces */
	struct requests_opts opts;	/* with the defaults filled in */
};

/* opts may be NULL; strings and points are borrowed until requests_free. */
struct requests *requests_new(const struct requests_opts *opts, struct strtab *strings,
			      struct points *points);

/* r may be NULL.  Results already handed out stay valid. */
void requests_free(struct requests *r);

/* Takes from the trace what it needs.  Cannot fail: what is not kept is counted. */
void requests_add(struct requests *r, const struct trace *trace);

/* The name of the type of the trace added last; NULL: it is of none. */
const char *requests_last_type(const struct requests *r);

/* The answer over all that was added so far; more may be added, and asked for, after it. */
const struct requests_result *requests_finish(struct requests *r, struct arena *arena);

/*
 * Before both are asked for an answer, after all was added: paths are put
 * together to groups in the same way in both, so that groups of the same hash
 * hold the same paths.  Both have the same opts, strings and points.
 */
void requests_pair(struct requests *good, struct requests *bad);

struct explain_edge {		/* one edge of one request against its group's */
	struct edge_key key;
	uint32_t edge;		/* index of the group's edge; REQUEST_ALL: it has none such */
	int64_t begin_ns, took_ns;
	double percentile;	/* of the group's durations of this edge */
	double robust_z;	/* from the median, in (p84 - p16) / 2; NAN: no spread */
	double excess_ns;	/* over the group's median */
	double excess_share;	/* of all that is over: what made it slow */
};

struct explain_key {		/* a value that goes with taking long, and that this request has */
	const struct request_key *key;	/* of its group, or of all of its type */
	bool of_type;
	const struct key_value *value;	/* of the key's */
	struct attr has;	/* what it has: where the value is a range, it is in it */
	double excess_ns;	/* mean of those that have the value, less that of all */
};

struct request_explain {
	uint32_t type, group;	/* indexes; REQUEST_ALL: nothing like it was seen */
	int64_t total_ns;
	double percentile, type_percentile;	/* of the totals of its group, its type */
	double robust_z;
	double usual_ns, others_ns;	/* medians: of its group, of its type's others; NAN: none */
	/* Edges of the group on which it takes longer than the type's others, the most first. */
	const uint32_t *path_edges;
	uint32_t path_edge_cnt;
	const struct explain_key *keys;	/* by excess */
	uint32_t key_cnt;
	const struct explain_edge *edges;	/* in order of the path */
	const uint32_t *by_excess;	/* indexes, what made it slow first */
	uint32_t edge_cnt;
};

/* One request against result, which r made; 0, or -EINVAL: it has no path. */
int requests_explain(struct requests *r, const struct requests_result *result,
		     const struct trace *trace, struct arena *arena,
		     struct request_explain *ret);

#endif /* REQUESTS_H */
