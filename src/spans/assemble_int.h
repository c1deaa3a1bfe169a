/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSEMBLE_INT_H
#define ASSEMBLE_INT_H
/*
 * Spans as bytes, in memory and in the assembler's temporary files, and
 * traces made of them.  For assemble.c alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/keysort.h"
#include "base/vec.h"
#include "trace/trace.h"
#include "spans/assemble.h"

/*
 * A whole number of struct attr long, so that a trace's attributes can stay where they are and
 * be known by their number from the first record.  What is
 * an index in a trace's spans has other uses here.
 */
struct record {
	struct trace_id trace;
	struct span span;	/* attr_idx: bytes, with what follows: attrs, then refs */
};
_Static_assert(sizeof(struct record) % sizeof(struct attr) == 0 &&
	       sizeof(struct span_ref) % sizeof(struct attr) == 0, "attrs are numbered");

/* Bytes of records whose attributes have 32-bit numbers. */
#define RECORDS_BYTES_MAX ((uint64_t)UINT32_MAX * sizeof(struct attr))

/* One after the other; size bytes each. */
struct records {
	unsigned char *data;
	size_t len, cap;
	uint64_t cnt;
	/*
	 * Records of one trace side by side: key is the upper half of the id's
	 * hash and how many there are, idx and pad are where in data.
	 */
	VEC(struct keyed) runs;
	struct trace_id last;	/* of the last record */
};

void records_release(struct records *r);
void records_clear(struct records *r);

/* Memory that walking them takes, with the records themselves. */
uint64_t records_cost(uint64_t bytes, uint64_t cnt);

/* The same of one that is there. */
static inline size_t record_bytes(const struct record *record)
{
	return record->span.attr_idx;
}

/* Copies; size is record_size's. */
void records_add(struct records *r, const struct trace_id *trace, const struct span *span,
		 const struct attr *attrs, const struct span_ref *refs);

uint64_t record_hash(const struct trace_id *id);

/* Scratch that is used again for each part and each trace. */
struct record_walk {
	VEC(struct keyed) runs;	/* sorted, then scratch for a trace's spans */
	VEC(struct keyed) tmp;
	VEC(const struct record *) found;
	VEC(struct span) spans;
	VEC(struct span_ref) refs;
};

void record_walk_release(struct record_walk *w);

/* Every trace of r, by hash of the id. */
int records_walk(const struct records *r, struct record_walk *w,
		 int (*trace)(void *ctx, const struct trace *trace), void *ctx,
		 struct assembler_stats *stats);

/* false when it is not as records_add wrote it: somebody else wrote to the file. */
bool record_is_whole(const struct record *record);

#endif /* ASSEMBLE_INT_H */
