/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MASK_H
#define MASK_H
/*
 * A trace as it would have been with some tracepoints off.
 *
 * Spans of an operation that is off are gone; of one whose begin or end alone is
 * on that is left, as an instant.  Their children belong to the nearest
 * ancestor that is whole (and nobody waits for them if nobody waited for one in
 * between).  A reference to a hidden span becomes references to those
 * kept that had to happen before that one ended, the STRIP_REF_MAX latest.
 *
 * What the rules of graph.h decided is written down, so that they decide the
 * same again (but for rings of references, and ties of what had to be moved):
 * times are the graph's, all on the root's clock; what was adopted is a child
 * of the root; what nobody waits for says so; a span that shares its id with
 * another gets one of its own.
 *
 * Always kept: the root, the span that names the request type, and, where the
 * root is an instant, the node the request ends with: they are what a request
 * is known by, so its type and total stay what they were.
 */
#include <stdint.h>

struct arena;
struct points;
struct strtab;
struct trace;

enum { STRIP_REF_MAX = 32 };

/*
 * on: enum sides by number of the operation, for all that are in points or come
 * in by this trace; see strip_points.  The result lives in arena; attributes are borrowed
 * from trace.
 */
void trace_strip(const struct trace *trace, const uint8_t *on, struct points *points,
		 const struct strtab *strings, struct arena *arena, struct trace *ret);

/* Puts the trace's tracepoints into points, so that on can be made as long. */
void strip_points(const struct trace *trace, struct points *points,
		  const struct strtab *strings);

#endif /* MASK_H */
