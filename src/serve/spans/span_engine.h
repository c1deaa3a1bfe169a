/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPAN_ENGINE_H
#define SPAN_ENGINE_H
/*
 * From spans that keep coming to slices of request types: names folded, traces
 * completed by time-out, paths summed.  Memory is bounded, texts that nobody
 * needs any more are freed: the table of strings is made anew when it is full.
 *
 *	span_engine_new; span_engine_span for each (an intake's sink);
 *	span_engine_step often, span_engine_take now and then
 */
#include <stdint.h>

#include "requests/live/live_types.h"
#include "spans/live/open_traces.h"

struct span_engine;
struct strtab;

/* opts: trace and ctx are set by it. */
struct span_engine *span_engine_new(const struct open_traces_opts *opts);
void span_engine_free(struct span_engine *e);

/* The table of the ids in spans that are given to it. */
struct strtab *span_engine_strings(struct span_engine *e);

/* As intake_sink's span; ctx is a struct span_engine.  INTAKE_REFUSED: dropped. */
int span_engine_span(void *ctx, const struct trace_id *trace, const struct span *span,
		     const struct attr *attrs, const struct span_ref *refs);

/* The time of now, which span_engine_span uses; not while spans are being read. */
void span_engine_step(struct span_engine *e, uint64_t now_ns);

/* All slices since the last call; what is open of traces stays. */
void span_engine_take(struct span_engine *e,
		      void (*slice)(void *ctx, const struct live_slice *s), void *ctx);

const struct open_traces_stats *span_engine_traces(struct span_engine *e);
const struct live_types_stats *span_engine_types(const struct span_engine *e);

#endif /* SPAN_ENGINE_H */
