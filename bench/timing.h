/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIMING_H
#define TIMING_H
/*
 * For the programs of this folder: the time now, and the middle one of several.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/cmp.h"

static inline double now_ms(void)
{
	return (double)clock_mono_ns() / 1e6;
}

static inline int by_value(const void *pa, const void *pb)
{
	const double *a = pa, *b = pb;

	CMP(*a, *b);
	return 0;
}

/* Sorts them. */
static inline double median_of(double *values, size_t cnt)
{
	qsort(values, cnt, sizeof(*values), by_value);
	return values[cnt / 2];
}

#endif /* TIMING_H */
