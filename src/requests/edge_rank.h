/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_RANK_H
#define EDGE_RANK_H
/*
 * Which edges of the critical paths are to blame, over all request types
 * together: with requests of a time when all was well to compare with, or
 * without.
 *
 *	edge_rank_new, edge_rank_add for every critical path, _finish, _free
 *
 * An edge is from one event to the next (two tracepoints, entry or exit).
 * What it usually takes is, in this order: what it took in the good requests;
 * for an edge from one service to another, what edges between services took
 * there; else what the quickest quarter of its own visits stay under, which
 * for an edge between services is held to be no more than half of such edges
 * take: a message has no work to do, so it should take no longer than others.
 *
 * The score is how much longer an edge takes than usual (the lower end of the
 * interval) times how much longer, as a ratio, the edges of its service take
 * on average.  A fault of a service's machine, process or network shows on
 * several edges into, out of and inside the service, and both ends count; what
 * merely varies does so on one.  Where there are no good requests the ratio is
 * to the median: much varies evenly, and what has a few slow visits does not.
 *
 * Spans get lost, and an edge on which one was is as long as what the span
 * took: so where most requests have spans between the ends of an edge and take
 * as long (lost_spans.h), what these take longer than usual is theirs, and not
 * the edge's.  How many edges that is the answer for is counted.
 *
 * Nothing depends on the order of the paths.  Memory is bounded by
 * EDGE_RANK_MAX edges; visits to others are counted in the result.
 */
#include <stdint.h>

#include "requests/edge_ends.h"

struct arena;
struct cpath;
struct points;
struct strtab;
struct trace_id;
struct edge_rank;

enum {
	EDGE_RANK_MAX = 16384,
	EDGE_RANK_VISITS_MIN = 3,	/* in fewer, no spread is to be seen */
};

/* source of the usual time */
enum edge_usual {
	EDGE_USUAL_GOOD,	/* the edge's own, in the good requests */
	EDGE_USUAL_GOOD_PEERS,	/* of edges between services, in the good requests */
	EDGE_USUAL_OWN,		/* its own quartile; median where others have good ones */
	EDGE_USUAL_PEERS,	/* the median over edges between services */
	EDGE_USUAL_FILLED,	/* one of these, and what the spans that most have in it add */
};

struct edge_rank_row {
	struct edge_rank_end from, to;
	uint64_t visit_cnt, good_visit_cnt;
	double mean_ns;		/* the outer tenths brought in to what is next to them */
	double usual_ns;
	double more_low_ns;	/* mean over usual, less one standard error */
	double service_ratio;	/* mean over usual of the edges of the worse end's service */
	double log_ratio;	/* mean over usual, with what edges usually take added to both */
	double score;		/* see above; rows are sorted by it */
	enum edge_usual usual;
};

struct edge_rank_result {
	const struct edge_rank_row *rows;	/* those that take longer than usual */
	uint32_t row_cnt;
	uint32_t edge_cnt;			/* that were looked at */
	uint64_t path_cnt[EDGE_RANK_SIDES];
	uint64_t dropped_cnt;			/* visits to edges over the bound */
	uint64_t rare_cnt;			/* edges with too few visits to tell */
	/* Edges that are slow by what most requests have a span for, and the visits to them. */
	uint64_t unseen_cnt, unseen_visit_cnt;
};

/* Both are borrowed until _free. */
struct edge_rank *edge_rank_new(const struct points *points, const struct strtab *strings);
void edge_rank_free(struct edge_rank *r);

/* id: of the request. */
void edge_rank_add(struct edge_rank *r, enum edge_rank_side side, const struct trace_id *id,
		   const struct cpath *path);

/* May be called again after more was added.  The result lives in arena. */
const struct edge_rank_result *edge_rank_finish(const struct edge_rank *r, struct arena *arena);

#endif /* EDGE_RANK_H */
