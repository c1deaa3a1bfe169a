/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHANGES_H
#define CHANGES_H
/*
 * What is different between two sets of requests, a good one and a bad one:
 * per request type by how much the mean changed and on which edges, and which
 * paths became more or less frequent.
 *
 * Edges are those of the type as a whole, where one that a request has not
 * counts as 0: so their changes add up to the change of the mean, whether
 * requests became slower on the same path or take another one.
 */
#include <stdbool.h>
#include <stdint.h>

#include "requests/call_counts.h"
#include "requests/stats/result.h"

struct arena;
struct requests_result;

struct edge_change {
	struct edge_key key;
	double good_ns, bad_ns;		/* mean per request of the type */
	double delta_ns;
	double low_ns, high_ns;		/* of delta, at 95 %: from both variances */
	double share;			/* of the type's delta: signed, adds to 1 */
	uint64_t hash;			/* as struct request_edge's */
};

struct owner_change {		/* a tracepoint, all edges in which its spans ran together */
	uint32_t point;			/* REQUEST_POINT_NONE: what is over a bound */
	double good_ns, bad_ns;		/* mean per request of the type */
	struct call_times good_times, bad_times;	/* in a request, on the path or not */
	double delta_ns, share;		/* as of an edge */
	uint64_t hash;
};

struct path_change {
	uint64_t hash;
	uint32_t good_group, bad_group;	/* REQUEST_ALL: not there */
	double good_share, bad_share;	/* of the type's requests */
};

struct type_change {
	uint32_t good_type, bad_type;	/* REQUEST_ALL: not there */
	double delta_ns;		/* of the mean; 0 when the type is only in one */
	double low_ns, high_ns;
	bool mean_changed;		/* surely: 0 is not between the bounds */
	bool edges_changed;		/* surely and by much, though they may add up to nothing */
	bool spread_changed;		/* they surely vary more, or less, than before */
	const struct edge_change *edges;	/* greatest change first */
	uint32_t edge_cnt;
	const struct owner_change *owners;	/* likewise */
	uint32_t owner_cnt;
	/*
	 * delta is the sum of both: of requests that take other paths than
	 * before, and of paths that take longer than before.
	 */
	double other_paths_ns, same_paths_ns;
	/* greatest change of share first */
	const struct path_change *paths;
	uint32_t path_cnt;
};

struct call_change {		/* a tracepoint that the requests of a type run more often */
	uint32_t type;			/* of requests_diff's */
	const struct owner_change *owner;
	double cost_ns;			/* what its spans take more, all bad requests together */
};

enum structure_kind {
	STRUCTURE_LESS,		/* in fewer requests than before */
	STRUCTURE_NEW,		/* in more of them, before in hardly any */
};

struct structure_change {
	enum structure_kind kind;
	uint32_t type;			/* of requests_diff's */
	uint32_t point, parent;		/* who is called, and by whom */
	double good_share, bad_share;	/* of the requests, that have such a call */
	double delta_ns;		/* of those that it changed: over the good ones' mean */
	double cost_ns;			/* its absolute value, over all of these */
};

struct aside_change {		/* a call that takes longer, and that no request waits for */
	uint32_t type;			/* of requests_diff's */
	uint32_t point, parent;		/* who is called, and by whom */
	double good_ns, bad_ns;		/* means of one call */
};

struct requests_diff {
	const struct requests_result *good, *bad;
	/* Those that surely do and by much, where the mean surely rose; greatest cost first. */
	const struct call_change *calls;
	uint32_t call_cnt;
	const struct structure_change *structure;	/* greatest cost first */
	uint32_t structure_cnt;
	const struct aside_change *aside;	/* greatest difference first */
	uint32_t aside_cnt;
	const struct type_change *types;	/* by what the change costs all requests of bad */
	uint32_t type_cnt;
};

/* Compares a pair (requests_pair). The answer lives in arena. */
const struct requests_diff *requests_diff(const struct requests_result *good,
					  const struct requests_result *bad,
					  struct arena *arena);

#endif /* CHANGES_H */
