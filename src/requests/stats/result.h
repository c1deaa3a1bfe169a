/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUESTS_RESULT_H
#define REQUESTS_RESULT_H
/*
 * What requests_finish answers (requests.h).  Values only; all of it lives in
 * the arena that requests_finish was given, names in the shared strtab.
 */
#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"
#include "requests/stats/attr_bins.h"

enum {
	REQUEST_POINT_NONE = 0x7fffffff,	/* "other": edges over a bound, folded */
	REQUEST_ALL = 0x7fffffff,	/* in place of a group's or edge's number: the whole */
	EDGE_ALL = UINT16_MAX,
};

struct edge_key {		/* what makes edges of two paths the same edge */
	uint32_t from, to;	/* tracepoints, REQUEST_POINT_NONE for "other" */
	uint32_t owner;		/* tracepoint of the span that ran meanwhile */
	uint8_t from_kind, to_kind;	/* enum node_kind */
	uint16_t occurrence;	/* 0: the first such edge of the path; EDGE_ALL: all together */
};

struct latency {
	uint64_t cnt;
	double mean_ns, sd_ns, cv;
	double error_ns;	/* standard error of the mean */
	double min_ns, p05_ns, p25_ns, p50_ns, p75_ns, p90_ns, p95_ns, p99_ns, max_ns;
};

struct request_edge {
	struct edge_key key;
	uint64_t hash;		/* of key, by texts: the same in every run */
	uint64_t present_cnt;	/* members that have it; in the others it counts as 0 */
	double begin_ns;	/* mean of where it begins, from the request's start */
	struct latency latency;	/* absent ones count as 0 */
	double time_share;	/* of the mean total; adds to 1 over the edges */
	/* Cov(edge, total) / Var(total): signed, adds to 1.  Bounds at 95 %. */
	double share, share_low, share_high;
	double trimmed_share;	/* the same without the slowest 1 % (at least one) */
	double tail_share;	/* of what the slowest 5 % take longer than the rest */
	double excess_ns;	/* mean, less that in the type's other groups; NAN: no others */
};

/* All edges in which spans of one tracepoint ran. */
struct request_owner {
	uint32_t point;
	uint64_t hash;		/* of its texts */
	uint32_t edge_cnt;
	double mean_ns;
	double time_share, share, share_low, share_high, trimmed_share, tail_share;
	double excess_ns;
};

struct edge_pair {		/* two edges that vary together (or against each other) */
	uint32_t a, b;		/* indexes of edges, a < b */
	double r;		/* correlation */
	double share;		/* 2 Cov(a, b) / Var(total) */
};

enum key_kind { KEY_NUMERIC, KEY_CATEGORICAL };

struct key_value {		/* requests by value (or by range of values) */
	uint32_t str;		/* categorical: string id; 0: see low and high */
	bool truth;		/* false or true, low says which */
	double low, high;	/* numeric: smallest and greatest value in it */
	uint16_t decimals;	/* one value that came as a text: the most behind its point */
	uint64_t cnt;
	double mean_ns, p50_ns;
	double weight;		/* of what lies between values, by ranks; adds to 1 over all */
};

struct request_key {
	uint32_t point;		/* tracepoint whose spans carry it: see keys.h for the rule */
	uint32_t key;		/* string id */
	uint8_t kind;		/* enum key_kind */
	uint32_t cnt, distinct_cnt;	/* sampled requests that have it; values */
	uint32_t edge;		/* correlated with this edge, REQUEST_ALL: with the total */
	double strength;	/* in 0..1, what they are ordered by: |r| or sqrt(eta2) */
	double r, rank_r;	/* numeric: Pearson, Spearman */
	double eta2;		/* categorical: variance between values over all */
	double p, q;		/* q: Benjamini-Hochberg over all tests of the result */
	bool explains;		/* q <= q_max, and strong enough to matter */
	uint32_t alias_cnt;	/* more keys with the very same values, not listed */
	double mean_ns;		/* of all sampled requests that have it */
	/* Ranges in their order; else by weight, of many values those that make the difference. */
	const struct key_value *values;
	uint32_t value_cnt;
	uint32_t told_cnt;	/* of them, from the first on, that surely differ from the rest */
};

struct request_copy {		/* a member, whole */
	struct trace_id id;
	int64_t total_ns;
	double percentile;	/* of its group's totals */
	const struct trace *trace;	/* NULL: over a bound, only the id is known */
};

struct path_rule {		/* what a group's paths have in common beyond their level */
	uint32_t point, times;	/* they go through it so many times or more */
	bool holds;		/* or they do not */
};

struct request_group {
	uint64_t hash;		/* stable name of the path (or, at coarser levels, shape) */
	uint8_t level;		/* enum tolerance it was formed at */
	bool decided;		/* min_cnt members: else nothing is said of it */
	bool by_outliers;	/* effective_cnt under 4: a few requests make the variance */
	uint32_t path_cnt;	/* exact paths in it, or as far as its type tells them apart */
	uint32_t rule_cnt, bin_cnt;
	const struct path_rule *rules;	/* all hold: a coarse group is parted by them */
	const struct path_bin *bins;	/* that all of its paths have */
	double effective_cnt;	/* members the variance rests on: see histograms.h */
	double trimmed_cv;	/* without the slowest 1 % (at least one) */
	double type_share;	/* of the type's requests */
	uint64_t failed_cnt;	/* requests whose root says that they failed */
	uint64_t message_cnt;	/* begun by a message: the root is a consumer, nobody waits */
	double variance_share;	/* of the type's variance: within this group, see also between */
	struct latency latency;
	const struct request_edge *edges;	/* in order of the path */
	const uint32_t *by_share, *by_time;	/* indexes of edges, greatest first */
	uint32_t edge_cnt, owner_cnt, pair_cnt, key_cnt;
	const struct request_owner *owners;	/* by share; as the edges they add to 1 */
	const struct edge_pair *pairs;		/* by |share|; NULL: too many edges for a matrix */
	const struct request_key *keys;		/* by strength; the explaining ones first */
	struct request_copy typical, fast, slow;
};

struct request_level {		/* grouping at this tolerance, the whole type */
	uint8_t level;		/* enum tolerance */
	bool merged;		/* merged: more groups than are kept */
	uint32_t group_cnt;
	uint64_t usable_cnt;	/* traces in groups of min_cnt and more */
	double between_share;	/* variance of group means over the variance of the type */
	double beyond_chance;	/* the same, less what as many groups have by chance; >= 0 */
};

struct request_type {
	uint32_t point;		/* the root's tracepoint */
	uint32_t name;		/* string id: how to call it */
	uint64_t hash;
	uint64_t usable_cnt;	/* traces in groups of min_cnt and more, as chosen */
	double between_share, within_share;	/* of the variance, by group; add to 1 */
	const struct request_level *levels;	/* exact first */
	uint32_t level_cnt;
	const struct request_group *all;	/* the type as one group, edges aligned */
	const struct request_group *groups;	/* by members, most first */
	uint32_t group_cnt;
	const struct call_count *calls;	/* who calls what how often (call_counts.h), by hash */
	uint32_t call_cnt;
};

enum problem_kind {
	PROBLEM_VARIANCE,	/* same path, variable: principle 1 */
	PROBLEM_SLOW,		/* steadily slower than the rest of its type: principle 2 */
	PROBLEM_PATHS,		/* the variance is between paths: which one is taken decides */
};

struct request_problem {
	uint8_t kind;
	uint32_t type, group;	/* indexes; REQUEST_ALL: the type as a whole */
	double weight;		/* share of the type's variance; SLOW: of its time */
	double cost_ns;		/* what they are ordered by: requests times how far off they are */
	/* SLOW: median over the rest's slow_pct percentile; PATHS: slow_group's mean over theirs */
	double excess_ns;
	uint32_t path_cnt;	/* PATHS: groups, without those of requests that failed soon */
	uint32_t slow_group;	/* PATHS: that takes most of the time over the mean */
	const uint32_t *edges;	/* the group's, first to blame first */
	uint32_t edge_cnt;
};

struct call_split {
	uint32_t type;			/* of the result's */
	uint32_t point, parent;		/* who is called, and by whom */
	uint32_t times;			/* so many times or more */
	uint32_t alias_cnt;		/* more calls that part the same requests, not listed */
	double share;			/* of the requests: those that do */
	double delta_ns;		/* what these take more than the others */
	double variance_share;		/* of the type's variance: what lies between */
	double squares;			/* that, as a sum of squares */
	double cost_ns;			/* delta's size, over all of whichever are fewer */
};

struct call_splits {
	const struct call_split *items;	/* by squares, greatest first */
	uint32_t cnt;
	double share;	/* of the variance in all types: what the best split of each has */
};

#endif /* REQUESTS_RESULT_H */
