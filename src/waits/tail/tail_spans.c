/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow requests, and what each of them waited for.
 *
 * A request is open in time from its arrival to its answer.  Until it is read
 * it waits for what its reader does; then for what the thread does that has
 * it.  A loop that has read it and turns for others meanwhile waits for an
 * answer: of a request that it sent on, or of a worker of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "base/hash.h"
#include "waits/waits_int.h"

/* Less than this is a run whatever the samples say: there are too few. */
#define RUN_SURE_NS 10000000
/* A request of ours or a worker's wait that covers this part of a request is what it waits for. */
#define COVERS 0.6
/* A wait that a recorded request covers by this part counts as that request's. */
#define SAME 0.5

static uint64_t overlap_ns(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t from = a > c ? a : c, to = b < d ? b : d;

	return to > from ? to - from : 0;
}

static struct span *shortest(const struct tail_work *k)
{
	struct span *min = k->spans;

	for (size_t i = 1; i < k->span_cnt; i++) {
		if (k->spans[i].len_ns < min->len_ns)
			min = &k->spans[i];
	}
	return min;
}

static void span_add(struct tail_work *k, const struct span *s)
{
	struct span *to = &k->spans[k->span_cnt];

	if (k->span_cnt == TAIL_SPANS_MAX) {
		k->tail->left_out_cnt++;
		to = shortest(k);
		if (to->len_ns >= s->len_ns)
			return;
	} else {
		k->span_cnt++;
	}
	*to = *s;
}

static uint32_t tracked_thread(const struct model *m, uint32_t tid)
{
	uint32_t t = tid ? model_thread_by_tid(m, tid) : NO_IDX;

	return t != NO_IDX && m->threads[t].tracked ? t : NO_IDX;
}

static void turns_take(struct tail_work *k)
{
	const struct model *m = k->m;

	for (size_t i = 0; i < m->turn_cnt; i++) {
		const struct ev_turn *n = &m->turns[i];
		uint64_t ns = n->service_ns + n->queue_ns, end = n->h.ts_ns;
		struct span s = { .end_ns = end, .len_ns = ns, .turn = true };

		if (n->role != ROLE_SERVER || ns < k->tail->slow_ns || ns > end ||
		    end <= m->begin_ns)
			continue;
		s.begin_ns = end - ns > m->begin_ns ? end - ns : m->begin_ns;
		s.read_ns = end - n->service_ns;
		s.read_ns = s.read_ns > s.begin_ns ? s.read_ns : s.begin_ns;
		s.proc = model_proc_by_tgid(m, n->tgid);
		if (s.proc == NO_IDX || !m->procs[s.proc].target)
			continue;
		s.thread = tracked_thread(m, n->first_tid);
		s.answerer = tracked_thread(m, n->h.tid);
		if (s.thread == NO_IDX)
			s.thread = s.answerer;
		if (s.answerer == NO_IDX)
			s.answerer = s.thread;
		if (s.thread != NO_IDX)
			span_add(k, &s);
	}
}

/* True if one of the first turn_cnt spans, of recorded requests, covers [a, b) of t. */
static bool is_told(const struct tail_work *k, size_t turn_cnt, uint32_t t, uint64_t a, uint64_t b)
{
	for (size_t i = 0; i < turn_cnt; i++) {
		const struct span *s = &k->spans[i];

		if ((s->thread == t || s->answerer == t) &&
		    (double)overlap_ns(a, b, s->begin_ns, s->end_ns) >= SAME * (double)(b - a))
			return true;
	}
	return false;
}

/*
 * Where the thread waits for requests.  How many are open in a thread is not known
 * at all times, so of a loop the place tells, not that none was open.
 */
static bool is_at_home(const struct engine *e, const struct wait *w)
{
	uint32_t l = e->wait_lock[w - e->m->waits];

	if (e->r->threads[w->thread].role != ROLE_T_LOOP || w->cls == WAIT_KIDLE ||
	    (w->cls == WAIT_SOCKET && w->op == WAIT_OP_ACCEPT))
		return wait_is_idle(e, w);
	return wait_is_home(e, w) || (l != NO_IDX && e->r->locks[l].gate && !wait_open(e, w));
}

/* A wait in which a request is open, or that keeps a loop from those of all its clients. */
static bool wait_holds(const struct engine *e, const struct wait *w)
{
	unsigned role = e->r->threads[w->thread].role;

	if (w->flags & WAITF_PREEMPTED || is_at_home(e, w))
		return false;
	return role == ROLE_T_LOOP || (role == ROLE_T_ENTRY && wait_open(e, w));
}

/* No request of the process was open for longer; 0: none was answered. */
static uint64_t longest_open_ns(const struct waits_result *r, uint32_t proc)
{
	for (size_t i = 0; i < r->req_cnt; i++) {
		const struct wreq *q = &r->reqs[i];
		uint64_t open_ns = q->open_oldest_ns > q->stale_oldest_ns ? q->open_oldest_ns
									  : q->stale_oldest_ns;

		if (q->proc == proc && q->turns)
			return q->answer_max_ns > open_ns ? q->answer_max_ns : open_ns;
	}
	return 0;
}

/* The probe counts what is open when a thread lies down: another may answer right after. */
static bool is_answered_by_other(const struct engine *e, const struct wait *w, uint64_t ns)
{
	uint64_t longest_ns;

	if (e->r->threads[w->thread].role != ROLE_T_ENTRY)
		return false;
	longest_ns = longest_open_ns(e->r, e->m->threads[w->thread].proc);
	return longest_ns && longest_ns < ns;
}

static void waits_take(struct tail_work *k)
{
	const struct model *m = k->m;
	const struct engine *e = k->e;
	size_t turn_cnt = k->span_cnt;

	for (uint32_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];
		uint64_t from = w->off_ns > m->begin_ns ? w->off_ns : m->begin_ns;
		uint64_t to = m->waits[e->look_end[i]].end_ns;
		uint32_t t = w->thread, p = m->threads[t].proc;
		struct span s = { .begin_ns = from, .read_ns = from, .end_ns = to, .proc = p };

		if (e->look_begin[i] != i || to <= from || to - from < k->tail->slow_ns ||
		    p == NO_IDX || !m->procs[p].target || !wait_holds(e, w) ||
		    is_told(k, turn_cnt, t, from, to) || is_answered_by_other(e, w, to - from))
			continue;
		s.len_ns = to - w->off_ns;
		s.thread = s.answerer = t;
		/* loops take turns under a lock at taking requests; none sleeps to take one */
		s.unasked = w->cls != WAIT_TIMER && !wait_open(e, w) && !is_silent_client(e, w);
		span_add(k, &s);
	}
}

/* Those that may cover a slow request: COVERS of it at least. */
static void asks_take(struct tail_work *k)
{
	const struct model *m = k->m;

	for (uint32_t i = 0; i < m->turn_cnt; i++) {
		const struct ev_turn *n = &m->turns[i];

		if (n->role == ROLE_CLIENT && n->service_ns <= n->h.ts_ns &&
		    (double)n->service_ns >= COVERS * (double)k->tail->slow_ns)
			k->asks[k->ask_cnt++] = i;
	}
}

void spans_collect(struct tail_work *k)
{
	asks_take(k);
	turns_take(k);
	waits_take(k);
}

struct part {			/* of a span, as it is explained */
	struct tail_work *k;
	const struct span *s;
	struct causes *to;
	struct place at;
	bool read;		/* the request was read: it is open in the thread */
	bool run;		/* between its long waits the thread ran, for this alone */
};

static void lay(struct part *p, unsigned kind, uint32_t t, uint32_t res, uint64_t ns)
{
	causes_add(p->to, kind, t, res, &p->at, (double)ns);
}

/* No long wait of t is known there. */
static void gap_walk(struct part *p, uint32_t t, uint64_t a, uint64_t b)
{
	if (b > a)
		lay(p, p->run ? CAUSE_RUN : CAUSE_UNSEEN, t, NO_IDX, b - a);
}

/* A wait at home: of one that reads, for work; with a request open, for who ends it. */
static void home_walk(struct part *p, uint32_t i, uint64_t a, uint64_t b)
{
	struct engine *e = p->k->e;
	const struct wait *w = &e->m->waits[i];
	uint64_t woken = w->wake_ns ? w->wake_ns : w->end_ns;
	bool task = w->waker_ctx == WAKER_TASK && w->waker != NO_IDX &&
		    e->m->threads[w->waker].tracked &&
		    e->m->threads[w->waker].proc == e->m->threads[w->thread].proc;

	if (p->read && task) {
		cascade_wait(e, p->to, i, a, b, 1, &p->at);
		return;
	}
	lay(p, CAUSE_UNSEEN, w->thread, w->res, overlap_ns(w->off_ns, woken, a, b));
	if (w->end_ns > woken && b > woken)
		cascade_wait(e, p->to, i, woken > a ? woken : a, b, 1, &p->at);
}

static void thread_walk(struct part *p, uint32_t t, uint64_t a, uint64_t b)
{
	struct engine *e = p->k->e;
	const struct thread *th = &e->m->threads[t];
	uint64_t pos = a > th->begin_ns ? a : th->begin_ns;

	if (b <= a)
		return;
	p->run = b - a < RUN_SURE_NS || is_one_run(p->k, t, a, b);
	for (uint32_t i = wait_after(e->m, t, a); i < th->first_wait + th->wait_len; i++) {
		const struct wait *w = &e->m->waits[i];
		bool loop = e->r->threads[t].role == ROLE_T_LOOP;

		if (w->off_ns >= b)
			break;
		gap_walk(p, t, pos, w->off_ns);
		/* another has the request by now */
		if (p->read && e->parked[i] && !e->tinfo[t].asleep)
			lay(p, CAUSE_UNSEEN, t, w->res, overlap_ns(w->off_ns, w->end_ns, a, b));
		/* one that has read a request and serves it alone waits for nothing else */
		else if ((loop || !p->read) && is_at_home(e, w))
			home_walk(p, i, a, b);
		else
			cascade_wait(e, p->to, i, a, b, 1, &p->at);
		pos = w->end_ns;
	}
	gap_walk(p, t, pos, b);
}

/* The request to another that goes best with [a, b) of the process, NULL if none does. */
static const struct ev_turn *ask_of(const struct tail_work *k, uint32_t tgid, uint64_t a,
				    uint64_t b)
{
	const struct ev_turn *best = NULL;
	double most = COVERS;

	for (size_t i = 0; i < k->ask_cnt; i++) {
		const struct ev_turn *n = &k->m->turns[k->asks[i]];
		uint64_t end = n->h.ts_ns, begin = end - n->service_ns, in;
		double both;

		if (n->tgid != tgid)
			continue;
		in = overlap_ns(a, b, begin, end);
		/* what lasts much longer than the request is not of it */
		both = (double)(b - a) + (double)n->service_ns - (double)in;
		if ((double)in > most * both) {
			most = (double)in / both;
			best = n;
		}
	}
	return best;
}

/* A wait of a worker or helper of the process that goes best with [a, b), NO_IDX if none does. */
static uint32_t work_of(const struct tail_work *k, uint32_t proc, uint64_t a, uint64_t b)
{
	const struct model *m = k->m;
	uint64_t most = (uint64_t)(COVERS * (double)(b - a));
	uint32_t best = NO_IDX;

	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		const struct thread *th = &m->threads[t];
		unsigned role = k->e->r->threads[t].role;

		if (th->proc != proc || !th->tracked ||
		    (role != ROLE_T_WORKER && role != ROLE_T_HELPER))
			continue;
		for (uint32_t i = wait_after(m, t, a); i < th->first_wait + th->wait_len; i++) {
			const struct wait *w = &m->waits[i];
			uint64_t in = overlap_ns(a, b, w->off_ns, w->end_ns);

			if (w->off_ns >= b)
				break;
			if (in <= most || wait_is_idle(k->e, w))
				continue;
			most = in;
			best = i;
		}
	}
	return best;
}

/*
 * The conversation of the process that a socket is of; where the socket is not described
 * the only one there is.  NO_IDX: none, or one of several.
 */
static uint32_t end_asked(const struct model *m, uint32_t proc, uint32_t res)
{
	const struct res *r = res != NO_IDX && m->res[res].rport ? &m->res[res] : NULL;
	uint32_t found = NO_IDX;

	for (uint32_t i = 0; i < m->end_cnt; i++) {
		const struct end *n = &m->ends[i];

		if (n->role != ROLE_CLIENT || n->proc != proc ||
		    (r && (r->rport != n->rport ||
			   memcmp(r->raddr, n->raddr, sizeof(n->raddr)) != 0)))
			continue;
		if (found != NO_IDX)
			return NO_IDX;
		found = i;
	}
	return found;
}

/* Read by a loop, and not answered at once. */
static void loop_walk(struct part *p, uint64_t a, uint64_t b)
{
	const struct model *m = p->k->m;
	const struct ev_turn *n = ask_of(p->k, m->procs[p->s->proc].tgid, a, b);
	uint32_t w = n ? NO_IDX : work_of(p->k, p->s->proc, a, b);
	uint64_t from, to;

	if (n) {
		from = n->h.ts_ns - n->service_ns;
		to = n->h.ts_ns < b ? n->h.ts_ns : b;
		p->at.via = p->s->thread;
		p->at.end = end_asked(m, p->s->proc, model_res_by_id(m, n->res));
		lay(p, CAUSE_EXTERNAL, NO_IDX, model_res_by_id(m, n->res),
		    overlap_ns(a, b, from, to));
		p->at.via = p->at.end = NO_IDX;
	} else if (w != NO_IDX) {
		from = m->waits[w].off_ns;
		to = m->waits[w].end_ns < b ? m->waits[w].end_ns : b;
		p->at.via = p->s->thread;
		p->at.depth = 1;
		cascade_wait(p->k->e, p->to, w, a, b, 1, &p->at);
		p->at.via = NO_IDX;
		p->at.depth = 0;
	} else {
		thread_walk(p, p->s->answerer, a, b);
		return;
	}
	if (from > a)
		thread_walk(p, p->s->thread, a, from);
	if (to < b)
		thread_walk(p, p->s->answerer, to, b);
}

/*
 * A loop that is at home leaves nothing unread: what came when is not known, only that it
 * was open.
 */
static bool sleeps_at_home(const struct tail_work *k, uint32_t t, uint64_t a, uint64_t b)
{
	const struct model *m = k->m;
	const struct thread *th = &m->threads[t];
	uint64_t ns = 0;

	for (uint32_t i = wait_after(m, t, a); i < th->first_wait + th->wait_len; i++) {
		const struct wait *w = &m->waits[i];

		if (w->off_ns >= b)
			break;
		if (wait_is_home(k->e, w))
			ns += overlap_ns(a, b, w->off_ns, w->wake_ns ? w->wake_ns : w->end_ns);
	}
	return 2 * ns > b - a;
}

static void span_explain(struct tail_work *k, struct span *s)
{
	struct part p = { .k = k, .s = s };
	bool loop = k->e->r->threads[s->thread].role == ROLE_T_LOOP;

	s->causes = p.to = causes_new(k->e);
	p.at = (struct place){ .entry_proc = s->proc, .entry = s->thread, .via = NO_IDX,
			       .via_res = NO_IDX, .lock = NO_IDX, .end = NO_IDX,
			       .unasked = s->unasked };
	if (loop && sleeps_at_home(k, s->thread, s->begin_ns, s->read_ns))
		s->read_ns = s->begin_ns;
	if (s->read_ns > s->begin_ns)
		thread_walk(&p, s->thread, s->begin_ns, s->read_ns);
	p.read = true;
	if (s->turn && (loop || s->answerer != s->thread))
		loop_walk(&p, s->read_ns, s->end_ns);
	else
		thread_walk(&p, s->thread, s->read_ns, s->end_ns);
	s->lead = causes_lead(s->causes);
}

/* The conversation asked, else the address, or the process's family: whoever waits for it. */
static uint64_t where_of(const struct tail_work *k, const struct span *s)
{
	const struct model *m = k->m;
	uint32_t res = s->lead.res, end = s->lead.end;
	const struct res *r = res != NO_IDX ? &m->res[res] : NULL;

	if (s->lead.kind != CAUSE_EXTERNAL)
		return k->e->family[s->proc];
	if (end == NO_IDX)
		end = end_asked(m, s->proc, res);
	if (end != NO_IDX)
		return hash_pair(end, 1);
	if (!r || r->kind != RES_SOCKET)
		return k->e->family[s->proc];
	return hash_pair(hash_bytes(r->raddr, sizeof(r->raddr)),
			 r->rport ? r->rport : r->peer_tgid);
}

static bool is_own(const struct tail_work *k, const struct span *s)
{
	return !s->lead.depth && s->lead.thread == s->thread &&
	       !cause_ends_outside(s->lead.kind) &&
	       k->e->r->threads[s->thread].role == ROLE_T_ENTRY;
}

/* A client that is slow itself holds nobody else up. */
static bool is_clients(const struct span *s)
{
	return (s->lead.kind == CAUSE_CLIENT || s->lead.kind == CAUSE_IDLE) && !s->lead.depth;
}

/* Nobody asked, and for most of it the thread waited for nobody who was: see unasked. */
static bool is_rest(const struct span *s)
{
	return s->unasked && 2 * causes_total(s->causes) < (double)(s->end_ns - s->begin_ns);
}

/* It waited for nothing that is seen, but for what its process had to tell it. */
static bool is_news(struct tail_work *k, const struct span *s)
{
	uint64_t news;

	if (s->lead.kind != CAUSE_UNSEEN)
		return false;
	if (!hmap_get(&k->news, s->proc, &news)) {
		news = waits_for_news(k->e, s->proc) != NEWS_NONE;
		hmap_put(&k->news, s->proc, news);
	}
	return news;
}

void spans_explain(struct tail_work *k)
{
	size_t out = 0;

	for (size_t i = 0; i < k->span_cnt; i++) {
		struct span *s = &k->spans[i];

		span_explain(k, s);
		s->own = is_own(k, s);
		s->where = hash_pair(where_of(k, s), s->own);
		if (s->lead.ns <= 0 || is_clients(s) || is_rest(s) || is_news(k, s)) {
			causes_free(s->causes);
			continue;
		}
		k->tail->sum_ns += s->len_ns;
		k->spans[out++] = *s;
	}
	k->span_cnt = out;
	k->tail->slow_cnt = hist_from(k->tail->hist, k->tail->slow_ns);
	if (k->tail->slow_cnt < out)
		k->tail->slow_cnt = out;
}
