/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASYNC_SPLIT_H
#define ASYNC_SPLIT_H
/*
 * A message begins a request of its own: before stand_in and graph_build.
 *
 * Some tracers put who takes a message from a queue into the trace of who put
 * it there, some begin a trace there and link it.  Nobody waits for it either
 * way, so it is on no critical path of the first; that it is slow would show for
 * the second kind only.  So each consumer below a producer, or one that is
 * said to follow another span, is taken out with all that is below it, and
 * comes as a trace of the same id after what is left.  A consumer that is below
 * another is taken out of that as well.
 *
 * Which spans belong together goes by ids alone, and nothing depends on their
 * order.  Only a trace that has such a consumer is copied.
 */
#include <stdint.h>

struct arena;
struct trace;

struct detach_stats {
	uint64_t trace_cnt;	/* that had such consumers */
	uint64_t part_cnt;	/* taken out of them */
};

/*
 * Calls take for what is left and for each part, in order of its begin; what it is
 * given lives in arena or is of trace.  0, or what take returned when that is not 0.
 */
int detach_each(const struct trace *trace, struct arena *arena, struct detach_stats *stats,
		int (*take)(void *ctx, const struct trace *part), void *ctx);

#endif /* ASYNC_SPLIT_H */
