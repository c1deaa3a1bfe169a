/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/context/context.h"

void cand_init(struct cand *c, unsigned cls)
{
	*c = (struct cand){ .cls = (uint8_t)cls, .lock = NO_IDX, .end = NO_IDX, .peer = NO_IDX,
			    .dev = NO_IDX, .group = NO_IDX, .loop = NO_IDX,
			    .neighbour_comm = "" };
}

void context_init(struct context *k, const struct model *m, const struct waits_result *w,
		struct arena *arena)
{
	const struct ev_host *h = &m->host;
	double all = (double)h->cpu_busy_ns + h->cpu_idle_ns + h->cpu_iowait_ns + h->cpu_steal_ns;

	*k = (struct context){ .m = m, .w = w, .arena = arena };
	k->window_ns = m->end_ns > m->begin_ns ? m->end_ns - m->begin_ns : 1;
	k->host_idle = all > 0 ? (h->cpu_idle_ns + h->cpu_iowait_ns) / all : 1;
	k->host_steal = all > 0 ? h->cpu_steal_ns / all : 0;
	for (unsigned i = 0; i < FIND_CNT; i++)
		cand_init(&k->cand[i], i);
	k->cause_cls = ARENA_ARRAY(arena, uint8_t, w->cause_cnt + 1);
	k->turns = w->total.turns;
}
