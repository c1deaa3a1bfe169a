/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demand: the time that requests were open, laid on what they waited for.
 *
 * A thread that serves one request at a time is followed exactly: all its
 * time with a request open is that request's.  An event loop has many open
 * at once: its own running and blocking delays all of them, and while it
 * sleeps at home with requests open they wait for something else.  That part
 * is split by Little's law: requests we sent to others and that are open
 * there, then threads of the process that work, and what remains has nobody
 * working on it: it queues.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "waits/locks/claims.h"
#include "waits/waits_int.h"

struct demand {
	struct engine *e;
	struct causes *busy;	/* loops: away from home */
	struct causes *work;	/* workers and helpers */
	struct causes *all;
	uint32_t proc;
	double home_ns;		/* open requests x time while loops slept at home */
	double entry_ns; /* of threads that serve one request at a time, with one open or not */
	double handed_part; /* of their waits for the next request, that one was open meanwhile */
	double entry_out_ns;	/* waits for peers by threads that are no loops */
	uint32_t loop_cnt, loop, entry_cnt;
};

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Requests open in its thread; what another thread answered is still in the reader's count. */
static double open_of(const struct engine *e, const struct wait *w)
{
	unsigned n = wait_open(e, w);

	return n < w->proc_open || !w->own_open ? n : w->proc_open;
}

struct walk {			/* of one thread through the window */
	struct demand *d;
	struct causes *to;
	const struct place *at;
	uint32_t t;
	uint64_t from_ns, to_ns;
	bool asked;		/* it takes requests */
};

static void walk_run(struct walk *k, uint64_t a, uint64_t b, double weight)
{
	if (b <= a)
		return;
	causes_add(k->to, CAUSE_RUN, k->t, NO_IDX, k->at, (b - a) * weight);
	k->d->e->r->threads[k->t].demand_ns += b - a;
}

/* The runnable part after an idle wait: the request is there, the CPU is not. */
static void walk_ready(struct walk *k, uint32_t i, double weight)
{
	const struct wait *w = &k->d->e->m->waits[i];
	uint64_t from = max_u64(w->wake_ns ? w->wake_ns : w->end_ns, k->from_ns);
	uint64_t to = min_u64(w->end_ns, k->to_ns);

	if (to <= from)
		return;
	cascade_wait(k->d->e, k->to, i, from, to, weight, k->at);
	k->d->e->r->threads[k->t].demand_ns += to - from;
}

static void note_out(struct demand *d, const struct wait *w, uint64_t ns)
{
	if (w->cls == WAIT_SOCKET && w->res != NO_IDX && d->e->m->res[w->res].role == ROLE_CLIENT)
		d->entry_out_ns += ns;
}

/*
 * It waits with a request open where it waits for the next one too: another thread may
 * answer that, a moment after this one lay down.  The probe counts what is open when a
 * thread goes to sleep, and not when that ends.
 */
static bool is_handed_on(const struct engine *e, const struct wait *w)
{
	const struct tinfo *ti = &e->tinfo[w->thread];

	if (!ti->reads || !w->own_open ||
	    w->flags & (WAITF_PREEMPTED | WAITF_UNINT | WAITF_BEFORE_START) ||
	    e->r->threads[w->thread].role != ROLE_T_ENTRY || w->cls != ti->home_cls)
		return false;
	return w->cls == WAIT_EPOLL || w->cls == WAIT_POLL ||
	       w->res == e->r->threads[w->thread].home_res;
}

/* No more of these waits is a request's than requests were open. */
static double handed_part(const struct engine *e, uint32_t proc)
{
	const struct proc *p = &e->m->procs[proc];
	double ns = 0;

	for (uint32_t i = 0; i < e->m->wait_cnt; i++) {
		const struct wait *w = &e->m->waits[i];

		if (e->m->threads[w->thread].proc == proc && is_handed_on(e, w))
			ns += w->end_ns - w->off_ns;
	}
	return p->open_ns < ns ? p->open_ns / ns : 1;
}

static void walk_wait(struct walk *k, uint32_t i, bool loop)
{
	struct engine *e = k->d->e;
	const struct wait *w = &e->m->waits[i];
	uint64_t from = max_u64(w->off_ns, k->from_ns), to = min_u64(w->end_ns, k->to_ns);
	uint64_t woken = w->wake_ns ? w->wake_ns : w->end_ns;
	double n = open_of(e, w);
	bool home = wait_is_home(e, w);

	/* one open: what ends the wait is what it waits for, unless a new client came */
	if (loop && home && n == 1 && to > from &&
	    (w->waker_ctx == WAKER_TIMER || w->waker_ctx == WAKER_TASK)) {
		cascade_wait(e, k->to, i, from, to, 1, k->at);
	} else if (loop && home && n > 0) {
		if (woken > from)
			k->d->home_ns += n * (woken - from);
		walk_ready(k, i, n);
	} else if (wait_is_idle(e, w)) {
		walk_ready(k, i, 1);
	} else if (to > from) {
		struct place at = *k->at;
		double part = is_handed_on(e, w) ? k->d->handed_part : 1;

		/* threads that take turns at accepting queue for a lock to be idle under */
		at.unasked = k->asked && n < 1 && !is_silent_client(e, w);
		cascade_wait(e, k->to, i, from, to, loop && n > 1 ? n : part, &at);
		e->r->threads[k->t].demand_ns += (uint64_t)(part * (to - from));
		if (!loop)
			note_out(k->d, w, to - from);
	}
}

/* Adds what thread t did in [a, b). */
static void stretch_walk(struct demand *d, uint32_t t, struct causes *to, bool loop, uint64_t a,
			 uint64_t b)
{
	struct engine *e = d->e;
	const struct thread *th = &e->m->threads[t];
	struct place at = { .entry_proc = d->proc, .entry = t, .via = NO_IDX,
			    .via_res = NO_IDX, .lock = NO_IDX, .end = NO_IDX };
	struct walk k = { .d = d, .to = to, .at = &at, .t = t, .from_ns = a, .to_ns = b,
			  .asked = loop || e->r->threads[t].role == ROLE_T_ENTRY };
	double before = 1, n;
	uint64_t pos = a;

	for (uint32_t i = wait_after(e->m, t, a); i < th->first_wait + th->wait_len; i++) {
		const struct wait *w = &e->m->waits[i];

		if (w->off_ns >= b)
			break;
		n = loop ? open_of(e, w) : 1;
		walk_run(&k, pos, w->off_ns, n > before ? n : before);
		walk_wait(&k, i, loop);
		before = n > 1 ? n : 1;
		pos = w->end_ns;
	}
	walk_run(&k, pos, b, before);
}

static void thread_walk(struct demand *d, uint32_t t, struct causes *to, bool loop)
{
	const struct thread *th = &d->e->m->threads[t];

	stretch_walk(d, t, to, loop, max_u64(th->view_begin_ns, d->e->from_ns), th->view_end_ns);
}

static void threads_walk(struct demand *d)
{
	const struct model *m = d->e->m;
	const struct proc *p = &m->procs[d->proc];

	for (uint32_t i = 0; i < p->thread_cnt; i++) {
		uint32_t t = m->proc_threads[p->first_thread + i];

		if (!m->threads[t].tracked)
			continue;
		switch (d->e->r->threads[t].role) {
		case ROLE_T_LOOP:
			d->loop_cnt++;
			d->loop = t;
			thread_walk(d, t, d->busy, true);
			break;
		case ROLE_T_ENTRY:
			thread_walk(d, t, d->all, false);
			d->entry_ns += d->e->r->threads[t].demand_ns;
			d->entry_cnt++;
			break;
		case ROLE_T_WORKER:
		case ROLE_T_HELPER:
			thread_walk(d, t, d->work, false);
			break;
		default:
			break;
		}
	}
}

uint32_t res_of_end(const struct model *m, const struct end *n)
{
	for (uint32_t i = 0; i < m->res_cnt; i++) {
		const struct res *r = &m->res[i];

		if (r->kind != RES_SOCKET || r->role != n->role || r->family != n->family)
			continue;
		if (r->tgid != m->procs[n->proc].tgid)
			continue;
		if (n->rport ? r->rport == n->rport &&
			       memcmp(r->raddr, n->raddr, sizeof(r->raddr)) == 0 :
			       strcmp(r->name, n->name) == 0)
			return i;
	}
	return NO_IDX;
}

/* While waits are known. */
static double end_out(const struct demand *d, const struct end *n)
{
	return ((double)n->service_ns + n->open_sum_ns) * d->e->r->part;
}

/* Requests of the loops that are open at others. */
static double lay_out(struct demand *d, double limit)
{
	const struct model *m = d->e->m;
	double all = 0, ours, factor;

	for (size_t i = 0; i < m->end_cnt; i++) {
		if (m->ends[i].proc == d->proc && m->ends[i].role == ROLE_CLIENT)
			all += end_out(d, &m->ends[i]);
	}
	ours = all > d->entry_out_ns ? all - d->entry_out_ns : 0;
	if (ours <= 0)
		return 0;
	factor = (ours < limit ? ours : limit) / all;
	for (size_t i = 0; i < m->end_cnt; i++) {
		const struct end *n = &m->ends[i];
		struct place at = { .entry_proc = d->proc, .entry = d->loop, .via = d->loop,
				    .via_res = NO_IDX, .lock = NO_IDX, .end = i, .depth = 1 };

		if (n->proc == d->proc && n->role == ROLE_CLIENT)
			causes_add(d->all, CAUSE_EXTERNAL, NO_IDX, res_of_end(m, n), &at,
				   end_out(d, n) * factor);
	}
	return all * factor;
}

/* Requests answered in the process. */
static double answered(const struct demand *d)
{
	for (size_t i = 0; i < d->e->r->req_cnt; i++) {
		if (d->e->r->reqs[i].proc == d->proc)
			return (double)d->e->r->reqs[i].turns;
	}
	return 0;
}

/*
 * Of what nobody works on: connections were refused, one at least for every second
 * request, so they are tried again later.  A loop's pause in between is in no thread.
 */
static double lay_refused(struct demand *d, double limit)
{
	const struct model *m = d->e->m;
	double all = 0;

	for (size_t i = 0; i < m->end_cnt; i++)
		all += m->ends[i].proc == d->proc ? (double)m->ends[i].refused_cnt : 0;
	if (all <= 0 || limit <= 0 || 2 * all < answered(d))
		return 0;
	for (size_t i = 0; i < m->end_cnt; i++) {
		const struct end *n = &m->ends[i];
		struct place at = { .entry_proc = d->proc, .entry = d->loop, .via = d->loop,
				    .via_res = NO_IDX, .lock = NO_IDX, .end = i, .depth = 1 };

		if (n->proc == d->proc && n->refused_cnt)
			causes_add(d->all, CAUSE_EXTERNAL, NO_IDX, res_of_end(m, n), &at,
				   limit * (double)n->refused_cnt / all);
	}
	return limit;
}

/* Share of the window: one request of ours lies unread there more often than none. */
#define UNTAKEN_MIN 0.5

/* The conversation before whose other end on this host requests lie unread, NO_IDX: none. */
static uint32_t untaken_at(const struct demand *d)
{
	const struct model *m = d->e->m;
	double most = UNTAKEN_MIN * (double)(m->end_ns - m->begin_ns);
	uint32_t best = NO_IDX;

	for (uint32_t i = 0; i < m->end_cnt; i++) {
		const struct end *n = &m->ends[i];
		uint32_t p = n->peer_tgid ? model_proc_by_tgid(m, n->peer_tgid) : NO_IDX;

		if (n->proc != d->proc || n->role != ROLE_CLIENT || !n->turns || p == NO_IDX ||
		    p == d->proc || (double)m->procs[p].unread_ns < most)
			continue;
		most = (double)m->procs[p].unread_ns;
		best = i;
	}
	return best;
}

/*
 * Several requests that were sent on one connection count as one that is open there, and
 * the others as nobody's.  Where they lie unread at the other end that line is not ours.
 */
static double lay_untaken(struct demand *d, double ns)
{
	uint32_t end = ns > 0 ? untaken_at(d) : NO_IDX;
	struct place at = { .entry_proc = d->proc, .entry = d->loop, .via = d->loop,
			    .via_res = NO_IDX, .lock = NO_IDX, .end = end, .depth = 1 };

	if (end == NO_IDX)
		return 0;
	causes_add(d->all, CAUSE_EXTERNAL, NO_IDX, res_of_end(d->e->m, &d->e->m->ends[end]), &at,
		   ns);
	return ns;
}

static void lay_queue(struct demand *d, double ns)
{
	struct place at = { .entry_proc = d->proc, .entry = d->loop, .via = d->loop,
			    .via_res = NO_IDX, .lock = NO_IDX, .end = NO_IDX };

	causes_add(d->all, CAUSE_QUEUE, d->loop, NO_IDX, &at, ns);
}

static void lay_home(struct demand *d)
{
	double open = d->e->m->procs[d->proc].open_ns * d->e->r->part;
	double left = d->home_ns, work = causes_total(d->work), part;
	enum news news;
	bool idle;

	/* the count is taken when the loop goes to sleep; others answer while it does */
	if (left > open)
		left = d->home_ns = open;
	left -= lay_out(d, left);
	if (work > 0 && left > 0) {
		part = work < left ? work : left;
		causes_scale(d->work, part / work);
		causes_merge(d->all, d->work);
		left -= part;
	}
	left -= lay_refused(d, left);
	/* rounding of integrals: a hundredth is no queue, and no work that could fill a limit */
	idle = left > 0.99 * d->home_ns;
	left -= idle ? 0 : lay_untaken(d, left);
	if (left <= 0.01 * d->home_ns)
		return;
	news = idle ? waits_for_news(d->e, d->proc) : NEWS_NONE;
	if (news == NEWS_NONE)
		lay_queue(d, left);
	else if (news == NEWS_OWN)
		d->e->r->ticked_ns += left;
}

static double conns_of(const struct demand *d)
{
	for (size_t i = 0; i < d->e->r->req_cnt; i++) {
		if (d->e->r->reqs[i].proc == d->proc)
			return d->e->r->reqs[i].conns +
			       d->e->m->procs[d->proc].stale_conns;
	}
	return 1;
}

/* Time that loops of the process were away from home. */
static double loops_busy(const struct demand *d)
{
	const struct proc *p = &d->e->m->procs[d->proc];
	double ns = 0;

	for (uint32_t i = 0; i < p->thread_cnt; i++) {
		uint32_t t = d->e->m->proc_threads[p->first_thread + i];

		if (d->e->r->threads[t].role == ROLE_T_LOOP)
			ns += d->e->r->threads[t].demand_ns;
	}
	return ns;
}

/* Requests that have arrived and that nobody has read yet. */
static void lay_unread(struct demand *d)
{
	const struct proc *p = &d->e->m->procs[d->proc];
	double open = p->open_ns * d->e->r->part, unread = p->unread_ns * d->e->r->part;
	double busy = causes_total(d->busy), between, at_loop;

	if (d->loop_cnt && busy > 0) {
		/*
		 * A loop that goes to sleep has taken what was there: only while
		 * it is busy can its connections wait for it.
		 */
		at_loop = conns_of(d) * loops_busy(d);
		at_loop = at_loop < unread ? at_loop : unread;
		causes_scale(d->busy, 1 + at_loop / busy);
		unread -= at_loop;
	}
	causes_merge(d->all, d->busy);
	/* a thread for each connection: none has to wait for another's */
	if (!d->loop_cnt && conns_of(d) <= d->entry_cnt)
		return;
	/*
	 * What these threads did with no request open was on the way to the
	 * next one, or the clean-up of the last: counted already.
	 */
	between = d->entry_ns > open ? d->entry_ns - open : 0;
	if (unread > between)
		lay_queue(d, unread - between);
}

static void proc_lay(struct engine *e, uint32_t proc, struct causes *into)
{
	struct demand d = { .e = e, .proc = proc, .all = into, .loop = NO_IDX };

	d.handed_part = handed_part(e, proc);
	d.busy = causes_new(e);
	d.work = causes_new(e);
	threads_walk(&d);
	lay_home(&d);
	lay_unread(&d);
	unanswered_lay(e, proc, d.loop, into);
	causes_free(d.busy);
	causes_free(d.work);
}

/* Its time that nobody claims, NULL: all of it; what is walked is claimed in walked. */
static void life_walk(struct demand *d, uint32_t t, struct claims *claims, struct claims *walked)
{
	const struct thread *th = &d->e->m->threads[t];
	uint64_t a = max_u64(th->view_begin_ns, d->e->from_ns), b = th->view_end_ns;
	VEC(uint64_t) ends = { 0 };

	if (!claims)
		thread_walk(d, t, d->all, false);
	for (; claims && claims_rest(claims, t, &a, &b); a = b, b = th->view_end_ns) {
		vec_push(&ends, a);
		vec_push(&ends, b);
	}
	for (size_t i = 0; i < ends.cnt; i += 2) {
		stretch_walk(d, t, d->all, false, ends.items[i], ends.items[i + 1]);
		claims_add(walked, t, ends.items[i], ends.items[i + 1]);
	}
	vec_release(&ends);
}

static void lives_walk(struct engine *e, uint32_t proc, struct causes *into,
		       struct claims *claims, struct claims *walked)
{
	const struct model *m = e->m;
	const struct proc *p = &m->procs[proc];
	struct demand d = { .e = e, .proc = proc, .all = into, .loop = NO_IDX, .handed_part = 1 };

	for (uint32_t i = 0; i < p->thread_cnt; i++) {
		uint32_t t = m->proc_threads[p->first_thread + i];

		if (m->threads[t].tracked)
			life_walk(&d, t, claims, walked);
	}
}

static void targets_walk(struct engine *e, struct causes *into, struct claims *claims,
			 struct claims *walked)
{
	for (uint32_t p = 0; p < e->m->proc_cnt; p++) {
		if (e->m->procs[p].target)
			lives_walk(e, p, into, claims, walked);
	}
}

/*
 * No conversations: each thread's own time, but for idleness, is what is wanted.  Where
 * one works for another that waits for it meanwhile, its time is that one's: laid first
 * is the time of those that nobody waits for, then what is left of circles.
 */
static void lives_lay(struct engine *e, struct causes *into)
{
	struct claims *claims = claims_new(e->m->thread_cnt);
	struct claims *walked = claims_new(e->m->thread_cnt);
	struct causes *unused = causes_new(e);
	uint64_t visits = e->r->visits, cut_cnt = e->r->cut_cnt;
	uint64_t *ns = xcalloc(e->m->thread_cnt + 1, sizeof(*ns));

	e->claims = claims;
	targets_walk(e, unused, NULL, NULL);
	for (uint32_t t = 0; t < e->m->thread_cnt; t++)
		ns[t] = e->r->threads[t].demand_ns;
	e->r->visits = visits;
	e->r->cut_cnt = cut_cnt;
	e->claims = walked;
	targets_walk(e, into, claims, walked);
	targets_walk(e, into, walked, walked);
	e->claims = NULL;
	for (uint32_t t = 0; t < e->m->thread_cnt; t++)
		e->r->threads[t].demand_ns = ns[t];
	free(ns);
	causes_free(unused);
	claims_free(claims);
	claims_free(walked);
}

static bool has_requests(const struct engine *e, uint32_t proc)
{
	if (e->at_work[proc])
		return true;
	for (size_t i = 0; i < e->r->req_cnt; i++) {
		if (e->r->reqs[i].proc == proc)
			return e->r->reqs[i].turns || e->r->reqs[i].open_now ||
			       e->r->reqs[i].stale_cnt ||
			       e->r->reqs[i].unread_avg > 0;
	}
	return false;
}

void demand_lay(struct engine *e)
{
	const struct model *m = e->m;
	struct causes *all = causes_new(e);
	bool requests = false;

	for (uint32_t p = 0; p < m->proc_cnt; p++)
		requests |= m->procs[p].target && has_requests(e, p);
	e->r->demand_kind = requests ? 1 : 2;
	for (uint32_t p = 0; p < m->proc_cnt; p++) {
		if (!m->procs[p].target && !m->procs[p].peer)
			continue;
		if (has_requests(e, p))
			proc_lay(e, p, all);
		else if (!m->procs[p].target)
			lives_walk(e, p, all, NULL, NULL);
	}
	if (!requests)
		lives_lay(e, all);
	/* what it was while waits are known stands for the whole window */
	causes_stretch(all, 1 / e->r->part);
	causes_finish(all, e);
	for (size_t i = 0; i < e->r->cause_cnt; i++) {
		const struct cause *c = &e->r->causes[i];

		if (c->entry_proc != NO_IDX && m->procs[c->entry_proc].target)
			e->r->demand_ns += c->ns;
	}
	causes_free(all);
}
