/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are open or unread while nobody works on them: a pool that
 * is too small, or a limit on connections.  Also clients that are slow.
 */
#include <string.h>

#include "base/alike.h"
#include "base/hash.h"
#include "verdict/context/context.h"

/* A pool is used up when its threads are idle less than a tenth of the time, taken together. */
#define POOL_IDLE_MAX 0.10
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

/* What takes longer than any slice: few of these may be kept by a limit among many quick ones. */
#define LONG_NS 16000000

/* One busy thread among others at rest may be anything, as a timer's or a compiler's. */
#define BUSY_PART_MIN 2

/* Of a pool's threads: what comes and goes with a request is part of its work. */
#define POOL_LIFE_MIN 0.5

struct pool { uint32_t group, threads; double life, idle; };

static bool same_pool(const struct court *k, const struct wgroup *a, const struct wgroup *b)
{
	const struct model *m = k->m;

	if (a->role != b->role || !named_alike(a->comm, b->comm))
		return false;
	return a->proc == b->proc ||
	       strcmp(m->procs[a->proc].comm, m->procs[b->proc].comm) == 0;
}

static uint64_t pool_key(const struct court *k, const struct wgroup *g)
{
	const char *comm = k->m->procs[g->proc].comm;

	return hash_pair(name_alike_key(g->comm),
			 hash_pair(g->role, hash_bytes(comm, strlen(comm))));
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
	}
	return p;
}

/*
 * Of threads alike, those that are never idle.  Two pools may look alike, and
 * one rest: with requests open that nobody works on, the threads at rest do
 * not take from that queue, or they would.
 */
static struct pool busy_part(const struct court *k, uint32_t group)
{
	struct pool p = { .group = group };

	for (size_t t = 0; t < k->m->thread_cnt; t++) {
		const struct wthread *w = &k->w->threads[t];
		double life;

		if (w->group == NO_IDX || k->w->groups[w->group].proc == NO_IDX ||
		    !k->m->procs[k->w->groups[w->group].proc].target ||
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

static double open_avg(const struct court *k, uint32_t proc)
{
	for (size_t i = 0; i < k->w->req_cnt; i++) {
		if (k->w->reqs[i].proc == proc)
			return k->w->reqs[i].open_avg;
	}
	return 0;
}

static bool takes_requests(const struct court *k, const struct wgroup *g)
{
	if (g->role == ROLE_T_LOOP)
		return 2 * g->blocked_ns >= g->life_ns &&
		       open_avg(k, g->proc) <= ONE_AT_A_TIME * g->thread_cnt;
	return g->role == ROLE_T_WORKER || g->role == ROLE_T_ENTRY || g->role == ROLE_T_HELPER;
}

/* The pool that has no thread to spare, NO_IDX when there is none. */
static struct pool used_up_pool(const struct court *k)
{
	struct pool best = { .group = NO_IDX };
	struct hmap seen = { 0 }; /* pools: forked processes may be many */

	for (size_t i = 0; i < k->w->group_cnt; i++) {
		const struct wgroup *g = &k->w->groups[i];
		struct pool p;

		if (g->proc == NO_IDX || !k->m->procs[g->proc].target)
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
		if (p.life > 0 && p.idle < POOL_IDLE_MAX * p.life && p.life > best.life)
			best = p;
	}
	hmap_release(&seen);
	return best;
}

/* Of a pool's time: requests are open in its threads, or end at those of a helper. */
static bool cause_of_pool(const struct court *k, const struct cause *c, uint32_t group)
{
	const struct wgroup *g = &k->w->groups[group];
	uint32_t t = g->role == ROLE_T_HELPER ? c->thread : c->entry;

	return t != NO_IDX && k->m->threads[t].tracked &&
	       same_pool(k, g, &k->w->groups[k->w->threads[t].group]);
}

/*
 * What the pool's own threads are kept by, as candidates: a sleep of their
 * own, computing, or a hold-up that would be one with any number of threads.
 */
static void pool_busy(const struct court *k, uint32_t group, double *by_class)
{
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (cause_of_pool(k, c, group))
			by_class[finding_of_cause(k, c)] += c->ns;
	}
}

/* What most of the time of the pool's threads goes into: the chain ends there. */
static void pool_top(const struct court *k, struct cand *c)
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

static void give(struct court *k, unsigned cls, double ns)
{
	k->cand[FIND_CONN_LIMIT].ns -= ns;
	k->cand[cls].ns += ns;
}

/* No CPU to spare: more threads would get no more done. */
#define HOST_FULL_IDLE 0.10

struct use { double run, self, other, quota, asleep; };

/* What threads of a pool do while requests wait; all that clients meet, where there is none. */
static struct use use_of(const struct court *k, uint32_t group)
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

static bool always_wants_cpu(const struct court *k)
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
static bool give_cpu(struct court *k, uint32_t group, double queue)
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

/* The hold-up that keeps most of the pool; FIND_WORKERS when it is the pool's own work. */
static unsigned pool_kept_by(const struct court *k, uint32_t group, double *ret_own_ns)
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

/* Of its life: who rests as long as that has the time to take what lies there. */
#define REST_MIN 0.5

/* Of all CPUs; with less to spare who wants to take may not get one. */
#define REST_HOST_IDLE 0.10

/* A server that answered nothing has shown by no request which of its threads take them. */
static bool may_take(const struct court *k, uint32_t t)
{
	unsigned role = k->w->threads[t].role;

	return k->turns < 1 || role == ROLE_T_ENTRY || role == ROLE_T_LOOP || role == ROLE_T_ACCEPT;
}

/* None of the threads that connections or requests come in through is busy, nor held back. */
static bool takers_rest(const struct court *k)
{
	uint32_t cnt = 0;

	if (k->host_idle < REST_HOST_IDLE)
		return false;
	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const struct thread *th = &k->m->threads[t];
		const struct wthread *w = &k->w->threads[t];

		if (!th->tracked || !thread_is_target(k->m, t) || !may_take(k, t))
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
static double backlog_ns(const struct court *k, bool all_busy)
{
	bool rest = takers_rest(k);
	double ns = 0;

	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		const struct listen *l = &k->m->listens[i];
		uint32_t p = model_proc_by_tgid(k->m, l->e.tgid);

		if (p == NO_IDX || !k->m->procs[p].target || l->backlog_avg < QUEUE_MIN)
			continue;
		if (all_busy || (rest && l->backlog_min >= QUEUE_MIN) ||
		    l->backlog_avg >= BACKLOG_FULL * l->e.backlog_max ||
		    k->m->host.listen_overflows)
			ns += l->backlog_avg * k->window_ns;
	}
	return ns;
}

static double queued_ns(const struct court *k)
{
	double ns = 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->kind == CAUSE_QUEUE && c->entry_proc != NO_IDX &&
		    k->m->procs[c->entry_proc].target)
			ns += c->ns;
	}
	return ns;
}

/*
 * Ends that any number of workers would wait for in the same way: they have it one by one,
 * or there is no more of it.  One who answers late may answer more at a time.
 */
static bool is_shared(const struct court *k, uint32_t group, unsigned kept)
{
	double shared = 0, all = 0;

	if (kept != FIND_EXTERNAL && kept != FIND_PEER)
		return true;
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (!cause_of_pool(k, c, group) || finding_of_cause(k, c) != kept)
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
static void pool_note(struct court *k, uint32_t group, unsigned kept, double queue)
{
	struct cand *d = &k->pool;

	cand_init(d, FIND_WORKERS);
	d->ns = queue;
	d->group = group;
	d->kept_by = (uint8_t)kept;
	pool_top(k, d);
}

/* Few long answers make up no half of the queue, and it is short for each request. */
static bool taken_soon(const struct court *k, double queue)
{
	double late = 0;

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role == ROLE_SERVER && n->proc != NO_IDX && k->m->procs[n->proc].target)
			late += hist_sum_from(n->hist, LONG_NS);
	}
	return k->turns > 0 && queue < UNREAD_MIN_NS * k->turns && 2 * late < queue;
}

/*
 * Requests wait for a limit, and hardly any of them at the lock that would be it: which
 * limit that is was not seen.
 */
static void name_line(struct court *k, double queue)
{
	struct cand *limit = &k->cand[FIND_CONN_LIMIT];
	double at_lock = 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->lock != NO_IDX && c->lock == limit->lock && c->entry_proc != NO_IDX &&
		    k->m->procs[c->entry_proc].target &&
		    finding_of_cause(k, c) == FIND_CONN_LIMIT)
			at_lock += (double)c->ns;
	}
	if (at_lock < CARRIER_MIN * queue)
		limit->lock = NO_IDX;
}

void weigh_queue(struct court *k)
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
		/* what fills the pool is told first; with that mended, or more workers, it ends */
		give(k, kept, queue);
		if (!is_shared(k, p.group, kept))
			pool_note(k, p.group, kept, queue);
		return;
	}
	if (give_cpu(k, p.group, queue))
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

/*
 * What lies unsent for each client, on average, to say that they do not read:
 * more than a client that reads has under way, which its first window bounds.
 */
#define UNSENT_MIN (64 << 10)

/* Connections that have an answer, or the end of one, which their clients must let on its way. */
static uint32_t unsent_conns(const struct ev_conn *c)
{
	if (!c->unsent_conns)
		return 0;
	return c->unsent_bytes / c->unsent_conns >= UNSENT_MIN ? c->unsent_conns : c->held_conns;
}

static bool same_conns(const struct ev_conn *a, const struct ev_conn *b)
{
	return a->tgid == b->tgid && a->lport == b->lport && a->rport == b->rport &&
	       a->role == b->role && a->family == b->family && a->peer_tgid == b->peer_tgid &&
	       memcmp(a->raddr, b->raddr, sizeof(a->raddr)) == 0;
}

/* Sums what was so of the target's connections when the watch began and when it ended. */
static double at_both_ends(const struct court *k, const struct end *with,
			   uint32_t (*cnt_of)(const struct ev_conn *c))
{
	double conns = 0;

	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *l = &k->m->conns_last[i];
		uint32_t p = model_proc_by_tgid(k->m, l->tgid), last = cnt_of(l);

		if (p == NO_IDX || !k->m->procs[p].target || !last ||
		    l->role != (with ? with->role : ROLE_SERVER))
			continue;
		if (with && (l->rport != with->rport || l->family != with->family ||
			     memcmp(l->raddr, with->raddr, sizeof(l->raddr)) != 0))
			continue;
		for (size_t j = 0; j < k->m->conn_first_cnt; j++) {
			const struct ev_conn *f = &k->m->conns_first[j];

			if (!same_conns(f, l))
				continue;
			conns += cnt_of(f) < last ? cnt_of(f) : last;
			break;
		}
	}
	return conns;
}

static uint32_t held_back(const struct ev_conn *c)
{
	return c->held_conns;
}

double held_conns(const struct court *k, const struct end *with)
{
	return at_both_ends(k, with, held_back);
}

/*
 * Answers that lay in send buffers when the watch began and when it ended.  A
 * server that sends more only when there is much room sends nothing meanwhile.
 */
static double unsent_ns(const struct court *k)
{
	return at_both_ends(k, NULL, unsent_conns) * k->window_ns;
}

void weigh_clients(struct court *k)
{
	double tx = 0, unsent = unsent_ns(k);

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role == ROLE_SERVER && n->proc != NO_IDX && k->m->procs[n->proc].target)
			tx += n->txblock_ns;
	}
	if (unsent > tx)
		tx = unsent;
	/* waits in send are in the causes already */
	if (tx > k->cand[FIND_CLIENTS].ns) {
		k->demand_ns += tx - k->cand[FIND_CLIENTS].ns;
		k->cand[FIND_CLIENTS].ns = tx;
	}
}
