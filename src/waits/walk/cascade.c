/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cascade: a wait is passed on to what its waker did meanwhile, and so
 * on, until something ends it: a CPU, a disk, a peer, a timer, a client.
 * (wPerf, OSDI'18, section 3.3, "cascaded re-distribution"; there over sums,
 * here over the very intervals.)
 *
 * Cost: a visit is one interval of one thread.  Depth is bounded; a chain
 * that meets a thread already being explained is a cycle and ends there.
 */
#include <string.h>

#include "waits/locks/claims.h"
#include "waits/waits_int.h"

static void charge(struct causes *c, unsigned kind, uint32_t thread, uint32_t res,
		   const struct place *at, uint64_t a, uint64_t b, double weight)
{
	if (at->unasked && (kind == CAUSE_CLIENT || kind == CAUSE_IDLE))
		return;
	if (b > a)
		causes_add(c, kind, thread, res, at, (b - a) * weight);
}

static void charge_runq(struct engine *e, struct causes *c, uint32_t t, const struct place *at,
			uint64_t a, uint64_t b, double weight)
{
	uint32_t proc = e->m->threads[t].proc;
	struct runq_share s = { .self = 1 };

	if (b <= a)
		return;
	if (proc != NO_IDX)
		s = e->runq[proc];
	causes_add(c, CAUSE_RUNQ_SELF, t, NO_IDX, at, (b - a) * weight * s.self);
	causes_add(c, CAUSE_RUNQ_OTHER, t, NO_IDX, at, (b - a) * weight * s.other);
	causes_add(c, CAUSE_RUNQ_QUOTA, t, NO_IDX, at, (b - a) * weight * s.quota);
}

static void cascade_explain(struct engine *e, struct causes *c, uint32_t t, uint64_t a, uint64_t b,
			    double weight, const struct place *at);

/* Passes [a, b) of w on to what thread k did; false where the chain must end here. */
static bool pass_on(struct engine *e, struct causes *c, const struct wait *w, uint32_t k,
		    uint64_t a, uint64_t b, double weight, const struct place *at)
{
	uint32_t l = e->wait_lock[w - e->m->waits];
	struct place next = *at;

	if (k == NO_IDX || k == w->thread || !e->m->threads[k].tracked)
		return false;
	next.via = w->thread;
	next.via_res = w->res;
	next.depth++;
	if (next.lock == NO_IDX && l != NO_IDX && e->r->locks[l].cls == LOCK_LOCK)
		next.lock = l;
	if (e->tinfo[k].on_stack) {
		charge(c, CAUSE_CYCLE, k, w->res, &next, a, b, weight);
		return true;
	}
	if (next.depth > (at->lock != NO_IDX && at->lock == l ? WAITS_MAX_LINE : e->max_depth) ||
	    e->r->visits > e->max_visits) {
		e->r->cut_cnt++;
		if (next.lock == NO_IDX)
			return false;
		charge(c, CAUSE_LOCK, k, w->res, &next, a, b, weight);
		return true;
	}
	if (e->claims && next.lock == NO_IDX && e->m->procs[at->entry_proc].target)
		claims_add(e->claims, k, a, b);
	cascade_explain(e, c, k, a, b, weight, &next);
	return true;
}

static unsigned socket_cause(const struct engine *e, uint32_t res)
{
	if (res == NO_IDX || e->m->res[res].kind != RES_SOCKET)
		return CAUSE_UNSEEN;
	return e->m->res[res].role == ROLE_SERVER ? CAUSE_CLIENT : CAUSE_EXTERNAL;
}

/* A loop that a client's new request ended: the client's own doings are not looked into. */
static bool ended_by_client(const struct engine *e, const struct wait *w)
{
	if ((w->cls != WAIT_EPOLL && w->cls != WAIT_POLL) || w->waker_ctx != WAKER_NET)
		return false;
	if (w->res != NO_IDX && e->m->res[w->res].kind == RES_SOCKET)
		return e->m->res[w->res].role == ROLE_SERVER;
	/* one that was not described yet says nothing */
	if (w->first_io != NO_IDX && e->m->res[w->first_io].role != ROLE_UNKNOWN)
		return e->m->res[w->first_io].role == ROLE_SERVER;
	return e->tinfo[w->thread].reads;
}

/* The task that ended the wait, or the last of its pieces, where one can be held to account. */
static uint32_t culprit_task(const struct engine *e, const struct wait *w)
{
	uint32_t l = e->wait_lock[w - e->m->waits];

	w = &e->m->waits[e->look_end[w - e->m->waits]];
	if (l != NO_IDX && e->r->locks[l].presumed)
		return e->r->locks[l].holder;
	if (w->waker_ctx == WAKER_TASK ||
	    (w->waker_ctx == WAKER_NET && (w->flags & WAITF_PEER_CTX)))
		return w->waker;
	if (w->waker_ctx == WAKER_NONE && w->owner_tid)
		return model_thread_by_tid(e->m, w->owner_tid);
	return NO_IDX;
}

/* It reads or looks at one socket on which it asks others. */
static bool is_asking(const struct engine *e, const struct wait *w)
{
	return (w->cls == WAIT_SOCKET || w->cls == WAIT_POLL) &&
	       socket_cause(e, w->res) == CAUSE_EXTERNAL;
}

/*
 * The conversation whose answer a program polls for that asks one service only, in one wait or
 * in pieces: it looks after a while whether it has waited long enough.  NO_IDX: it does not.
 */
static uint32_t polls_answer(const struct engine *e, const struct wait *w)
{
	const struct thread *th = &e->m->threads[w->thread];
	const struct wait *end = e->m->waits + th->first_wait + th->wait_len, *last = w;

	if ((w->cls != WAIT_EPOLL && w->cls != WAIT_POLL) || w->first_io != NO_IDX ||
	    th->proc == NO_IDX || e->asks[th->proc] == NO_IDX)
		return NO_IDX;
	for (const struct wait *x = w; x < end; x++) {
		if (x->flags & WAITF_PREEMPTED)
			continue;
		if (x->cls != w->cls || x->res != w->res ||
		    (x != w && x->real_off_ns - last->real_end_ns >= LOOK_AGAIN_NS))
			return NO_IDX;
		if (x->waker_ctx != WAKER_TIMER)
			return x->waker_ctx == WAKER_NET ? e->asks[th->proc] : NO_IDX;
		last = x;
	}
	return NO_IDX;
}

static unsigned interrupt_cause(const struct engine *e, const struct wait *w)
{
	unsigned kind;

	if (polls_answer(e, w) != NO_IDX)
		return CAUSE_EXTERNAL;
	switch (w->waker_ctx) {
	case WAKER_TIMER:
	case WAKER_SELF:
		/* a limit of time ended it, but an answer is what it waited for */
		return is_asking(e, w) ? CAUSE_EXTERNAL : CAUSE_TIMER;
	case WAKER_BLOCK:
		return CAUSE_DISK;
	case WAKER_NET:
		kind = socket_cause(e, w->res);
		return kind != CAUSE_UNSEEN ? kind : socket_cause(e, w->first_io);
	default:
		return CAUSE_UNSEEN;
	}
}

static unsigned handed_cause(const struct engine *e, const struct wait *w)
{
	uint32_t l = e->wait_lock[w - e->m->waits];
	bool locked = l != NO_IDX && e->r->locks[l].cls == LOCK_LOCK;
	unsigned kind = interrupt_cause(e, w);

	if (locked && kind == CAUSE_TIMER) /* it looks again, and may have found it free */
		return CAUSE_LOCK;
	if (kind != CAUSE_UNSEEN)
		return kind;
	if (locked)
		return CAUSE_LOCK;
	if (w->cls == WAIT_SOCKET || is_asking(e, w))
		return socket_cause(e, w->res);
	if (opens_fifo(w))
		return CAUSE_EXTERNAL;
	/* nobody has ended it yet, time will */
	if (e->tinfo[w->thread].asleep && w->flags & WAITF_TIMEOUT_ARG)
		return CAUSE_TIMER;
	if (w->waker_ctx == WAKER_TASK && w->waker != NO_IDX)
		return e->m->threads[w->waker].flags & TASKF_KTHREAD ? CAUSE_OTHER :
								       CAUSE_EXTERNAL;
	return CAUSE_UNSEEN;
}

/*
 * A file that a process serves, as one of a file system in user space: a disk's
 * waits are ended by an interrupt or by a thread of the kernel's own.
 */
static bool served_by_task(const struct engine *e, const struct wait *w)
{
	w = &e->m->waits[e->look_end[w - e->m->waits]];
	return w->waker_ctx == WAKER_TASK && w->waker != NO_IDX && w->waker != w->thread &&
	       !(e->m->threads[w->waker].flags & TASKF_KTHREAD);
}

/* Cause that ends a wait of this class whoever woke it, or CAUSE_CNT to ask the waker. */
static unsigned fixed_cause(const struct engine *e, const struct wait *w)
{
#define CAUSE(id, value, name, resource, cause, ...) [WAIT_##id] = (cause),
	static const uint8_t causes[WAIT_CLASS_CNT] = {WAIT_CLASSES(CAUSE)};
#undef CAUSE

	if (w->cls == WAIT_SOCKET && w->op == WAIT_OP_ACCEPT)
		return CAUSE_IDLE;
	if (w->cls == WAIT_SOCKET)
		return socket_cause(e, w->res) == CAUSE_CLIENT ? CAUSE_CLIENT : CAUSE_CNT;
	if (causes[w->cls] == CAUSE_CNT)
		return ended_by_client(e, w) ? CAUSE_CLIENT : CAUSE_CNT;
	if (wait_class_traits(w->cls) & WAITC_SERVED && served_by_task(e, w))
		return CAUSE_CNT;
	return causes[w->cls];
}

/*
 * Where the demand waited on its way.  A line for one lock is one wait, that
 * of the last comer: those before it wait for no other reason.
 */
static void lay(const struct engine *e, struct causes *c, const struct wait *w,
		const struct place *at, double ns)
{
	uint32_t l = e->wait_lock[w - e->m->waits];

	if (!wait_is_idle(e, w) && (l == NO_IDX || l != at->lock))
		causes_lay(c, (uint32_t)(w - e->m->waits), at, ns);
}

static double kept_part(const struct wait *w)
{
	uint64_t real_ns = wait_real_ns(w), ns = (w->wake_ns ? w->wake_ns : w->end_ns) - w->off_ns;

	return ns < real_ns && ns ? (double)ns / (double)real_ns : 1;
}

/* Others, which it wakes itself, wait for the words of its client, who is none of theirs. */
static bool is_relay_wait(const struct engine *e, const struct wait *w, const struct place *at)
{
	return at->depth == 1 && at->lock == NO_IDX && e->tinfo[w->thread].relays &&
	       waits_for_client(e, w);
}

/* A set that another client's words ended, with requests open of more than one. */
static bool is_of_many(const struct wait *w)
{
	return (w->cls == WAIT_EPOLL || w->cls == WAIT_POLL) && w->own_open > 1;
}

static void explain_sleep(struct engine *e, struct causes *c, const struct wait *w, uint64_t a,
			  uint64_t b, double weight, const struct place *at)
{
	unsigned kind = fixed_cause(e, w);
	uint32_t res = w->res, k = culprit_task(e, w), l = e->wait_lock[w - e->m->waits];
	struct place here = *at;

	/* who is behind one that has nothing to do, and was asked nothing, has nothing to do */
	if (b <= a || (at->unasked && wait_is_idle(e, w)))
		return;
	if (kind == CAUSE_CLIENT && is_relay_wait(e, w, at))
		kind = CAUSE_EXTERNAL;
	if (kind == CAUSE_CLIENT && is_of_many(w))
		kind = CAUSE_UNSEEN;
	if (kind == CAUSE_CNT && pass_on(e, c, w, k, a, b, weight, at)) {
		lay(e, c, w, at, (b - a) * weight);
		return;
	}
	if (kind == CAUSE_CNT)
		kind = handed_cause(e, w);
	if (kind == CAUSE_UNSEEN && at->depth && wait_is_idle(e, w))
		kind = at->lock != NO_IDX && waits_for_client(e, w) ? CAUSE_CLIENT : CAUSE_IDLE;
	if (kind != CAUSE_CLIENT && kind != CAUSE_IDLE)
		lay(e, c, w, at, (b - a) * weight);
	if (here.lock == NO_IDX && l != NO_IDX && e->r->locks[l].cls == LOCK_LOCK)
		here.lock = l;
	if (kind == CAUSE_EXTERNAL && here.end == NO_IDX)
		here.end = polls_answer(e, w);
	/* what it was woken for says more than the set it waited on */
	if ((kind == CAUSE_EXTERNAL || kind == CAUSE_CLIENT) && w->first_io != NO_IDX &&
	    (w->cls == WAIT_EPOLL || w->cls == WAIT_POLL))
		res = w->first_io;
	if (!(at->unasked && (kind == CAUSE_CLIENT || kind == CAUSE_IDLE)))
		causes_add_part(c, kind, kind == CAUSE_EXTERNAL && k != NO_IDX ? k : w->thread,
				res, &here, (double)(b - a) * weight, kept_part(w));
}

void cascade_wait(struct engine *e, struct causes *c, uint32_t wait, uint64_t a, uint64_t b,
		  double weight, const struct place *at)
{
	const struct wait *w = &e->m->waits[wait];
	uint64_t woken = w->wake_ns ? w->wake_ns : w->end_ns;
	uint64_t from = w->off_ns > a ? w->off_ns : a, to = w->end_ns < b ? w->end_ns : b;
	uint64_t mid = woken < from ? from : woken > to ? to : woken;
	bool was = e->tinfo[w->thread].on_stack;

	e->r->visits++;
	e->tinfo[w->thread].on_stack = true;
	explain_sleep(e, c, w, from, mid, weight, at);
	e->tinfo[w->thread].on_stack = was;
	charge_runq(e, c, w->thread, at, mid, to, weight);
}

/*
 * The only thread of the process that forked t's in the window, NO_IDX: not known.  Who
 * waits for t has waited for that one before, as for a shell that runs one program after
 * the other.
 */
static uint32_t forker(const struct engine *e, uint32_t t)
{
	const struct thread *th = &e->m->threads[t];
	const struct proc *p = th->proc != NO_IDX ? &e->m->procs[th->proc] : NULL;
	uint32_t by = p ? model_proc_by_tgid(e->m, p->ppid) : NO_IDX;

	if (by == NO_IDX || th->tid != th->tgid || th->start_ns <= e->m->begin_ns ||
	    e->m->procs[by].thread_cnt != 1)
		return NO_IDX;
	by = e->m->proc_threads[e->m->procs[by].first_thread];
	return e->m->threads[by].tracked && !e->tinfo[by].on_stack ? by : NO_IDX;
}

static void explain_unborn(struct engine *e, struct causes *c, uint32_t t, uint64_t a, uint64_t b,
			   double weight, const struct place *at)
{
	uint32_t by = forker(e, t);
	struct place next = *at;

	if (by == NO_IDX || at->depth >= e->max_depth)
		return;
	next.via = t;
	next.depth++;
	cascade_explain(e, c, by, a, b, weight, &next);
}

/* Lays what thread t did in [a, b) on causes with this weight. */
static void cascade_explain(struct engine *e, struct causes *c, uint32_t t, uint64_t a, uint64_t b,
			    double weight, const struct place *at)
{
	const struct thread *th = &e->m->threads[t];
	uint32_t i, stop = th->first_wait + th->wait_len;
	uint64_t pos;

	if (a < th->view_begin_ns) {
		pos = b < th->view_begin_ns ? b : th->view_begin_ns;
		if (at->depth)
			explain_unborn(e, c, t, a, pos, weight, at);
		a = th->view_begin_ns;
	}
	if (b > th->view_end_ns)
		b = th->view_end_ns;
	pos = a;
	for (i = wait_after(e->m, t, a); i < stop && e->m->waits[i].off_ns < b; i++) {
		const struct wait *w = &e->m->waits[i];

		if (w->off_ns > pos)
			charge(c, CAUSE_RUN, t, NO_IDX, at, pos, w->off_ns, weight);
		cascade_wait(e, c, i, a, b, weight, at);
		pos = w->end_ns;
	}
	e->r->visits++;
	charge(c, CAUSE_RUN, t, NO_IDX, at, pos, b, weight);
}
