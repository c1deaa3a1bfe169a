/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLICES_H
#define SLICES_H
/*
 * A row of ticks for each tracked thread, for src/model only; slices.c tells
 * how they lie.  The last tick is open: time after the newest border.
 *
 *	slices_tick for the window's begin and at each tick, slices_row for
 *	each thread, slices_at to add time, slices_release
 *
 * Bounded by SLICES_TOTAL_MAX slices in all: with many threads fewer ticks.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct slice;

enum { SLICES_TOTAL_MAX = 60000 }; /* threads x ticks: 13 MB */

struct slices {
	struct slice *items;	/* row after row of width ticks */
	size_t cap;		/* in slices */
	uint32_t rows, width, width_max;
	VEC(uint64_t) begins;	/* of the ticks kept; the last is open */
};

/* Ends the open tick at end_ns and opens the next. */
void slices_tick(struct slices *s, uint64_t end_ns);

/* A new row of empty slices; NO_IDX when there is no room. */
uint32_t slices_row(struct slices *s);

/* The slice that ns falls into, valid until the next tick or row; NULL before the first kept. */
struct slice *slices_at(struct slices *s, uint32_t row, uint64_t ns);

/* The begin of that tick, 0 before the first kept; *ret_end its end, UINT64_MAX when open. */
uint64_t slices_tick_begin(const struct slices *s, uint64_t ns, uint64_t *ret_end);

size_t slices_bytes(const struct slices *s);
void slices_release(struct slices *s);

#endif /* SLICES_H */
