/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/bins.h"

#include <math.h>
#include <stdlib.h>

unsigned bin_of(uint64_t value)
{
	unsigned top;

	if (value < 8)
		return (unsigned)value;
	top = 63 - (unsigned)__builtin_clzll(value);
	return 8 + (top - 3) * 4 + (unsigned)(value >> (top - 2) & 3);
}

double bin_mid(unsigned bin)
{
	unsigned top;
	double width;

	if (bin < 8)
		return bin;
	top = (bin - 8) / 4 + 3;
	width = ldexp(1, (int)top - 2);
	return (4 + (bin - 8) % 4 + 0.5) * width - 0.5;
}

struct weighed { double at; uint64_t cnt; };

static int cmp_weighed(const void *pa, const void *pb)
{
	const struct weighed *a = pa, *b = pb;

	return a->at < b->at ? -1 : a->at > b->at;
}

/* The lower one of two middles, so that it is one of the values. */
static double median_of(const struct weighed *w, unsigned cnt, uint64_t all)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < cnt; i++) {
		sum += w[i].cnt;
		if (sum * 2 >= all)
			return w[i].at;
	}
	return 0;
}

struct spread bins_spread(const uint32_t *bins, double (*f)(double value))
{
	struct weighed w[BINS];
	struct spread s = {0};
	uint64_t all = 0;
	unsigned cnt = 0;

	for (unsigned i = 0; i < BINS; i++) {
		if (!bins[i])
			continue;
		w[cnt++] = (struct weighed){f(bin_mid(i)), bins[i]};
		all += bins[i];
	}
	if (!all)
		return s;
	s.mid = median_of(w, cnt, all);
	for (unsigned i = 0; i < cnt; i++)
		w[i].at = fabs(w[i].at - s.mid);
	qsort(w, cnt, sizeof(*w), cmp_weighed);
	s.dev = median_of(w, cnt, all) * 1.4826; /* of a normal distribution, its deviation */
	return s;
}
