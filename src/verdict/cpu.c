/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU: computing is work, not a hold-up, until there is no more of it to
 * have.  And event loops that one handler keeps from turning.
 */
#include <string.h>

#include "verdict/weigh.h"

/* A thread that runs or is runnable this much of the time has no room for another request. */
#define THREAD_FULL 0.85
/* Holders that run for less than half of the time they have a lock have it for another reason. */
#define HOLDERS_RUN 0.5
/* All CPUs together. */
#define HOST_FULL_IDLE 0.10
/* What the process must use of a CPU to be the one who uses the CPUs up. */
#define OWN_MIN 0.30
/* A request that computes this long is felt even on an idle machine. */
#define LONG_RUN_NS 50e6
/* Stalls explain a loop's delay when they are this part of its time away from home. */
#define STALL_SHARE 0.5
/* One handler: at most one request in four is such a one. Else all are: then it is load. */
#define STALL_RARE 0.25

/* Running, or runnable while its own kind has the CPU: time that others take is not its load. */
static double thread_cpu(const struct court *k, uint32_t t)
{
	const struct thread *th = &k->m->threads[t];
	double life = th->end_ns > th->begin_ns ? th->end_ns - th->begin_ns : 1;
	double self = 0, all = 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->thread != t)
			continue;
		self += c->kind == CAUSE_RUNQ_SELF ? c->ns : 0;
		all += c->kind == CAUSE_RUNQ_SELF || c->kind == CAUSE_RUNQ_OTHER ||
			       c->kind == CAUSE_RUNQ_QUOTA ? c->ns : 0;
	}
	return (th->ns[ST_RUN] + (all > 0 ? th->ns[ST_RUNQ] * self / all : 0)) / life;
}

bool never_rests(const struct thread *th)
{
	double life = th->end_ns - th->begin_ns;

	return th->ns[ST_RUN] + th->ns[ST_RUNQ] >= THREAD_FULL * life;
}

bool computes_for_holders(const struct court *k, const struct cause *c)
{
	const struct lock *l = c->lock != NO_IDX ? &k->w->locks[c->lock] : NULL;
	double all = 0;
	unsigned role;

	if (!l || c->thread == NO_IDX || (c->kind != CAUSE_RUN && c->kind != CAUSE_RUNQ_SELF))
		return false;
	role = k->w->threads[c->thread].role;
	for (unsigned i = 0; i < ST_CNT; i++)
		all += l->holder_st[i];
	return role != ROLE_T_ENTRY && role != ROLE_T_LOOP && c->thread != l->holder &&
	       never_rests(&k->m->threads[c->thread]) &&
	       l->holder_st[ST_RUN] + l->holder_st[ST_RUNQ] < HOLDERS_RUN * all;
}

/* A thread that requests go through and that never rests. */
static uint32_t full_thread(const struct court *k)
{
	uint32_t best = NO_IDX;
	double most = THREAD_FULL;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const struct thread *th = &k->m->threads[t];
		double cpu;

		if (!th->tracked || !thread_is_target(k->m, t) || !never_rests(th))
			continue;
		cpu = thread_cpu(k, t);
		if (cpu >= most) {
			most = cpu;
			best = t;
		}
	}
	return best;
}

static void neighbour_find(struct court *k, struct cand *c)
{
	double best = 0;

	for (size_t i = 0; i < k->m->culprit_cnt; i++) {
		const struct culprit *u = &k->m->culprits[i];
		uint32_t v = model_proc_by_tgid(k->m, u->victim);
		uint32_t p = model_proc_by_tgid(k->m, u->culprit);

		if (!u->culprit || v == NO_IDX || !k->m->procs[v].target || u->ns <= best)
			continue;
		if (p != NO_IDX && (k->m->procs[p].target || k->m->procs[p].peer ||
				    k->m->procs[p].watcher))
			continue;
		best = u->ns;
		c->neighbour = u->culprit;
		c->neighbour_comm = u->comm;
	}
	c->steal = k->host_steal > 0.10 && best < k->host_steal * k->window_ns;
}

void weigh_neighbour(struct court *k)
{
	neighbour_find(k, &k->cand[FIND_CPU_NEIGHBOUR]);
}

static double target_run(const struct court *k)
{
	double ns = 0;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		if (thread_is_target(k->m, t))
			ns += k->m->threads[t].ns[ST_RUN];
	}
	return ns / k->window_ns;
}

/* The chain ends at the one that is blamed, where most of the demand does. */
static void top_of_thread(const struct court *k, struct cand *own, uint32_t thread)
{
	const struct cause *top = NULL;
	double ns = 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->thread != thread || (c->kind != CAUSE_RUN && c->kind != CAUSE_RUNQ_SELF))
			continue;
		ns += c->ns;
		if (!top || c->ns > top->ns)
			top = c;
	}
	if (!top || 2 * ns < own->ns)
		return;
	own->top = top;
	own->top_ns = top->ns;
}

void weigh_cpu(struct court *k)
{
	struct cand *own = &k->cand[FIND_CPU_OWN];
	uint32_t full = full_thread(k);
	double laid = own->ns - k->cpu_queue_ns; /* what lies unread is no work yet */
	double runq = 0, per_request = k->turns > 0 ? laid / k->turns : 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		if (k->w->causes[i].kind == CAUSE_RUNQ_SELF && k->w->causes[i].lock == NO_IDX)
			runq += k->w->causes[i].ns;
	}
	if (full != NO_IDX) {
		own->loop = full;
		top_of_thread(k, own, full);
	}
	weigh_neighbour(k);
	if (target_run(k) >= OWN_MIN &&
	    (full != NO_IDX || (k->host_idle < HOST_FULL_IDLE && runq > 0.2 * laid) ||
	     per_request >= LONG_RUN_NS))
		return;
	/* room left: what is spent computing holds nobody up */
	k->cand[FIND_HEALTHY].ns += own->ns;
	own->ns = 0;
}

struct kind { double ns, most_ns; const struct cause *most; };

static void kinds_add(struct kind *kinds, const struct cause *x, double ns)
{
	struct kind *d = &kinds[x->kind];

	d->ns += ns;
	if (ns > d->most_ns) {
		d->most_ns = ns;
		d->most = x;
	}
}

/* Each child that a handler waits for has a little of it: what counts is their sum. */
static void top_of_kinds(struct cand *c, const struct kind *kinds)
{
	double best = 0;

	for (unsigned i = 0; i < CAUSE_CNT; i++) {
		if (kinds[i].ns <= best)
			continue;
		best = kinds[i].ns;
		c->top = kinds[i].most;
		c->top_ns = kinds[i].most_ns;
	}
}

void weigh_loop(struct court *k)
{
	struct cand *c = &k->cand[FIND_LOOP_BLOCKED];
	struct kind kinds[CAUSE_CNT] = { 0 };

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const struct thread *th = &k->m->threads[t];
		const struct wthread *w = &k->w->threads[t];
		double life = th->end_ns - th->begin_ns, away, part, ns;
		struct cand *from;

		if (w->role != ROLE_T_LOOP || !thread_is_target(k->m, t))
			continue;
		away = life - w->idle_ns;
		part = away > 0 ? w->stall_ns / away : 0;
		if (w->stall_max_ns < WAITS_STALL_NS || part < STALL_SHARE ||
		    w->stall_cnt > STALL_RARE * k->turns + 1)
			continue;
		if (part > 1)
			part = 1;
		for (size_t i = 0; i < k->w->cause_cnt; i++) {
			const struct cause *x = &k->w->causes[i];

			if (x->entry != t || x->lock != NO_IDX || x->kind == CAUSE_QUEUE ||
			    x->end != NO_IDX)
				continue;
			from = x->kind == CAUSE_TIMER ? &k->cand[FIND_TIMER] :
			       x->kind == CAUSE_RUN || x->kind == CAUSE_RUNQ_SELF ?
						      &k->cand[FIND_CPU_OWN] :
			       x->kind == CAUSE_UNSEEN || x->kind == CAUSE_OTHER ||
					       x->kind == CAUSE_CHILD ?
						      &k->cand[FIND_UNKNOWN] : NULL;
			ns = x->ns * part;
			if (!from || from->ns < ns)
				continue;
			from->ns -= ns;
			c->ns += ns;
			c->loop = t;
			kinds_add(kinds, x, ns);
		}
	}
	top_of_kinds(c, kinds);
}
