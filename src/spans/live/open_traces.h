/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPEN_TRACES_H
#define OPEN_TRACES_H
/*
 * Spans as they are exported, in any order and for ever, to whole traces in
 * bounded memory: a trace is complete when nothing came of it for a while.
 * Nobody says that a trace is complete, and the exporters of two services send
 * at times that have nothing to do with each other.
 *
 *	open_traces_new; open_traces_add for each span, open_traces_step often
 *
 * Times are of any one clock that does not go back.  Spans are kept without
 * attributes and references.  Where memory is full the traces that are quiet
 * for longest are complete sooner.
 */
#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

struct open_traces;

enum {
	OPEN_TRACE_SPANS_MAX = 4096, /* of one trace; what is over is cut */
};

struct open_traces_opts {	/* a zero field means its default */
	uint64_t max_bytes;	/* of spans; default 32 MiB; the tables take half as much again */
	/*
	 * Quiet for so long: 6 s where its root is there, as the SDKs export every 5 s;
	 * 15 s where it is not yet.
	 */
	uint64_t quiet_ns, rootless_ns;
	void *ctx;
	void (*trace)(void *ctx, const struct trace *trace); /* borrowed during the call */
};

struct open_traces_stats {
	uint64_t trace_cnt;		/* given out */
	uint64_t rootless_cnt;		/* of the traces: their root never came */
	uint64_t early_cnt;		/* and those that memory made complete sooner */
	uint64_t joined_cnt;		/* spans that came after their root and joined it */
	uint64_t late_cnt;		/* spans whose trace had been given out: dropped */
	uint64_t cut_cnt;		/* over OPEN_TRACE_SPANS_MAX: dropped */
	uint64_t open_cnt;		/* traces now */
};

struct open_traces *open_traces_new(const struct open_traces_opts *opts);
void open_traces_free(struct open_traces *o); /* NULL is fine; what is open is dropped */

/* False: it was dropped, and counted. */
bool open_traces_add(struct open_traces *o, const struct trace_id *trace,
		     const struct span *span, uint64_t now_ns);

/* Gives out the traces that are complete by now; UINT64_MAX: all. */
void open_traces_step(struct open_traces *o, uint64_t now_ns);

/* Each string id of the spans becomes what name makes of it. */
void open_traces_rename(struct open_traces *o, uint32_t (*name)(void *ctx, uint32_t id),
			void *ctx);

/* Borrowed until open_traces_free. */
const struct open_traces_stats *open_traces_stats(struct open_traces *o);

#endif /* OPEN_TRACES_H */
