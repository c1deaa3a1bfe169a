/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYNTHETIC_ROOT_H
#define SYNTHETIC_ROOT_H
/*
 * A root for traces that have none of their own: before graph_build.
 *
 * One trace is one request, as its id says: also the calls of a command whose
 * own span nobody recorded, or the lines of a log that names no parents.  Where
 * it has several spans without a parent (SPANF_POINT ones and those that are
 * ordered by references do not count, those of one id are one), or none but two
 * or more whose parents are not in it, none of them was the whole of it.  So a
 * span is put over them, from the first begin to the last end, and what lies
 * between them is its own time and not that of whichever came first.  Only what
 * is whose parent counts, no times, so requests of one kind are all treated alike.
 *
 * Its tracepoint is STAND_IN_SERVICE, STAND_IN_NAME; since that name is bare
 * (graph_name_is_bare), the first thing it did gives the type of the request.
 */
#include <stdint.h>

struct arena;
struct strtab;
struct trace;

#define STAND_IN_SERVICE "(no root)"
#define STAND_IN_NAME "request"

struct stand_in_stats {
	uint64_t trace_cnt;	/* that got one */
	uint64_t extra_root_cnt;	/* roots beside the first of a trace */
	uint64_t rootless_cnt, orphan_cnt;	/* as in struct graph_stats; of these */
};

/* *ret is trace, or, where it needs a root, a copy of its spans in arena. */
void stand_in(const struct trace *trace, struct strtab *strings, struct arena *arena,
	      struct stand_in_stats *stats, struct trace *ret);

#endif /* SYNTHETIC_ROOT_H */
