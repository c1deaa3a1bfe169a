/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIVE_REQUESTS_H
#define LIVE_REQUESTS_H
/* Inside the live source: all turns of a conversation, and which of them are slow. */
#include <stdint.h>

#include "wire/wire.h"

/* The kernel side's sum of a conversation, and the estimate for all requests. */
struct live_turns {
	struct wire_end raw, sum;
};

/* The sums of all CPUs. */
void live_turns_join(struct wire_end *to, const struct wire_end *per_cpu, int cpu_cnt);

/*
 * The sums up to now with the turns that were not timed: good until the next
 * call.  each: how many there were for each one that now has, slow ones left
 * aside, beside those that it counts as untimed.
 */
const struct wire_end *live_turns_all(struct live_turns *t, const struct wire_end *now,
				      double each);

/* From which length on a turn is slow; 0 not known yet. */
uint32_t live_turns_slow_us(const struct live_turns *t, uint64_t watched_ns);

#endif /* LIVE_REQUESTS_H */
