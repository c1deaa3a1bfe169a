/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIVE_TYPES_H
#define LIVE_TYPES_H
/*
 * The request types of a service that goes on for ever, in slices of time: of
 * each type its latency and the edges of its critical paths.  A slice is a plain
 * value that can be added to others (live_window.h), so that windows of any
 * length are sums of slices, and nothing here is kept longer than one.
 *
 *	live_types_new; live_types_add for each trace; live_types_take now and then
 *
 * Bounds: LIVE_TYPES_MAX types and LIVE_EDGES_MAX edges of each in a slice; what
 * is over is counted, or goes into "other".  Texts are copied: the strings may be
 * emptied after live_types_forget.
 */
#include <stdint.h>

#include "trace/trace.h"

struct live_types;
struct strtab;

enum {
	LIVE_TYPES_MAX = 256,
	LIVE_EDGES_MAX = 512,	/* of a type, while a slice is made */
	LIVE_EDGES_GIVEN = 12,	/* those with the most time, and the most variance */
	LIVE_SERVICE_LEN = 64, LIVE_NAME_LEN = 128, LIVE_EDGE_LEN = 192,
	LIVE_BITS = 3,		/* 8 buckets to a doubling: 9 % wide */
	LIVE_BUCKETS = 208,	/* up to 2^LIVE_TOP_BIT ns */
	LIVE_TOP_BIT = 37,	/* 137 s */
};

struct live_edge {
	uint64_t hash;		/* by texts: the same in every process */
	uint64_t cnt;		/* times that it was on a path */
	double sum_us;
	double sum_xt;		/* of each request its time there times its total, us^2 */
	char name[LIVE_EDGE_LEN];
};

struct live_slice {		/* plain: crosses from one process to another */
	uint64_t hash;		/* of the type, by texts */
	uint64_t cnt, failed_cnt;
	uint64_t max_ns;
	struct trace_id slowest; /* the request that took max_ns, */
	struct trace_id failed;	/* one that failed; 0: none */
	double sum_us, sum_sq;	/* of totals */
	uint32_t hist[LIVE_BUCKETS];
	uint32_t edge_cnt, pad;
	struct live_edge edges[LIVE_EDGES_GIVEN];
	char service[LIVE_SERVICE_LEN]; /* of the type's root */
	char name[LIVE_NAME_LEN];
};

struct live_types_stats {
	uint64_t bad_cnt;	/* no path could be made */
	uint64_t type_over_cnt;	/* of types over LIVE_TYPES_MAX */
};

/* strings is borrowed until live_types_free. */
struct live_types *live_types_new(struct strtab *strings);
void live_types_free(struct live_types *l); /* NULL is fine */

void live_types_add(struct live_types *l, const struct trace *trace);

/* Gives the slice of each type since the last call, and forgets it. */
void live_types_take(struct live_types *l, void (*slice)(void *ctx, const struct live_slice *s),
		     void *ctx);

/* Forgets all string ids: after live_types_take, before the strings are emptied. */
void live_types_forget(struct live_types *l);

/* Borrowed until live_types_free. */
const struct live_types_stats *live_types_stats(const struct live_types *l);

/* The first ns that is in a bucket of struct live_slice. */
uint64_t live_bucket_low(uint32_t bucket);

#endif /* LIVE_TYPES_H */
