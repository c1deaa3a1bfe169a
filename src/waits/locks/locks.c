/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks and hand-offs.
 *
 * A futex is a lock where those that wait on it also wake others on it (the
 * contention rule of EC-labs/prism, the code of arXiv 2505.13160), or where
 * its word named an owner; else it hands work or a result over.
 *
 * Many servers let each waiter sleep on something of its own (a condition
 * variable per session, a latch and a signal per process), so no two waits
 * share a resource.  Such waits are one virtual lock when threads with a
 * request open are woken by sibling threads that serve requests too: what
 * passes between equals is a lock, what comes from a helper is a result.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/vec.h"
#include "waits/waits_int.h"

struct lock_wait {
	uint32_t lock, wait;
	uint64_t off_ns, end_ns;
};

typedef VEC(struct lock_wait) lock_waits;

/*
 * Share of a group's waiting time that siblings must end for it to be one
 * virtual lock: a clear majority, since log writers and timers end some too.
 */
#define VIRTUAL_SHARE 0.6
/* ... and of all of it, with what timers end and what lasts: a few wake-ups prove nothing. */
#define VIRTUAL_MIN 0.1

static bool wait_can_lock(const struct wait *w)
{
	return wait_class_traits(w->cls) & WAITC_LOCK;
}

static bool res_is_lock(const struct res *r, uint32_t owner_cnt, uint32_t pi_cnt)
{
	if (r->kind == RES_KLOCK || pi_cnt || owner_cnt)
		return true;
	return r->both_cnt && r->both_cnt * 2 >= r->waiter_cnt;
}

static struct lock *lock_new(struct waits_result *r, uint32_t res, unsigned cls)
{
	struct lock *l = &r->locks[r->lock_cnt++];

	l->res = res;
	l->res_cnt = 1;
	l->cls = cls;
	l->holder = NO_IDX;
	return l;
}

/*
 * The two words that a condition variable alternates between (see places_find) are
 * one lock where the same threads wait for both: who comes in by the one may
 * let go by the other.  Writes to first, by res idx, the one that stands for it.
 */
static void words_join(const struct engine *e, uint32_t *first)
{
	const struct model *m = e->m;
	uint32_t *both = xcalloc(m->res_cnt + 1, sizeof(*both));
	struct hmap seen = { 0 };

	BUG_ON(!both);
	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];
		uint64_t *words, bit;

		if (w->res == NO_IDX || w->cls != WAIT_FUTEX || m->res[w->res].kind != RES_FUTEX)
			continue;
		bit = e->place[w->res] == w->res ? 1 : 2;
		words = hmap_slot(&seen, (uint64_t)w->thread << 32 | e->place[w->res]);
		both[e->place[w->res]] += *words != 3 && (*words | bit) == 3;
		*words |= bit;
	}
	for (uint32_t r = 0; r < m->res_cnt; r++) {
		uint32_t p = e->place[r], least = m->res[r].waiter_cnt;

		least = least < m->res[p].waiter_cnt ? least : m->res[p].waiter_cnt;
		first[r] = both[p] && both[p] * 2 >= least ? p : r;
	}
	hmap_release(&seen);
	free(both);
}

void locks_find(struct engine *e)
{
	const struct model *m = e->m;
	uint32_t *owners = xcalloc(m->res_cnt + 1, sizeof(*owners));
	uint32_t *pis = xcalloc(m->res_cnt + 1, sizeof(*pis));
	uint32_t *idx = xmalloc((m->res_cnt + 1) * sizeof(*idx));
	uint32_t *first = xmalloc((m->res_cnt + 1) * sizeof(*first));

	BUG_ON(!owners || !pis || !idx || !first);
	words_join(e, first);
	memset(idx, 0xff, (m->res_cnt + 1) * sizeof(*idx));
	/* one for each resource; of the virtual ones one a class and process; a crowd a process */
	e->r->locks = ARENA_ARRAY(e->arena, struct lock,
				  m->res_cnt + m->proc_cnt * (WAIT_CLASS_CNT + 1) + 1);
	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];

		if (w->res == NO_IDX || !wait_can_lock(w))
			continue;
		owners[w->res] += w->owner_tid != 0 && w->owner_tid != m->threads[w->thread].tid;
		pis[w->res] += w->op == WAIT_OP_LOCK_PI;
	}
	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];
		unsigned cls;

		if (w->res == NO_IDX || !wait_can_lock(w))
			continue;
		cls = res_is_lock(&m->res[w->res], owners[w->res], pis[w->res]) ||
				      w->cls == WAIT_FLOCK ? LOCK_LOCK : LOCK_HANDOFF;
		if (idx[first[w->res]] == NO_IDX) {
			lock_new(e->r, w->res, cls);
			idx[first[w->res]] = e->r->lock_cnt - 1;
		}
		e->wait_lock[i] = idx[first[w->res]];
		if (cls == LOCK_LOCK)
			e->r->locks[e->wait_lock[i]].cls = cls;
	}
	free(first);
	free(owners);
	free(pis);
	free(idx);
}

/* A wait with a request open that may be for what a sibling holds. */
static bool wait_may_be_virtual(const struct engine *e, size_t i)
{
	const struct wait *w = &e->m->waits[i];
	uint32_t l = e->wait_lock[i];

	if (!wait_open(e, w) || (w->flags & WAITF_PREEMPTED))
		return false;
	if (l != NO_IDX && e->r->locks[l].cls == LOCK_LOCK)
		return false;
	return wait_class_traits(w->cls) & WAITC_LATCH;
}

/* The sleep that w's waker ended a moment before it woke w; NULL without one. */
static const struct wait *waker_slept(const struct model *m, const struct wait *w)
{
	const struct thread *k;
	uint32_t i;

	if (w->waker == NO_IDX || w->waker == w->thread || w->waker_ctx != WAKER_TASK)
		return NULL;
	k = &m->threads[w->waker];
	for (i = wait_after(m, w->waker, w->wake_ns); i > k->first_wait; i--) {
		const struct wait *x = &m->waits[i - 1];

		if (x->flags & WAITF_PREEMPTED)
			continue;
		return w->wake_ns - x->end_ns < LOOK_AGAIN_NS ? x : NULL;
	}
	return NULL;
}

/* Threads that hand on to each other what one was given. */
enum { HANDED_ON_MAX = 8 };
/* Share of a wait: a thread that slept where work is given out for most of it held nothing. */
#define HANDED_ON_SHARE 0.5

/*
 * Time let it go on: a thread that takes no requests had slept as long as it meant to,
 * and gave work to one that lay waiting for some.  That one held nothing either.
 */
static bool delayed_by_timer(const struct engine *e, const struct wait *w)
{
	const struct model *m = e->m;
	const struct wait *x = waker_slept(m, w);
	uint64_t from = x && x->off_ns > w->off_ns ? x->off_ns : w->off_ns;

	if (!x || x->end_ns < from || x->end_ns - from < HANDED_ON_SHARE * (w->end_ns - w->off_ns))
		return false;
	for (unsigned n = 0; n < HANDED_ON_MAX && x && e->parked[x - m->waits]; n++) {
		if (m->threads[x->thread].proc != m->threads[w->thread].proc)
			return false;
		if (x->waker_ctx == WAKER_TIMER)
			return n && x->flags & WAITF_TIMEOUT_ARG && !e->tinfo[x->thread].reads;
		x = waker_slept(m, x);
	}
	return false;
}

static bool woken_by_sibling(const struct engine *e, const struct wait *w)
{
	const struct model *m = e->m;
	const struct thread *t = &m->threads[w->thread], *k;

	if (w->waker == NO_IDX || w->waker == w->thread || w->waker_ctx != WAKER_TASK ||
	    e->tinfo[w->waker].relays || delayed_by_timer(e, w))
		return false;
	k = &m->threads[w->waker];
	/* one that never has a request of its own brings results, whatever it reads */
	if (!e->tinfo[w->waker].reads || !e->tinfo[w->waker].serves ||
	    t->proc == NO_IDX || k->proc == NO_IDX)
		return false;
	return t->proc == k->proc ||
	       strcmp(m->procs[t->proc].comm, m->procs[k->proc].comm) == 0;
}

struct family { double all_ns, task_ns, sibling_ns, best_ns; uint32_t lock, best_res, res_cnt; };

static void families_weigh(struct engine *e, struct family *f)
{
	const struct model *m = e->m;

	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i], *last = &m->waits[e->look_end[i]];
		uint32_t proc = m->threads[w->thread].proc;
		struct family *g;
		double ns;

		if (proc == NO_IDX || !wait_may_be_virtual(e, i))
			continue;
		g = &f[(size_t)e->family[proc] * WAIT_CLASS_CNT + w->cls];
		ns = (w->wake_ns ? w->wake_ns : w->end_ns) - w->off_ns;
		/*
		 * The network ending it says nothing about siblings; nor does a timer, but
		 * of a wait in pieces the last one does.
		 */
		g->all_ns += ns;
		if (last->waker_ctx == WAKER_TASK)
			g->task_ns += ns;
		if (!woken_by_sibling(e, last))
			continue;
		g->sibling_ns += ns;
		if (ns > g->best_ns && w->res != NO_IDX) {
			g->best_ns = ns;
			g->best_res = w->res;
		}
	}
}

void virtual_locks_find(struct engine *e)
{
	const struct model *m = e->m;
	struct family *f = xcalloc(m->proc_cnt * WAIT_CLASS_CNT + 1, sizeof(*f));

	BUG_ON(!f);
	families_weigh(e, f);
	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];
		uint32_t proc = m->threads[w->thread].proc;
		struct family *g;

		if (proc == NO_IDX || !wait_may_be_virtual(e, i))
			continue;
		g = &f[(size_t)e->family[proc] * WAIT_CLASS_CNT + w->cls];
		if (g->sibling_ns <= 0 || g->sibling_ns < VIRTUAL_SHARE * g->task_ns ||
		    g->sibling_ns < VIRTUAL_MIN * g->all_ns)
			continue;
		if (!woken_by_sibling(e, &m->waits[e->look_end[i]]) && !(w->flags & WAITF_PENDING))
			continue;
		if (!g->lock) {
			struct lock *l = lock_new(e->r, g->best_res, LOCK_LOCK);

			l->virt = 1;
			g->lock = e->r->lock_cnt;
		}
		e->wait_lock[i] = g->lock - 1;
	}
	free(f);
}

static int by_lock_off(const void *pa, const void *pb)
{
	const struct lock_wait *a = pa, *b = pb;

	CMP(a->lock, b->lock);
	CMP(a->off_ns, b->off_ns);
	CMP(a->wait, b->wait);
	return 0;
}

static int by_end(const void *pa, const void *pb)
{
	const struct lock_wait *a = pa, *b = pb;

	CMP(a->end_ns, b->end_ns);
	CMP(a->wait, b->wait);
	return 0;
}

static uint64_t union_ns(const struct lock_wait *lw, size_t cnt)
{
	uint64_t ns = 0, to = 0;

	for (size_t i = 0; i < cnt; i++) {
		uint64_t from = lw[i].off_ns > to ? lw[i].off_ns : to;

		if (lw[i].end_ns > from) {
			ns += lw[i].end_ns - from;
			to = lw[i].end_ns;
		}
	}
	return ns;
}

/* Holder from the hand-over before (or the wait's start) up to the wake-up. */
static uint32_t holder_of(const struct engine *e, const struct wait *w)
{
	const struct model *m = e->m;
	uint32_t l = e->wait_lock[w - m->waits];

	if (l != NO_IDX && e->r->locks[l].presumed)
		return e->r->locks[l].holder;
	if (w->waker != NO_IDX && w->waker_ctx == WAKER_TASK)
		return w->waker;
	return w->owner_tid ? model_thread_by_tid(m, w->owner_tid) : NO_IDX;
}

/* A sleep by way of a futex: time ended it, and nothing shows that somebody else could have. */
static bool is_pause(const struct engine *e, uint32_t wait)
{
	const struct wait *last = &e->m->waits[e->look_end[wait]];
	uint32_t l = e->wait_lock[wait];

	return last->cls == WAIT_FUTEX && last->flags & WAITF_TIMEOUT_ARG &&
	       last->waker_ctx == WAKER_TIMER &&
	       (l == NO_IDX || e->r->locks[l].cls != LOCK_LOCK);
}

/* As thread_states, but runtimes that sleep on a futex with a limit (Java's do) sleep. */
static void holder_states(const struct engine *e, uint32_t t, uint64_t a, uint64_t b, uint64_t *st)
{
	const struct model *m = e->m;
	const struct thread *th = &m->threads[t];

	thread_states(m, t, a, b, st);
	for (uint32_t i = wait_after(m, t, a); i < th->first_wait + th->wait_len; i++) {
		const struct wait *w = &m->waits[i];
		uint64_t from = w->off_ns > a ? w->off_ns : a;
		uint64_t to = w->wake_ns ? w->wake_ns : w->end_ns;

		if (w->off_ns >= b)
			break;
		to = to < b ? to : b;
		if (to <= from || !is_pause(e, i))
			continue;
		st[ST_WAIT + WAIT_FUTEX] -= to - from;
		st[ST_WAIT + WAIT_TIMER] += to - from;
	}
}

/* Time of the wait that is not kept. */
static uint64_t cut_ns(const struct engine *e, const struct lock_wait *lw)
{
	const struct wait *first = &e->m->waits[e->look_begin[lw->wait]];
	const struct wait *last = &e->m->waits[lw->wait];
	uint64_t real = last->real_end_ns - first->real_off_ns, view = last->end_ns - first->off_ns;

	return real > view ? real - view : 0;
}

static void holders_credit(struct engine *e, struct lock *l, struct lock_wait *lw, size_t cnt)
{
	struct hmap held = { 0 };
	uint64_t prev = 0, best = 0;
	double sum = 0, sum_sq = 0;

	qsort(lw, cnt, sizeof(*lw), by_end);
	for (size_t i = 0; i < cnt; i++) {
		const struct wait *w = &e->m->waits[lw[i].wait];
		uint64_t from = lw[i].off_ns > prev ? lw[i].off_ns : prev;
		uint32_t h = holder_of(e, w);
		double len = lw[i].end_ns > from ? lw[i].end_ns - from : 0;
		uint64_t *ns;

		sum += len;
		sum_sq += len * (len + (from == lw[i].off_ns ? cut_ns(e, &lw[i]) : 0));
		prev = lw[i].end_ns;
		if (h == NO_IDX || from >= lw[i].end_ns)
			continue;
		ns = hmap_slot(&held, h);
		*ns += lw[i].end_ns - from;
		if (*ns > best || (*ns == best && h < l->holder)) {
			best = *ns;
			l->holder = h;
		}
		if (e->m->threads[h].tracked)
			holder_states(e, h, from, lw[i].end_ns, l->holder_st);
	}
	l->holder_cnt = held.cnt;
	l->holder_ns = best;
	l->hold_ns = sum > 0 ? sum_sq / sum : 0;
	hmap_release(&held);
}

static void lock_sum(struct engine *e, struct lock *l, struct lock_wait *lw, size_t cnt)
{
	struct hmap waiters = { 0 }, res = { 0 };
	double times = 0;

	for (size_t i = 0; i < cnt; i++) {
		const struct wait *w = &e->m->waits[lw[i].wait];
		uint64_t ns = lw[i].end_ns - lw[i].off_ns, all_ns = ns + cut_ns(e, &lw[i]);

		l->wait_ns += ns;
		times += (double)ns / (double)all_ns;
		if (all_ns > l->max_ns)
			l->max_ns = all_ns;
		if (w->flags & WAITF_PENDING)
			l->pending_cnt++;
		hmap_put(&waiters, w->thread, 1);
		if (w->res != NO_IDX)
			hmap_put(&res, w->res, 1);
	}
	l->wait_cnt = times < 1 ? 1 : (uint64_t)(times + 0.5);
	l->waiter_cnt = waiters.cnt;
	l->res_cnt = res.cnt;
	l->busy_ns = union_ns(lw, cnt);
	l->avg_waiters = l->busy_ns ? (double)l->wait_ns / l->busy_ns : 0;
	hmap_release(&waiters);
	hmap_release(&res);
}

struct grab { uint32_t thread, wait; uint8_t kind; uint64_t at_ns; };
enum { GRAB_ENTER = 0, GRAB_LEAVE = 1, GRAB_WAIT = 2 };

static int by_thread_at(const void *pa, const void *pb)
{
	const struct grab *a = pa, *b = pb;

	CMP(a->thread, b->thread);
	CMP(a->at_ns, b->at_ns);
	return a->kind - b->kind;
}

/*
 * A thread from its way in to its way out.  What was inferred from wakers alone may
 * be any lock: one that sleeps on a futex meanwhile waits for a sibling to let
 * it on, as threads of an interpreter do that give its lock up and come back.
 * Of a true limit those who passed compute, sleep or wait for somebody else.
 */
static double passed_ns(const struct engine *e, const struct lock *l, const struct grab *in,
			const struct grab *out)
{
	uint64_t st[ST_CNT] = { 0 }, ns = out->at_ns - in->at_ns;

	if (!l->virt || !e->m->threads[in->thread].tracked)
		return ns;
	holder_states(e, in->thread, in->at_ns, out->at_ns, st);
	return ns - st[ST_WAIT + WAIT_FUTEX];
}

/* Notes, of n grabs by thread and time, the wakers of those who had to wait on at once. */
static void vain_mark(const struct grab *g, size_t n, struct hmap *ret_vain)
{
	for (size_t i = 0; i + 1 < n; i++) {
		if (g[i].kind == GRAB_ENTER && g[i + 1].kind == GRAB_WAIT &&
		    g[i + 1].thread == g[i].thread && g[i + 1].at_ns - g[i].at_ns < LOOK_AGAIN_NS)
			hmap_put(ret_vain, g[i].wait, 1);
	}
}

/*
 * The way out that belongs to the way in at g[i], NULL if it waits again before
 * (it was overtaken).  Who gets in by a counted limit may wake the next one at
 * once to see whether there is room for him too, as Java's semaphores do: if
 * there is not, that wake-up was no way out.
 */
static const struct grab *way_out(const struct lock *l, const struct grab *g, size_t n, size_t i,
				  struct hmap *vain)
{
	const struct grab *out = NULL;
	uint64_t yes;

	for (size_t j = i + 1; j < n && g[j].thread == g[i].thread; j++) {
		if (g[j].kind != GRAB_LEAVE)
			break;
		out = &g[j];
		if (!l->virt || out->at_ns - g[i].at_ns >= LOOK_AGAIN_NS ||
		    !hmap_get(vain, out->wait, &yes))
			break;
	}
	return out;
}

/* True where the holder may have released it, unseen. */
static bool has_gap(const struct model *m, uint64_t begin_ns, uint64_t end_ns)
{
	return model_real_ns(m, end_ns) - model_real_ns(m, begin_ns) > end_ns - begin_ns;
}

struct busy { uint64_t from_ns, to_ns, before_ns; }; /* before_ns: of those before it */

/* When anybody waited, by time; lw is by off_ns.  Returns how many. */
static size_t busy_times(const struct lock_wait *lw, size_t cnt, struct busy *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct busy *last = n ? &ret[n - 1] : NULL;

		if (last && lw[i].off_ns <= last->to_ns) {
			last->to_ns = last->to_ns > lw[i].end_ns ? last->to_ns : lw[i].end_ns;
			continue;
		}
		ret[n] = (struct busy){ lw[i].off_ns, lw[i].end_ns, 0 };
		if (last)
			ret[n].before_ns = last->before_ns + last->to_ns - last->from_ns;
		n++;
	}
	return n;
}

/* For how long anybody waited before this time. */
static uint64_t busy_until(const struct busy *b, size_t n, uint64_t at_ns)
{
	size_t begun = SORTED_PREFIX(b, n, it, it->from_ns < at_ns);

	if (!begun)
		return 0;
	b += begun - 1;
	return b->before_ns + (at_ns < b->to_ns ? at_ns : b->to_ns) - b->from_ns;
}

/*
 * How many have it at one time: from the end of a thread's wait to the next time it
 * wakes a waiter, as far as anybody waits meanwhile.  Who lets go while nobody does is
 * not seen to, and may have had it for a moment only.
 */
static void holders_count(struct engine *e, struct lock *l, const struct lock_wait *lw, size_t cnt)
{
	struct grab *g = xmalloc(3 * cnt * sizeof(*g));
	struct busy *busy = xmalloc(cnt * sizeof(*busy));
	size_t n = 0, busy_cnt = busy_times(lw, cnt, busy);
	struct hmap vain = { 0 };
	double held = 0;

	BUG_ON(!g || !busy);
	for (size_t i = 0; i < cnt; i++) {
		uint32_t at = lw[i].wait;
		const struct wait *w = &e->m->waits[at];
		uint32_t h = holder_of(e, w);

		g[n++] = (struct grab){ w->thread, at, GRAB_WAIT, lw[i].off_ns };
		if (w->flags & WAITF_PENDING)
			continue;
		g[n++] = (struct grab){ w->thread, at, GRAB_ENTER, lw[i].end_ns };
		if (h != NO_IDX)
			g[n++] = (struct grab){ h, at, GRAB_LEAVE, lw[i].end_ns };
	}
	qsort(g, n, sizeof(*g), by_thread_at);
	vain_mark(g, n, &vain);
	for (size_t i = 0; i + 1 < n; i++) {
		const struct grab *out = NULL;

		if (g[i].kind == GRAB_ENTER)
			out = way_out(l, g, n, i, &vain);
		if (out && out->at_ns > g[i].at_ns && !has_gap(e->m, g[i].at_ns, out->at_ns))
			held += passed_ns(e, l, &g[i], out) / (out->at_ns - g[i].at_ns) *
				(busy_until(busy, busy_cnt, out->at_ns) -
				 busy_until(busy, busy_cnt, g[i].at_ns));
	}
	l->holders_avg = l->busy_ns ? held / l->busy_ns : 0;
	hmap_release(&vain);
	free(busy);
	free(g);
}

/* Scales locks seen while waits are known to the whole window. */
static void lock_stretch(const struct engine *e, struct lock *l)
{
	double by = 1 / e->r->part;

	if (e->r->part >= 1)
		return;
	l->wait_ns *= by;
	l->wait_cnt = (uint64_t)((double)l->wait_cnt * by + 0.5);
	l->busy_ns *= by;
	l->holder_ns *= by;
	for (unsigned st = 0; st < ST_CNT; st++)
		l->holder_st[st] *= by;
}

void locks_finish(struct engine *e)
{
	const struct model *m = e->m;
	lock_waits all = { 0 };

	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];
		struct lock_wait lw = { e->wait_lock[i], i, w->off_ns,
					w->wake_ns ? w->wake_ns : w->end_ns };

		if (lw.lock == NO_IDX || wait_is_idle(e, w))
			continue;
		if (e->look_end[i] != i) /* its last piece stands for all */
			continue;
		lw.off_ns = m->waits[e->look_begin[i]].off_ns;
		if (lw.off_ns < e->from_ns)
			lw.off_ns = e->from_ns;
		if (lw.end_ns > lw.off_ns)
			vec_push(&all, lw);
	}
	vec_sort(&all, by_lock_off);
	for (size_t i = 0, j; i < all.cnt; i = j) {
		struct lock *l = &e->r->locks[all.items[i].lock];

		for (j = i; j < all.cnt && all.items[j].lock == all.items[i].lock; j++)
			;
		lock_sum(e, l, &all.items[i], j - i);
		holders_count(e, l, &all.items[i], j - i);
		holders_credit(e, l, &all.items[i], j - i);
		lock_stretch(e, l);
	}
	lock_sites(e);
	vec_release(&all);
}
