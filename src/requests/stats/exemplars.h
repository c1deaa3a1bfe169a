/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXEMPLARS_H
#define EXEMPLARS_H
/*
 * A few whole traces of a set of requests, from its fastest to its slowest:
 * of each quarter of a doubling of the total the one whose id hashes lowest,
 * and of the small ones the next COPY_MORE, so that there is a choice.  Which
 * they are does not depend on the order of traces.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "trace/trace.h"

enum {
	COPIES_BITS = 2,		/* 2^bits to a doubling: 19 to 25 % wide */
	COPY_MORE = 3,
	COPY_SMALL_MAX = 8 << 10,	/* bytes of a small one: about 80 spans */
	COPY_BYTES_MAX = 1 << 20,	/* of one trace; of a bigger one only the id is kept */
};

struct copy {
	uint32_t bucket;
	bool is_small;
	uint64_t hash;
	struct trace_id id;
	int64_t total_ns;
	struct trace *trace;		/* one block of memory; NULL: too big */
};

struct copies {
	VEC(struct copy) items;
};

void copies_release(struct copies *c);

/* Copies the trace if it is wanted; of one that is too big, the rest. */
void copies_add(struct copies *c, const struct trace *trace, uint64_t hash, int64_t total_ns);

/* Moves out of from what is better than to's. */
void copies_move(struct copies *to, struct copies *from);

/* -1, 0, 1: whether a is to be preferred to b for one bucket. */
int copy_cmp(const struct copy *a, const struct copy *b);

#endif /* EXEMPLARS_H */
