/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has the CPU that a watched process waits for: itself (and its own
 * clients and counterparts on this host), others, or nobody, because a
 * cgroup's quota holds it back.
 */
#include <string.h>

#include "base/search.h"
#include "waits/waits_int.h"

/* Part of its periods in which a cgroup must be throttled to be called held back. */
#define THROTTLED_MIN 0.05

static bool is_own(const struct model *m, uint32_t victim, uint32_t tgid)
{
	uint32_t p;

	if (tgid == victim)
		return true;
	p = model_proc_by_tgid(m, tgid);
	if (p != NO_IDX && (m->procs[p].target || m->procs[p].peer))
		return true;
	for (size_t i = 0; i < m->res_cnt; i++) {
		if (m->res[i].kind == RES_SOCKET && m->res[i].peer_tgid == tgid)
			return true;
	}
	for (size_t i = 0; i < m->conn_last_cnt; i++) {
		if (m->conns_last[i].peer_tgid == tgid)
			return true;
	}
	return false;
}

/* True for ourselves: this CPU use is there because we watch. */
static bool is_watcher(const struct model *m, uint32_t tgid)
{
	uint32_t p = model_proc_by_tgid(m, tgid);

	return p != NO_IDX && m->procs[p].watcher;
}

/* Groups are listed with one process that is inside; targets share what holds any of them. */
static bool group_holds(const struct model *m, const struct cgroup *g, const struct proc *p)
{
	uint32_t in = model_proc_by_tgid(m, g->tgid);

	if (g->tgid == p->tgid || g->id == p->cgroup_id)
		return true;
	return in != NO_IDX && m->procs[in].target && p->target;
}

static const struct cgroup *throttled_group(const struct model *m, const struct proc *p)
{
	const struct cgroup *best = NULL;

	for (size_t i = 0; i < m->cgroup_cnt; i++) {
		const struct cgroup *g = &m->cgroups[i];

		if (!g->nr_periods || g->nr_throttled < THROTTLED_MIN * g->nr_periods ||
		    !group_holds(m, g, p))
			continue;
		if (!best || g->throttled_ns > best->throttled_ns)
			best = g;
	}
	return best;
}

static double runq_of(const struct model *m, uint32_t proc)
{
	const struct proc *p = &m->procs[proc];
	double ns = 0;

	for (uint32_t i = 0; i < p->thread_cnt; i++)
		ns += m->threads[m->proc_threads[p->first_thread + i]].ns[ST_RUNQ];
	return ns;
}

static void share_of(const struct model *m, uint32_t proc, struct runq_share *s)
{
	const struct proc *p = &m->procs[proc];
	double own = 0, other = 0, none = 0, all, runq = runq_of(m, proc);
	const struct cgroup *g = throttled_group(m, p);
	size_t at = SORTED_PREFIX(m->culprits, m->culprit_cnt, it, it->victim < p->tgid);

	for (; at < m->culprit_cnt && m->culprits[at].victim == p->tgid; at++) {
		const struct culprit *c = &m->culprits[at];

		if (is_watcher(m, c->culprit))
			continue;
		if (!c->culprit)
			none += c->ns;
		else if (is_own(m, p->tgid, c->culprit))
			own += c->ns;
		else
			other += c->ns;
	}
	all = own + other + none;
	s->self = 1;
	if (all <= 0)
		return;
	/* a held back group waits however many others run: its time counts first */
	if (g && runq > 0) {
		s->quota = g->throttled_ns / runq;
		if (s->quota < none / all)
			s->quota = none / all;
		if (s->quota > 1)
			s->quota = 1;
		all = own + other > 0 ? own + other : 1;
	}
	s->other = (1 - s->quota) * other / all;
	s->self = 1 - s->quota - s->other;
}

void runq_shares(struct engine *e)
{
	for (uint32_t i = 0; i < e->m->proc_cnt; i++)
		share_of(e->m, i, &e->runq[i]);
}
