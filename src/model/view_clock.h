/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIEW_CLOCK_H
#define VIEW_CLOCK_H
/*
 * Which waits the model keeps whole, and the clock of those it gives.
 *
 *   long_waits[]  of WAIT_LONG_NS and more, of the whole window, in real
 *                 time; over max_waits / 4 the longest are kept
 *   waits[]       long and short, of the time in kept[]: a fair sample of
 *                 the window, all of it while max_waits suffice
 *
 * Time that is not kept is cut out of waits[]: their times, and view_begin_ns
 * and view_end_ns of threads, are on a clock that stands still meanwhile, the
 * view clock.  So what overlaps still overlaps, and shares of time are those
 * of the window.  It is the real clock where all is kept; both end together.
 * A wait's own real times stand beside them.
 */
#include <stdint.h>

struct model;

struct kept {
	uint64_t begin_ns, end_ns; /* real */
	uint64_t view_ns;	   /* begin_ns on the view clock */
};

/* From one clock to the other; time that is not kept is as the kept time next to it. */
uint64_t model_view_ns(const struct model *m, uint64_t real_ns);
uint64_t model_real_ns(const struct model *m, uint64_t view_ns);

#endif /* VIEW_CLOCK_H */
