/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU: computing is work, not a hold-up, until there is no more of it to
 * have.  And event loops that one handler keeps from turning.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "base/hash.h"
#include "verdict/context/context.h"

/* A thread that runs or is runnable this much of the time has no room for another request. */
#define THREAD_FULL 0.85
/* Of the window: who comes and goes with a request runs all its life, and fills nothing. */
#define FULL_LIFE_MIN 0.5
/* Holders that run for less than half of the time they have a lock have it for another reason. */
#define HOLDERS_RUN 0.5
/* All CPUs together. */
#define HOST_FULL_IDLE 0.10
/* What the process must use of a CPU to be the one who uses the CPUs up. */
#define OWN_MIN 0.30
/* A thread waits for a CPU that is to hold it up: less is what time slices cost on any machine. */
#define RUNQ_MIN 0.05
/* A request that computes this long is felt even on an idle machine. */
#define LONG_RUN_NS 50e6
/* Stalls explain a loop's delay when they are this part of its time away from home. */
#define STALL_SHARE 0.5
/* One handler: at most one request in four is such a one. Else all are: then it is load. */
#define STALL_RARE 0.25

/*
 * Processes that a target forked to do something beside the requests, as a snapshot: no
 * request waits for what they do.
 */
static void beside_find(struct court *k)
{
	const struct model *m = k->m;

	k->beside = ARENA_ARRAY(k->arena, bool, m->proc_cnt + 1);
	for (size_t i = 0; i < m->proc_cnt && k->w->demand_kind == 1; i++) {
		uint32_t parent = model_proc_by_tgid(m, m->procs[i].ppid);

		k->beside[i] = m->procs[i].target && parent != NO_IDX && m->procs[parent].target;
	}
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		uint32_t t = k->w->causes[i].thread;

		if (t != NO_IDX && m->threads[t].proc != NO_IDX)
			k->beside[m->threads[t].proc] = false;
	}
}

/*
 * Who had the CPUs while the target waited for one: itself, children beside the requests,
 * processes it talks to, others.
 */
struct users {
	double own, beside, peers, others;
	const struct culprit *child, *peer; /* the largest of theirs, NULL none */
};

static void most_of(const struct culprit **most, const struct culprit *u)
{
	if (!*most || u->ns > (*most)->ns)
		*most = u;
}

static struct users cpu_users(const struct court *k)
{
	struct users s = { 0 };

	for (size_t i = 0; i < k->m->culprit_cnt; i++) {
		const struct culprit *u = &k->m->culprits[i];
		uint32_t v = model_proc_by_tgid(k->m, u->victim);
		uint32_t p = model_proc_by_tgid(k->m, u->culprit);

		if (!u->culprit || v == NO_IDX || !k->m->procs[v].target)
			continue;
		if (p != NO_IDX && k->m->procs[p].target && k->beside[p]) {
			s.beside += u->ns;
			most_of(&s.child, u);
		} else if (p != NO_IDX && k->m->procs[p].target) {
			s.own += u->ns;
		} else if (p != NO_IDX && k->m->procs[p].peer) {
			s.peers += u->ns;
			most_of(&s.peer, u);
		} else if (p == NO_IDX || !k->m->procs[p].watcher) {
			s.others += u->ns;
		}
	}
	return s;
}

/*
 * Running, or runnable while the target has the CPU: time that others take is not its
 * load, its clients on this host among them.
 */
static double thread_cpu(const struct court *k, const struct users *users, uint32_t t)
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
	if (users->peers + users->beside > 0)
		self *= users->own / (users->own + users->peers + users->beside);
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
	struct users users = cpu_users(k);
	uint32_t best = NO_IDX;
	double most = THREAD_FULL;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const struct thread *th = &k->m->threads[t];
		double cpu;

		if (!th->tracked || !thread_is_target(k->m, t) || !never_rests(th) ||
		    th->end_ns - th->begin_ns < FULL_LIFE_MIN * k->window_ns ||
		    k->beside[th->proc])
			continue;
		cpu = thread_cpu(k, &users, t);
		if (cpu >= most) {
			most = cpu;
			best = t;
		}
	}
	return best;
}

static bool is_neighbour(const struct court *k, const struct culprit *u)
{
	uint32_t v = model_proc_by_tgid(k->m, u->victim);
	uint32_t p = model_proc_by_tgid(k->m, u->culprit);

	return u->culprit && v != NO_IDX && k->m->procs[v].target &&
	       (p == NO_IDX || !(k->m->procs[p].target || k->m->procs[p].peer ||
				 k->m->procs[p].watcher));
}

static int by_ran(const void *pa, const void *pb)
{
	const struct ran *a = pa, *b = pb;

	CMP(b->ns, a->ns);
	CMP(a->first->culprit, b->first->culprit);
	return 0;
}

struct ran *who_ran(const struct court *k, size_t *ret_cnt)
{
	const struct model *m = k->m;
	struct ran *list = ARENA_ARRAY(k->arena, struct ran, m->culprit_cnt + 1);
	struct hmap idx = { 0 };
	size_t cnt = 0;

	for (size_t i = 0; i < m->culprit_cnt; i++) {
		const struct culprit *u = &m->culprits[i];
		uint32_t v = model_proc_by_tgid(m, u->victim);
		uint32_t p = model_proc_by_tgid(m, u->culprit);
		uint64_t name = *u->comm ? hash_bytes(u->comm, strlen(u->comm)) : u->culprit;
		uint64_t *slot;

		if (v == NO_IDX || !m->procs[v].target || (p != NO_IDX && m->procs[p].watcher))
			continue;
		slot = hmap_slot(&idx, hash_pair(name, is_neighbour(k, u)));
		if (!*slot) {
			list[cnt++] = (struct ran){ .first = u };
			*slot = cnt;
		}
		list[*slot - 1].ns += u->ns;
		list[*slot - 1].more |= list[*slot - 1].first->culprit != u->culprit;
	}
	hmap_release(&idx);
	qsort(list, cnt, sizeof(*list), by_ran);
	*ret_cnt = cnt;
	return list;
}

static void neighbour_find(struct court *k, struct cand *c)
{
	double best = 0;
	size_t cnt;
	const struct ran *ran = who_ran(k, &cnt);

	for (size_t i = 0; i < cnt && !best; i++) {
		if (!is_neighbour(k, ran[i].first))
			continue;
		best = ran[i].ns;
		c->neighbour = ran[i].first->culprit;
		c->neighbour_comm = ran[i].first->comm;
	}
	c->steal = k->host_steal > 0.10 && best < k->host_steal * k->window_ns;
}

void weigh_neighbour(struct court *k)
{
	neighbour_find(k, &k->cand[FIND_CPU_NEIGHBOUR]);
}

/* The thread wants a CPU for a part of its time and has none, or there is none to have. */
static bool lacks_cpu(const struct court *k, uint32_t t)
{
	const struct thread *th = t != NO_IDX ? &k->m->threads[t] : NULL;

	return k->host_idle < HOST_FULL_IDLE || !th ||
	       th->ns[ST_RUNQ] >= RUNQ_MIN * (th->end_ns - th->begin_ns);
}

/* A short wait for a CPU may stand for many requests; that makes it no lack of CPU. */
static void weigh_lack(struct court *k)
{
	struct cand *c = &k->cand[FIND_CPU_NEIGHBOUR];

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *x = &k->w->causes[i];

		if (x->kind != CAUSE_RUNQ_OTHER || x->entry_proc == NO_IDX ||
		    !k->m->procs[x->entry_proc].target || lacks_cpu(k, x->thread))
			continue;
		k->cand[FIND_HEALTHY].ns += x->ns;
		c->ns -= x->ns;
	}
	if (c->ns < 1)
		c->ns = 0;
}

static bool asks_target(const struct court *k, uint32_t tgid)
{
	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *c = &k->m->conns_last[i];
		uint32_t p = model_proc_by_tgid(k->m, c->tgid);

		if (c->role == ROLE_SERVER && c->peer_tgid == tgid && p != NO_IDX &&
		    k->m->procs[p].target)
			return true;
	}
	return false;
}

/*
 * The CPUs are used up, and mostly not by the target: what it waits for one is the doing
 * of those who have them, a child that it forked for something else among them.  A client
 * on this host that takes the CPUs is its own slow side.
 */
static bool used_by_others(struct court *k, double runq)
{
	struct users s = cpu_users(k);
	double self = s.own + s.beside + s.peers, ns = self > 0 ? runq * (1 - s.own / self) : 0;
	struct cand *own = &k->cand[FIND_CPU_OWN], *c = &k->cand[FIND_CPU_NEIGHBOUR];
	const struct culprit *who = s.beside > s.peers ? s.child : s.peer;

	if (s.own >= s.beside + s.peers + s.others)
		return false;
	if (s.beside + s.peers <= s.others)
		who = NULL;
	if (who && who == s.peer && asks_target(k, who->culprit))
		c = &k->cand[FIND_CLIENTS];
	if (who) {
		c->neighbour = who->culprit;
		c->neighbour_comm = who->comm;
	}
	ns = ns < own->ns ? ns : own->ns;
	own->ns -= ns;
	c->ns += ns;
	if (!c->top) {
		c->top = own->top;
		c->top_ns = own->top_ns;
	}
	return true;
}

static double target_run(const struct court *k)
{
	double ns = 0;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		if (thread_is_target(k->m, t) && !k->beside[k->m->threads[t].proc])
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
	double laid = own->ns - k->cpu_queue_ns; /* what lies unread is no work yet */
	double runq = 0, computing;
	uint32_t full;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->kind == CAUSE_RUNQ_SELF && c->lock == NO_IDX && c->entry_proc != NO_IDX &&
		    k->m->procs[c->entry_proc].target)
			runq += c->ns;
	}
	computing = laid > runq ? laid - runq : 0;
	beside_find(k);
	full = full_thread(k);
	if (full != NO_IDX) {
		own->loop = full;
		top_of_thread(k, own, full);
	}
	weigh_neighbour(k);
	weigh_lack(k);
	if (target_run(k) >= OWN_MIN &&
	    (full != NO_IDX || (k->turns > 0 && computing >= LONG_RUN_NS * k->turns)))
		return;
	if (k->host_idle < HOST_FULL_IDLE && runq > 0.2 * laid && !used_by_others(k, runq) &&
	    target_run(k) >= OWN_MIN)
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
