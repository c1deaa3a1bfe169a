/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are open or unread while nobody works on them: a pool that
 * is too small, or a limit on connections.  Also clients that are slow.
 */
#include <string.h>

#include "verdict/weigh.h"

/* A pool is used up when its threads are idle less than a tenth of the time, taken together. */
#define POOL_IDLE_MAX 0.10
/* Half of a listen queue in use at a tick is no burst of one accept loop turn. */
#define BACKLOG_FULL 0.5

struct pool { uint32_t group, threads; double life, idle, run, runq; };

static bool same_pool(const struct court *k, const struct wgroup *a, const struct wgroup *b)
{
	const struct model *m = k->m;

	if (a->role != b->role || strcmp(a->comm, b->comm) != 0)
		return false;
	return a->proc == b->proc ||
	       strcmp(m->procs[a->proc].comm, m->procs[b->proc].comm) == 0;
}

/* Threads alike, over forked processes too. */
static struct pool pool_of(const struct court *k, uint32_t group)
{
	const struct wgroup *g = &k->w->groups[group];
	struct pool p = { .group = group };

	for (size_t i = 0; i < k->w->group_cnt; i++) {
		const struct wgroup *o = &k->w->groups[i];

		if (o->proc == NO_IDX || !k->m->procs[o->proc].target || !same_pool(k, g, o))
			continue;
		p.threads += o->thread_cnt;
		p.life += o->life_ns;
		p.idle += o->idle_ns;
		p.run += o->run_ns;
		p.runq += o->runq_ns;
	}
	return p;
}

/* The pool that has no thread to spare, NO_IDX when there is none. */
static struct pool used_up_pool(const struct court *k)
{
	struct pool best = { .group = NO_IDX };

	for (size_t i = 0; i < k->w->group_cnt; i++) {
		const struct wgroup *g = &k->w->groups[i];
		struct pool p;

		if (g->proc == NO_IDX || !k->m->procs[g->proc].target)
			continue;
		if (g->role != ROLE_T_WORKER && g->role != ROLE_T_ENTRY && g->role != ROLE_T_HELPER)
			continue;
		p = pool_of(k, i);
		if (p.life > 0 && p.idle < POOL_IDLE_MAX * p.life && p.life > best.life)
			best = p;
	}
	return best;
}

/* Demand of the pool's own threads: what keeps them from taking the next piece. */
static double pool_busy_ns(const struct court *k, uint32_t group)
{
	double ns = 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->thread != NO_IDX && k->m->threads[c->thread].tracked &&
		    same_pool(k, &k->w->groups[group],
			      &k->w->groups[k->w->threads[c->thread].group]) &&
		    (c->kind == CAUSE_TIMER || c->kind == CAUSE_OTHER))
			ns += c->ns;
	}
	return ns;
}

static void backlog_add(struct court *k)
{
	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		const struct ev_listen *l = &k->m->listens[i];
		bool full = l->backlog >= 2 && l->backlog >= BACKLOG_FULL * l->backlog_max;

		if (!full && !(k->m->host.listen_overflows && l->backlog))
			continue;
		k->cand[FIND_CONN_LIMIT].ns += l->backlog * k->window_ns;
		k->demand_ns += l->backlog * k->window_ns;
	}
}

void weigh_queue(struct court *k)
{
	struct cand *limit = &k->cand[FIND_CONN_LIMIT], *workers = &k->cand[FIND_WORKERS];
	struct pool p = used_up_pool(k);
	double queue, served, slow_cpu, slow_queue, busy;

	backlog_add(k);
	queue = limit->ns;
	if (queue <= 0 || p.group == NO_IDX)
		return;
	served = k->demand_ns - queue;
	/*
	 * A pool that computes on CPUs that are all taken: what makes a request
	 * longer, the line before the pool or the line before the CPU?
	 */
	slow_queue = served > 0 ? k->demand_ns / served : k->demand_ns;
	slow_cpu = p.run > 0 ? (p.run + p.runq) / p.run : 1;
	if (k->host_idle < 0.10 && slow_cpu > slow_queue) {
		k->cand[FIND_CPU_OWN].ns += queue;
		limit->ns = 0;
		return;
	}
	*workers = *limit;
	workers->cls = FIND_WORKERS;
	workers->group = p.group;
	busy = pool_busy_ns(k, p.group);
	if (busy > k->cand[FIND_TIMER].ns)
		busy = k->cand[FIND_TIMER].ns;
	workers->ns += busy;
	k->cand[FIND_TIMER].ns -= busy;
	limit->ns = 0;
}

void weigh_clients(struct court *k)
{
	double tx = 0;

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role == ROLE_SERVER && n->proc != NO_IDX && k->m->procs[n->proc].target)
			tx += n->txblock_ns;
	}
	/* waits in send are in the causes already */
	if (tx > k->cand[FIND_CLIENTS].ns) {
		k->demand_ns += tx - k->cand[FIND_CLIENTS].ns;
		k->cand[FIND_CLIENTS].ns = tx;
	}
}
