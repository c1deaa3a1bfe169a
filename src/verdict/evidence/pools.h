/* SPDX-License-Identifier: Apache-2.0 */
#ifndef POOLS_H
#define POOLS_H
/* Pools: threads alike, over forked processes too, and whether they have time to spare. */
#include "verdict/context/context.h"

/* A pool is used up when its threads are idle less than a tenth of the time, taken together. */
#define POOL_IDLE_MAX 0.10

struct pool { uint32_t group, threads; double life, idle; };

bool same_pool(const struct context *k, const struct wgroup *a, const struct wgroup *b);
/* The one that has no thread to spare; group NO_IDX when there is none. */
struct pool used_up_pool(const struct context *k);
/* Part of a pool's time: requests are open in its threads, or end at those of a helper. */
bool cause_of_pool(const struct context *k, const struct cause *c, uint32_t group);
/* Threads like those of a group, in all watched processes.  *ret_busy: never idle. */
uint32_t alike_cnt(const struct context *k, const struct wgroup *of, uint32_t *ret_busy);
/* The thread of the group that rests least, NO_IDX none. */
uint32_t busiest_of(const struct context *k, uint32_t group);
/* f fills a pool: what waits for that. */
void pool_line(struct context *k, struct finding *f);

#endif /* POOLS_H */
