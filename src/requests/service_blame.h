/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVICE_BLAME_H
#define SERVICE_BLAME_H
/*
 * Which one service is to blame, from the ranking of edges.
 *
 * An edge has two ends, and each may be at fault.  A fault of a service's
 * machine, process or network shows on the edges between it and each of its
 * partners (itself is one), so a service is as slow as these are on average:
 * each partner counts once, by the mean log of how much longer than usual its
 * edges take, and one more is as usual, since few partners prove less than
 * many.  The service that calls a slow one is slow towards that one only.
 * What an edge is to blame for is parted between its ends by the squares of
 * how slow they are.
 *
 * All lives in the arena.  The same whatever the order of requests.
 */
#include <stdint.h>

struct arena;
struct edge_rank_result;
struct points;
struct strtab;

struct service_blame {
	uint32_t service;	/* string id */
	double score;		/* they are sorted by it */
	double over_ns;		/* its part of what requests take longer than usual, all visits */
	double share;		/* of that of all services; adds to 1 */
	double time_share;	/* the same of all the time of all requests */
	double slower;		/* as above, as a ratio */
	uint32_t row;		/* of the ranking: the first that it is an end of */
};

struct service_blames {
	const struct service_blame *items;	/* worst first; only those with a score */
	uint32_t cnt;
	double over_ns, total_ns;	/* over usual, and in all, of all edges and visits */
};

const struct service_blames *service_blames_make(const struct edge_rank_result *rank,
						 const struct points *points,
						 const struct strtab *strings,
						 struct arena *arena);

#endif /* SERVICE_BLAME_H */
