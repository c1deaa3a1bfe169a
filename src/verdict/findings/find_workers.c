/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Too few workers.  Requests that are open or unread while nobody works on them are first
 * the limit's (find_conn_limit.c); here they go to what fills the pool that should take them.
 */
#include "verdict/context/conversations.h"
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/cpu_users.h"
#include "verdict/evidence/pools.h"
#include "verdict/evidence/queue_lines.h"
#include "verdict/findings/findings.h"
#include "verdict/findings/next_step.h"

/* Half of a listen queue in use at the mean of all ticks is no burst of one accept loop turn. */
#define BACKLOG_FULL 0.5
/* A limit shows by a line before it: one request at least waits for its turn, at any time. */
#define QUEUE_MIN 1.0
/*
 * Unread for less, on average: a slice of the scheduler.  So long the threads of a
 * server at full load take to wake each other; a limit holds requests for a multiple
 * of what their work takes, while its threads rest.
 */
#define UNREAD_MIN_NS 1e6

/* Less of a busy pool's time than this is work that was seen: what it does is a guess. */
#define UNEXPLAINED_MAX 0.1

/* Longer than any slice: a limit may keep few of these among many quick ones. */
#define LONG_NS 16000000

/*
 * What the pool's own threads are kept by, as candidates: a sleep of their
 * own, computing, or a hold-up that would be one with any number of threads.
 */
static void pool_busy(const struct context *k, uint32_t group, double *by_class)
{
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		/* a worker's program is its own work */
		if (cause_of_pool(k, c, group))
			by_class[sleeps_in_program(k, c) ? FIND_TIMER : cause_finding(k, c)] +=
				c->ns;
	}
}

/* The chain ends where most of the time of the pool's threads goes. */
static void pool_top(const struct context *k, struct cand *c)
{
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *x = &k->w->causes[i];

		if (x->kind == CAUSE_QUEUE || x->kind == CAUSE_IDLE || x->kind == CAUSE_CLIENT ||
		    !cause_of_pool(k, x, c->group) || (double)x->ns <= c->top_ns)
			continue;
		c->top = x;
		c->top_ns = (double)x->ns;
	}
}

static void give(struct context *k, unsigned cls, double ns)
{
	k->cand[FIND_CONN_LIMIT].ns -= ns;
	k->cand[cls].ns += ns;
}

struct use { double run, self, other, quota, asleep; };

/* Sums what a pool's threads do while requests wait; without a pool, all that clients meet. */
static struct use use_of(const struct context *k, uint32_t group)
{
	struct use u = { 0 };

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];
		double *to = c->kind == CAUSE_RUN ? &u.run :
			     c->kind == CAUSE_RUNQ_SELF ? &u.self :
			     c->kind == CAUSE_RUNQ_OTHER ? &u.other :
			     c->kind == CAUSE_RUNQ_QUOTA ? &u.quota : &u.asleep;

		if (c->kind == CAUSE_QUEUE || c->kind == CAUSE_IDLE || c->kind == CAUSE_CLIENT ||
		    c->entry == NO_IDX || !thread_is_target(k->m, c->entry) ||
		    !k->m->threads[c->entry].tracked)
			continue;
		if (group != NO_IDX && !same_pool(k, &k->w->groups[group],
						  &k->w->groups[k->w->threads[c->entry].group]))
			continue;
		*to += c->ns;
	}
	return u;
}

/*
 * Of the time one of its threads or another runs or wants to: else at times none does
 * while requests wait, and it is not a CPU that they wait for.
 */
#define CPU_WANTED 0.85

static bool always_wants_cpu(const struct context *k)
{
	double ns = 0;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		if (thread_is_target(k->m, t))
			ns += (double)(k->m->threads[t].ns[ST_RUN] + k->m->threads[t].ns[ST_RUNQ]);
	}
	return ns >= CPU_WANTED * k->window_ns;
}

/*
 * A line before threads that want nothing but CPUs, which are all taken, is a line for
 * the CPU: who waits for his turn at it, lets requests lie.  Clients that ask again at
 * once keep any server so.  It is no limit, which shows by threads that wait for
 * something else, or rest, while requests wait.
 */
static bool give_cpu(struct context *k, uint32_t group, double queue)
{
	struct use u = use_of(k, group);
	double cpu = u.run + u.self + u.other + u.quota, wait = u.self + u.other + u.quota;

	if (k->host_idle >= HOST_FULL_IDLE || cpu <= u.asleep || !always_wants_cpu(k))
		return false;
	k->cpu_queue_ns = wait > 0 ? queue * u.self / wait : queue;
	give(k, FIND_CPU_OWN, k->cpu_queue_ns);
	if (wait > 0) {
		give(k, FIND_CPU_NEIGHBOUR, queue * u.other / wait);
		give(k, FIND_CPU_QUOTA, queue * u.quota / wait);
	}
	return true;
}

/*
 * A line before one thread that runs all the time: no CPU is missing, but it can have no
 * more than one.  Where it waits for that one longer than it has it, others do the harm.
 */
static bool give_thread(struct context *k, const struct pool *p, double queue)
{
	uint32_t t = busiest_of(k, p->group);

	if (p->threads != 1 || t == NO_IDX || !thread_is_full(k, t) ||
	    k->m->threads[t].ns[ST_RUNQ] > k->m->threads[t].ns[ST_RUN])
		return false;
	k->cpu_queue_ns = queue;
	give(k, FIND_CPU_OWN, queue);
	return true;
}

/* The hold-up that keeps most of the pool; FIND_WORKERS when it is the pool's own work. */
static unsigned pool_kept_by(const struct context *k, uint32_t group, double *ret_own_ns)
{
	double by_class[FIND_CNT] = { 0 }, all = 0, best = 0;
	unsigned cls = FIND_WORKERS;

	pool_busy(k, group, by_class);
	*ret_own_ns = by_class[FIND_TIMER];
	for (unsigned i = 0; i < FIND_CNT; i++) {
		all += by_class[i];
		if (i == FIND_TIMER || i == FIND_CPU_OWN || i == FIND_UNKNOWN ||
		    i == FIND_HEALTHY || i == FIND_CONN_LIMIT || by_class[i] <= best)
			continue;
		best = by_class[i];
		cls = i;
	}
	return best * 2 > all ? cls : FIND_WORKERS;
}

/* Share of its life: a thread that rests so long has the time to take what lies there. */
#define REST_MIN 0.5

/*
 * A server that answered nothing has shown by no request which of its threads take them;
 * programs that it runs for a connection do not listen.
 */
static bool may_take(const struct context *k, uint32_t t, uint32_t listens)
{
	unsigned role = k->w->threads[t].role;

	return role == ROLE_T_ENTRY || role == ROLE_T_LOOP || role == ROLE_T_ACCEPT ||
	       (k->turns < 1 && k->m->threads[t].tgid == listens);
}

/*
 * None of the threads that connections or requests come in through is busy, nor held back:
 * those of process listens, and of others that were seen to take some.
 */
static bool takers_rest(const struct context *k, uint32_t listens)
{
	uint32_t cnt = 0;

	/* with no CPU to spare who wants to take may not get one */
	if (k->host_idle < HOST_FULL_IDLE)
		return false;
	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const struct thread *th = &k->m->threads[t];
		const struct wthread *w = &k->w->threads[t];

		if (!th->tracked || !thread_is_target(k->m, t) || !may_take(k, t, listens))
			continue;
		cnt++;
		if ((double)w->idle_ns < REST_MIN * (double)(th->end_ns - th->begin_ns))
			return false;
	}
	return cnt > 0;
}

/*
 * With all workers busy any line counts, and one that is never empty while they all
 * rest: they do not take it.  Else only one that is half the room there is.
 */
static double backlog_ns(const struct context *k, bool all_busy)
{
	double ns = 0;

	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		const struct listen *l = &k->m->listens[i];
		uint32_t p = model_proc_by_tgid(k->m, l->e.tgid);

		if (!proc_is_target(k->m, p) || l->backlog_avg < QUEUE_MIN)
			continue;
		if (all_busy ||
		    (l->backlog_min >= QUEUE_MIN && takers_rest(k, l->e.tgid)) ||
		    l->backlog_avg >= BACKLOG_FULL * l->e.backlog_max ||
		    k->m->host.listen_overflows)
			ns += l->backlog_avg * k->window_ns;
	}
	return ns;
}

static double queued_ns(const struct context *k)
{
	double ns = 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->kind == CAUSE_QUEUE && proc_is_target(k->m, c->entry_proc))
			ns += c->ns;
	}
	return ns;
}

/*
 * Ends that any number of workers would wait for in the same way: they have it one by one,
 * or there is no more of it.  One who answers late may answer more at a time.
 */
static bool is_shared(const struct context *k, uint32_t group, unsigned kept)
{
	double shared = 0, all = 0;

	if (kept != FIND_EXTERNAL && kept != FIND_PEER)
		return true;
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (!cause_of_pool(k, c, group) || cause_finding(k, c) != kept)
			continue;
		all += c->ns;
		if (c->lock != NO_IDX || c->kind == CAUSE_LOCK || c->kind == CAUSE_KLOCK ||
		    c->kind == CAUSE_CYCLE || c->kind == CAUSE_DISK || c->kind == CAUSE_FSYNC ||
		    c->kind == CAUSE_MEMORY || c->kind == CAUSE_QUEUE ||
		    c->kind == CAUSE_RUNQ_SELF || c->kind == CAUSE_RUNQ_OTHER ||
		    c->kind == CAUSE_RUNQ_QUOTA ||
		    (c->kind == CAUSE_RUN && never_rests(&k->m->threads[c->thread])))
			shared += c->ns;
	}
	return 2 * shared > all;
}

/* The pool is named beside what fills it; its share is part of that. */
static void pool_note(struct context *k, uint32_t group, unsigned kept, double queue)
{
	struct cand *d = &k->pool;

	cand_init(d, FIND_WORKERS);
	d->ns = queue;
	d->group = group;
	d->kept_by = (uint8_t)kept;
	pool_top(k, d);
}

/* Few long answers make up no half of the queue, and it is short for each request. */
static bool taken_soon(const struct context *k, double queue)
{
	double late = 0;

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role == ROLE_SERVER && proc_is_target(k->m, n->proc))
			late += hist_sum_from(n->hist, LONG_NS);
	}
	return k->turns > 0 && queue < UNREAD_MIN_NS * k->turns && 2 * late < queue;
}

/*
 * Requests wait for a limit, and hardly any of them at the lock that would be it: which
 * limit that is was not seen.
 */
static void name_line(struct context *k, double queue)
{
	struct cand *limit = &k->cand[FIND_CONN_LIMIT];
	double at_lock = 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->lock != NO_IDX && c->lock == limit->lock &&
		    proc_is_target(k->m, c->entry_proc) &&
		    cause_finding(k, c) == FIND_CONN_LIMIT)
			at_lock += (double)c->ns;
	}
	if (at_lock < CARRIER_MIN * queue)
		limit->lock = NO_IDX;
}

static void weigh_queue(struct context *k)
{
	struct cand *limit = &k->cand[FIND_CONN_LIMIT], *workers = &k->cand[FIND_WORKERS];
	struct pool p = used_up_pool(k);
	double queue = queued_ns(k), backlog = backlog_ns(k, p.group != NO_IDX);
	double own;
	unsigned kept;

	limit->ns += backlog;
	k->demand_ns += backlog;
	queue += backlog;
	if (queue < QUEUE_MIN * k->window_ns) {
		/* between two looks at a busy loop something is always on its way */
		give(k, FIND_HEALTHY, queue);
		return;
	}
	if (p.group == NO_IDX) {
		if (give_cpu(k, NO_IDX, queue))
			return;
		if (backlog <= 0 && taken_soon(k, queue))
			give(k, FIND_HEALTHY, queue);
		else
			name_line(k, queue);
		return;
	}
	kept = pool_kept_by(k, p.group, &own);
	if (kept != FIND_WORKERS) {
		/* what fills the pool comes first; without that, or with more workers, it ends */
		give(k, kept, queue);
		if (!is_shared(k, p.group, kept))
			pool_note(k, p.group, kept, queue);
		return;
	}
	if (give_cpu(k, p.group, queue) || give_thread(k, &p, queue))
		return;
	give(k, FIND_WORKERS, queue);
	workers->group = p.group;
	pool_top(k, workers);
	if (!workers->top) {
		workers->top = limit->top;
		workers->top_ns = limit->top_ns;
	}
	if (own > k->cand[FIND_TIMER].ns)
		own = k->cand[FIND_TIMER].ns;
	workers->ns += own;
	k->cand[FIND_TIMER].ns -= own;
}

static const char *pool_text(struct context *k, const struct wgroup *g)
{
	uint32_t busy, cnt = alike_cnt(k, g, &busy);
	const char *role = role_name(g->role);

	if (cnt == 1)
		return arena_printf(k->arena, "The one %s (%s) is busy; requests queue for it.",
				    role, g->comm);
	/* with some at rest the pool is those that are not: see busy_part */
	if (g->role == ROLE_T_WORKER && busy > 1 && busy < cnt &&
	    (double)g->idle_ns >= 0.1 * (double)g->life_ns)
		return arena_printf(k->arena, "%u of %u %ss (%s) are always busy, and requests "
				    "queue that the others do not take.", busy, cnt, role,
				    g->comm);
	return arena_printf(k->arena, "All %u %ss (%s) are busy; requests queue for them.", cnt,
			    role, g->comm);
}

static void explain_workers(struct context *k, struct finding *f, const struct cand *c)
{
	const struct wgroup *g = c->group != NO_IDX ? &k->w->groups[c->group] : NULL;
	uint32_t t = g ? busiest_of(k, c->group) : NO_IDX;

	f->resource = "worker pool";
	f->summary = g ? pool_text(k, g) : "All of its threads are busy; requests queue for them.";
	if (g) {
		f->culprit = (struct party){ .pid = k->m->procs[g->proc].tgid, .comm = g->comm };
		if (t != NO_IDX)
			f->culprit.tid = k->m->threads[t].tid;
		say_figures(k, f, "{}: idle {}, running {}, waiting for a CPU {}, blocked {}",
			    N_WORD(g->comm), N_SHARE("idle", part_of(g->idle_ns, g->life_ns)),
			    N_SHARE("running", part_of(g->run_ns, g->life_ns)),
			    N_SHARE("waiting_for_cpu", part_of(g->runq_ns, g->life_ns)),
			    N_SHARE("blocked", part_of(g->blocked_ns, g->life_ns)));
	}
	if (c->kept_by)
		say(k, f, "the finding above fills it: with a quicker answer there, or with more "
			  "workers, fewer requests wait");
	queue_lines(k, f);
}

/* Hardly any cause is known of the time that the pool's threads were kept. */
static bool is_unexplained(const struct context *k, uint32_t group)
{
	double kept = 0, known = 0;

	for (size_t i = 0; i < k->w->group_cnt; i++) {
		const struct wgroup *g = &k->w->groups[i];

		if (proc_is_target(k->m, g->proc) && same_pool(k, &k->w->groups[group], g))
			kept += (double)(g->life_ns - g->idle_ns);
	}
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->kind != CAUSE_QUEUE && c->kind != CAUSE_UNSEEN &&
		    cause_of_pool(k, c, group))
			known += (double)c->ns;
	}
	return known < UNEXPLAINED_MAX * kept;
}

static void lacks_pool(struct context *k, struct finding *f, const struct cand *c)
{
	if (c->group == NO_IDX)
		lack(k, f, 2, "no pool was seen that is busy all the time");
	else if (is_unexplained(k, c->group))
		lack(k, f, 2, "its threads are taken for busy, but with what was hardly seen");
	else if (c->top && c->top->kind == CAUSE_UNSEEN)
		lack(k, f, 1, "what its workers wait for was not seen");
}

static const char *next_workers(struct context *k, const struct finding *f, const struct cand *c)
{
	const struct step *end = f->chain_len ? &f->chain[f->chain_len - 1] : NULL;

	(void)c;
	if (end && end->does != STEP_OTHER)
		return arena_printf(k->arena, "run more workers (%s), or shorten what keeps each "
				    "of them (%s%s)%s", f->culprit.comm, end->doing,
				    step_place(k, f), queue_words(k));
	return arena_printf(k->arena, "run more workers, or find out what keeps them%s",
			    queue_words(k));
}

const struct finding_def finding_workers = {
	.cls = FIND_WORKERS,
	.name = "workers",
	.title = "too few workers for the queue",
	.moves_from = 1u << FIND_CONN_LIMIT | 1u << FIND_TIMER,
	.weigh = weigh_queue,
	.explain = explain_workers,
	.refuted_if = "more workers do not raise the rate",
	.lacks = lacks_pool,
	.next_step = next_workers,
};
