/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/second.h"

/* Lower edge of a bucket: two to a power of two, from 1 us up. */
static uint64_t bucket_ns(unsigned i)
{
	uint64_t low = UINT64_C(1000) << (i / 2);

	return i & 1 ? low + low / 2 : low;
}

uint64_t second_quantile_ns(const uint64_t *hist, double q)
{
	uint64_t all = 0, seen = 0;

	for (unsigned i = 0; i < EVENT_HIST_CNT; i++)
		all += hist[i];
	for (unsigned i = 0; all && i < EVENT_HIST_CNT; i++) {
		seen += hist[i];
		if (seen && (double)seen >= q * (double)all)
			return (bucket_ns(i) + bucket_ns(i + 1)) / 2;
	}
	return 0;
}
