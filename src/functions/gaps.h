/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GAPS_H
#define GAPS_H
/*
 * What runs between calls.  A function that makes no call has no episode; a
 * clock sees it run while signatures are learnt.  A *gap* is the time between
 * the end of a thread's call and its next one (noise, norm.h, left out).  Its
 * place is told by that call, the next one, and the last other call before
 * them.  A function is known by the places in which it was seen.
 *
 * Where a place has several functions, how long the thread ran tells them
 * apart: of what runs between the same two calls the longer work is seen in
 * the longer gaps.
 *
 *	gaps_learn: what the samples of a window saw, by function
 *
 * Linear in calls and samples.
 */
#include <stdint.h>

#include "base/vec.h"
#include "functions/sig_gaps.h"

struct appfns;
struct model;

/* Two doublings of nanoseconds are one bin. */
uint8_t gap_bin(uint64_t ns);

/* Symbols are numbers of calls as the model has them; fn: idx in app->fns. */
void gaps_learn(const struct model *m, const struct appfns *app, const uint8_t *noise,
		struct sig_gap_set *ret_set);

#endif /* GAPS_H */
