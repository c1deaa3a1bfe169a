/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MEMORY_FACTS_H
#define MEMORY_FACTS_H
/* Memory: limits that are met, and threads that free some before they get some. */
#include "verdict/context/context.h"

/* A cgroup at its limit of memory, NULL if none is. */
const struct cgroup *memory_full(const struct context *k);
/* Part of the time that a thread ran or wanted to in which it was in direct reclaim: 0..1. */
double reclaim_share(const struct model *m, uint32_t thread);

#endif /* MEMORY_FACTS_H */
