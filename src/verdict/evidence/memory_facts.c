/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/memory_facts.h"

const struct cgroup *memory_full(const struct context *k)
{
	for (size_t i = 0; i < k->m->cgroup_cnt; i++) {
		const struct cgroup *g = &k->m->cgroups[i];

		if (g->mem_limit_bytes &&
		    (g->mem_failcnt || g->mem_used_bytes >= 0.98 * g->mem_limit_bytes))
			return g;
	}
	return NULL;
}

double reclaim_share(const struct model *m, uint32_t thread)
{
	const struct thread *t = thread != NO_IDX ? &m->threads[thread] : NULL;
	double asleep, on_cpu, ns;

	if (!t || !t->reclaim_ns)
		return 0;
	/* sleeps meanwhile are waits of their own */
	asleep = (double)t->ns[ST_WAIT + WAIT_RECLAIM];
	on_cpu = (double)t->ns[ST_RUN] + t->ns[ST_RUNQ];
	ns = (double)t->reclaim_ns - asleep;
	return ns <= 0 || on_cpu <= 0 ? 0 : ns < on_cpu ? ns / on_cpu : 1;
}
