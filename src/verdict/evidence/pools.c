/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/pools.h"

#include <string.h>

#include "base/alike.h"
#include "base/hash.h"
#include "verdict/context/figures.h"
#include "verdict/context/targets.h"

/* One busy thread among others at rest may be anything, as a timer's or a compiler's. */
#define BUSY_PART_MIN 2

/* Share of the window: a thread that comes and goes with a request is part of its work. */
#define POOL_LIFE_MIN 0.5

/* Requests of one pool pass another on their way: only twice the time tells them apart. */
#define MORE 2

bool same_pool(const struct context *k, const struct wgroup *a, const struct wgroup *b)
{
	const struct model *m = k->m;

	if (a->role != b->role || !named_alike(a->comm, b->comm))
		return false;
	return a->proc == b->proc ||
	       strcmp(m->procs[a->proc].comm, m->procs[b->proc].comm) == 0;
}

static uint64_t pool_key(const struct context *k, const struct wgroup *g)
{
	const char *comm = k->m->procs[g->proc].comm;

	return hash_pair(name_alike_key(g->comm),
			 hash_pair(g->role, hash_bytes(comm, strlen(comm))));
}

/* Threads alike, over forked processes too. */
static struct pool pool_of(const struct context *k, uint32_t group)
{
	const struct wgroup *g = &k->w->groups[group];
	struct pool p = { .group = group };

	for (size_t i = 0; i < k->w->group_cnt; i++) {
		const struct wgroup *o = &k->w->groups[i];

		if (!proc_is_target(k->m, o->proc) || !same_pool(k, g, o))
			continue;
		p.threads += o->thread_cnt;
		p.life += o->life_ns;
		p.idle += o->idle_ns;
	}
	return p;
}

/*
 * Of threads alike, those that are never idle.  Two pools may look alike, and
 * one rest: with requests open that nobody works on, the threads at rest do
 * not take from that queue, or they would.
 */
static struct pool busy_part(const struct context *k, uint32_t group)
{
	struct pool p = { .group = group };

	for (size_t t = 0; t < k->m->thread_cnt; t++) {
		const struct wthread *w = &k->w->threads[t];
		double life;

		if (w->group == NO_IDX || !proc_is_target(k->m, k->w->groups[w->group].proc) ||
		    !same_pool(k, &k->w->groups[group], &k->w->groups[w->group]))
			continue;
		life = (double)(k->m->threads[t].end_ns - k->m->threads[t].begin_ns);
		if ((double)w->idle_ns >= POOL_IDLE_MAX * life ||
		    life < POOL_LIFE_MIN * k->window_ns)
			continue;
		p.threads++;
		p.life += life;
		p.idle += (double)w->idle_ns;
	}
	return p;
}

/* A loop with more than one request open at a time is no worker, whatever keeps it. */
#define ONE_AT_A_TIME 1.1

static double open_avg(const struct context *k, uint32_t proc)
{
	for (size_t i = 0; i < k->w->req_cnt; i++) {
		if (k->w->reqs[i].proc == proc)
			return k->w->reqs[i].open_avg;
	}
	return 0;
}

static bool takes_requests(const struct context *k, const struct wgroup *g)
{
	if (g->role == ROLE_T_LOOP)
		return 2 * g->blocked_ns >= g->life_ns &&
		       open_avg(k, g->proc) <= ONE_AT_A_TIME * g->thread_cnt;
	return g->role == ROLE_T_WORKER || g->role == ROLE_T_ENTRY || g->role == ROLE_T_HELPER;
}

/* Requests' time that comes in through the pool's threads, or ends at them. */
static double requests_ns(const struct context *k, const struct wgroup *g)
{
	double ns = 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		for (unsigned end = 0; end < 2; end++) {
			uint32_t t = end ? c->thread : c->entry;

			if (c->kind == CAUSE_QUEUE || t == NO_IDX || !k->m->threads[t].tracked ||
			    !same_pool(k, g, &k->w->groups[k->w->threads[t].group]))
				continue;
			ns += (double)c->ns;
			break;
		}
	}
	return ns;
}

/*
 * Who has no time for requests is the pool that they wait for: the one through which more
 * of their time goes, as threads of a collector do not idle either.  Larger of equals.
 */
static bool is_better(const struct context *k, const struct pool *p, const struct pool *best)
{
	double ns, best_ns;

	if (best->group == NO_IDX)
		return true;
	ns = requests_ns(k, &k->w->groups[p->group]);
	best_ns = requests_ns(k, &k->w->groups[best->group]);
	return ns > MORE * best_ns || (MORE * ns >= best_ns && p->life > best->life);
}

/* The pool that has no thread to spare, NO_IDX when there is none. */
struct pool used_up_pool(const struct context *k)
{
	struct pool best = { .group = NO_IDX };
	struct hmap seen = { 0 }; /* pools: forked processes may be many */

	for (size_t i = 0; i < k->w->group_cnt; i++) {
		const struct wgroup *g = &k->w->groups[i];
		struct pool p;

		if (!proc_is_target(k->m, g->proc))
			continue;
		if (!takes_requests(k, g) || hmap_get(&seen, pool_key(k, g), NULL))
			continue;
		hmap_put(&seen, pool_key(k, g), 1);
		p = pool_of(k, i);
		if (p.life < POOL_LIFE_MIN * p.threads * k->window_ns)
			continue;
		if (p.idle >= POOL_IDLE_MAX * p.life && g->role == ROLE_T_WORKER) {
			p = busy_part(k, i);
			if (p.threads < BUSY_PART_MIN)
				continue;
		}
		if (p.life > 0 && p.idle < POOL_IDLE_MAX * p.life && is_better(k, &p, &best))
			best = p;
	}
	hmap_release(&seen);
	return best;
}

/* Part of a pool's time: requests are open in its threads, or end at those of a helper. */
bool cause_of_pool(const struct context *k, const struct cause *c, uint32_t group)
{
	const struct wgroup *g = &k->w->groups[group];
	uint32_t t = g->role == ROLE_T_HELPER ? c->thread : c->entry;

	return t != NO_IDX && k->m->threads[t].tracked &&
	       same_pool(k, g, &k->w->groups[k->w->threads[t].group]);
}

/* In all watched processes: a server may have its workers in one each. */
uint32_t alike_cnt(const struct context *k, const struct wgroup *of, uint32_t *ret_busy)
{
	uint32_t cnt = 0;

	*ret_busy = 0;
	for (size_t i = 0; i < k->w->group_cnt; i++) {
		const struct wgroup *g = &k->w->groups[i];

		if (g == of || (g->role == of->role && named_alike(g->comm, of->comm) &&
				k->m->procs[g->proc].target)) {
			cnt += g->thread_cnt;
			*ret_busy += g->busy_cnt;
		}
	}
	return cnt;
}

void pool_line(struct context *k, struct finding *f)
{
	const struct cand *p = &k->pool;
	uint32_t busy, cnt;

	if (p->ns <= 0 || p->kept_by != f->cls)
		return;
	cnt = alike_cnt(k, &k->w->groups[p->group], &busy);
	say_figures(k, f, "{} of {} requests on average wait for {}{} worker{} ({}) that this "
		    "keeps busy: those that need nothing of it wait too",
		    N_AVG("waiting_requests", p->ns / k->window_ns),
		    N_AVG("open_requests", k->demand_ns / k->window_ns),
		    N_WORD(cnt == 1 ? "the " : "one of the "), N_CNT("workers", cnt),
		    N_WORD(cnt == 1 ? "" : "s"), N_WORD(k->w->groups[p->group].comm));
}

/* The one that rests least. */
uint32_t busiest_of(const struct context *k, uint32_t group)
{
	uint32_t best = NO_IDX;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++)
		if (k->m->threads[t].tracked && k->w->threads[t].group == group &&
		    (best == NO_IDX || k->w->threads[t].idle_ns < k->w->threads[best].idle_ns))
			best = t;
	return best;
}
