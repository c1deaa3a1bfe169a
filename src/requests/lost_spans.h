/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOST_SPANS_H
#define LOST_SPANS_H
/*
 * From one event of a critical path to a later one while one span ran, with
 * other events between them: what would be one edge had the spans between not
 * been seen.  Not for edges themselves: see edge_rank.h.
 *
 *	stretches_new, _add for every critical path, _each as often as wanted, _free
 *
 * Paths are kept as a sample, chosen by the hash of the request's id, so that
 * nothing depends on their order: of each tracepoint that paths begin with as
 * many as of any other (those whose hashes are the same modulo
 * STRETCHES_ROOTS_MAX count as one), STRETCHES_SLOTS times 64 steps in all on
 * each side, which is 4 MiB at most.
 */
#include <stdint.h>

#include "requests/edge_ends.h"

struct cpath;
struct stretches;
struct trace_id;

enum {
	STRETCHES_ROOTS_MAX = 256,	/* a power of two, and a path has room even then */
	STRETCHES_SLOTS = 2048,		/* of 64 steps each */
	STRETCHES_STEPS_MAX = 512,	/* longer paths are not kept */
	/* A span that makes more calls than this is not looked at beyond them. */
	STRETCHES_EDGES_MAX = 16,	/* of the span that ran, in one stretch */
};

struct stretch {
	struct edge_rank_end from, to;	/* neither is once more between them */
	uint64_t took_ns;
	uint64_t weight;	/* how many requests the kept one stands for */
};

struct stretches *stretches_new(void);

/* s may be NULL. */
void stretches_free(struct stretches *s);

/* root_hash: of the texts of the tracepoint that the path begins with. */
void stretches_add(struct stretches *s, enum edge_rank_side side, const struct trace_id *id,
		   uint64_t root_hash, const struct cpath *path);

/* In no order that means anything. */
void stretches_each(struct stretches *s, enum edge_rank_side side,
		    void (*take)(void *ctx, const struct stretch *stretch), void *ctx);

#endif /* LOST_SPANS_H */
