/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUT_H
#define CUT_H
/*
 * A part of the time of a capture, as if that part alone had been watched: sums
 * begin where it begins, and threads that waited on when it ended wait still.
 *
 *	cut_new, cut_sink for all events of the capture, cut_replay, cut_free
 *
 * Whole intervals (EV_TICK), to the nearest.  Memory: CUT_BYTES_MAX, packed; of a
 * longer part the end is kept, which cut_span shows.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/event.h"

struct cut;

struct cut_time {		/* CLOCK_REALTIME; all-zero: all of it */
	uint64_t from_ns;	/* 0: from the beginning */
	uint64_t until_ns;	/* 0: to the end */
};

#define CUT_BYTES_MAX ((size_t)256 << 20)

struct cut *cut_new(const struct cut_time *time);
void cut_free(struct cut *c);
struct event_sink cut_sink(struct cut *c);

/* The part's events; 0, or the sink's error.  Once. */
int cut_replay(struct cut *c, struct event_sink *sink);

/* The time of the part that was there; false: none of it. */
bool cut_span(const struct cut *c, struct cut_time *ret);

/* And of the capture. */
bool cut_whole(const struct cut *c, struct cut_time *ret);

#endif /* CUT_H */
