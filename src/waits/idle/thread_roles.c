/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each thread is for, and which of its waits are idleness.
 *
 * A thread that reads requests is idle where it sleeps with none open.
 * Another thread is idle at its home: the place it waits longest at among
 * those where work is handed over.  A wait for a lock, for a disk or with a
 * request open is never idle.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alike.h"
#include "base/alloc.h"
#include "base/bug.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/vec.h"
#include "waits/waits_int.h"

static bool class_hands_work(unsigned cls)
{
	return wait_class_traits(cls) & WAITC_WORK;
}

static bool is_lock_wait(const struct engine *e, const struct wait *w)
{
	uint32_t l = e->wait_lock[w - e->m->waits];

	return l != NO_IDX && e->r->locks[l].cls == LOCK_LOCK;
}

/*
 * A socket that takes datagrams from anybody: who waits there again has handed on
 * or dropped what it read before, and waits for no client's rest.
 */
static bool takes_from_all(const struct model *m, uint32_t res)
{
	const struct res *r = res != NO_IDX ? &m->res[res] : NULL;

	return r && r->kind == RES_SOCKET && r->role == ROLE_SERVER && r->sotype == SOCK_DGRAM &&
	       !r->rport && (r->family == AF_INET || r->family == AF_INET6);
}

static bool is_open_to_all(const struct model *m, const struct wait *w)
{
	return takes_from_all(m, w->res) &&
	       (w->cls == WAIT_POLL || (w->cls == WAIT_SOCKET && w->op == WAIT_OP_READ));
}

/*
 * glibc's condition variable has two futex words side by side, used in turn:
 * one place.  Only for telling homes; two locks may lie side by side too.
 */
void places_find(struct engine *e)
{
	const struct model *m = e->m;
	struct hmap words = { 0 };

	for (uint32_t i = 0; i < m->res_cnt; i++) {
		const struct res *r = &m->res[i];
		uint64_t *slot;

		e->place[i] = i;
		if (r->kind != RES_FUTEX || !r->ino)
			continue;
		slot = hmap_slot(&words, (r->ino & ~7ULL) ^ (uint64_t)r->tgid << 48);
		if (!*slot)
			*slot = i + 1;
		e->place[i] = *slot - 1;
	}
	hmap_release(&words);
}

static uint32_t place_of(const struct engine *e, uint32_t res)
{
	return res == NO_IDX ? NO_IDX : e->place[res];
}

/*
 * A lock under which threads take turns at taking work.  Who waits for it has no
 * request; behind it he goes straight to one, and not to sleep until one comes,
 * or who had it before him slept so under it; none lay there for him; and he waits
 * for it once a request, not for each piece of an answer that has begun.  Most must
 * do so: some find nothing, or are lost.
 */
#define GATE_SHARE 0.5
#define GATE_PER_TURN 1.5

struct gate {			/* by lock idx; what was waited for it with no request open */
	double ns, led_ns;	/* in all, and where the thread did not go to sleep for work next */
	double cnt, turns, unread_ns; /* turns, unread_ns: of the processes of its waiters */
};

static bool is_unasked_lock_wait(const struct engine *e, const struct wait *w)
{
	return is_lock_wait(e, w) && e->tinfo[w->thread].reads && !wait_open(e, w);
}

/*
 * Who let w go slept till work came while he had the lock, with none of his own
 * before.  Looked at are his last waits: who sleeps has few of them.
 */
enum { BEHIND_WAITS = 64 };

static bool behind_idle(const struct engine *e, const struct wait *w)
{
	const struct model *m = e->m;
	uint32_t lock = e->wait_lock[w - m->waits], first, i;
	uint64_t has_ns = w->off_ns, slept_ns = 0; /* has_ns: since when he had it */

	if (w->waker == NO_IDX || w->waker_ctx != WAKER_TASK)
		return false;
	first = m->threads[w->waker].first_wait;
	i = wait_after(m, w->waker, w->end_ns);
	for (unsigned n = 0; n < BEHIND_WAITS && i-- > first; n++) {
		const struct wait *x = &m->waits[i];
		uint64_t from = x->off_ns > w->off_ns ? x->off_ns : w->off_ns;

		if (x->end_ns <= w->off_ns)
			break;
		if (e->wait_lock[i] == lock && x->end_ns < w->end_ns) {
			has_ns = x->end_ns;
			break;
		}
		if (!(x->flags & WAITF_PREEMPTED) && e->wait_lock[i] != lock &&
		    class_hands_work(x->cls) && !wait_open(e, x))
			slept_ns += x->end_ns - from;
	}
	return slept_ns && (double)slept_ns >= GATE_SHARE * (double)(w->end_ns - has_ns);
}

static void gates_add(const struct engine *e, uint32_t t, struct gate *gates)
{
	const struct thread *th = &e->m->threads[t];
	const struct wait *last = NULL;

	for (uint32_t i = th->first_wait; i < th->first_wait + th->wait_len; i++) {
		const struct wait *w = &e->m->waits[i];
		bool gate = is_unasked_lock_wait(e, w);

		if (w->flags & WAITF_PREEMPTED)
			continue;
		if (last && (gate || wait_open(e, w) || !class_hands_work(w->cls)))
			gates[e->wait_lock[last - e->m->waits]].led_ns +=
				(double)(last->end_ns - last->off_ns);
		last = gate ? w : NULL;
		if (!gate)
			continue;
		if (behind_idle(e, w)) {
			gates[e->wait_lock[i]].led_ns += (double)(w->end_ns - w->off_ns);
			last = NULL;
		}
		gates[e->wait_lock[i]].ns += (double)(w->end_ns - w->off_ns);
		gates[e->wait_lock[i]].cnt++;
	}
}

/* The lock that most of t's waits without a request are for, NO_IDX none. */
static uint32_t gate_of(const struct engine *e, uint32_t t)
{
	const struct thread *th = &e->m->threads[t];
	struct hmap by_lock = { 0 };
	uint64_t best = 0, *sum;
	uint32_t gate = NO_IDX;

	for (uint32_t i = th->first_wait; i < th->first_wait + th->wait_len; i++) {
		const struct wait *w = &e->m->waits[i];

		if (!is_unasked_lock_wait(e, w))
			continue;
		sum = hmap_slot(&by_lock, e->wait_lock[i]);
		*sum += w->end_ns - w->off_ns;
		if (*sum > best) {
			best = *sum;
			gate = e->wait_lock[i];
		}
	}
	hmap_release(&by_lock);
	return gate;
}

static double turns_of(const struct model *m, uint32_t proc)
{
	double turns = 0;

	for (size_t i = 0; i < m->end_cnt; i++) {
		if (m->ends[i].proc == proc && m->ends[i].role == ROLE_SERVER)
			turns += m->ends[i].turns;
	}
	return turns;
}

static void gates_find(struct engine *e)
{
	const struct model *m = e->m;
	struct gate *gates = xcalloc(e->r->lock_cnt + 1, sizeof(*gates));
	uint32_t *of_proc = xmalloc((m->proc_cnt + 1) * sizeof(*of_proc));

	BUG_ON(!gates || !of_proc);
	memset(of_proc, 0xff, (m->proc_cnt + 1) * sizeof(*of_proc));
	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		uint32_t p = m->threads[t].proc, gate = gate_of(e, t);

		gates_add(e, t, gates);
		if (gate == NO_IDX || p == NO_IDX || of_proc[p] == gate)
			continue;
		of_proc[p] = gate;
		gates[gate].turns += e->r->part * turns_of(m, p);
		gates[gate].unread_ns += e->r->part * m->procs[p].unread_ns;
	}
	for (size_t l = 0; l < e->r->lock_cnt; l++) {
		const struct gate *g = &gates[l];

		e->r->locks[l].gate = g->led_ns > 0 && g->led_ns >= GATE_SHARE * g->ns &&
				      g->cnt <= GATE_PER_TURN * g->turns &&
				      g->unread_ns < GATE_SHARE * g->ns;
	}
	free(gates);
	free(of_proc);
}

/* In line for work, with none of its own. */
static bool is_gate_wait(const struct engine *e, const struct wait *w)
{
	return is_unasked_lock_wait(e, w) && e->r->locks[e->wait_lock[w - e->m->waits]].gate;
}

/* Whoever has something to write is not idle, answered or not: who logs to a pipe, say. */
static bool waits_for_room(const struct wait *w)
{
	return (w->cls == WAIT_SOCKET || w->cls == WAIT_PIPE) && w->op == WAIT_OP_WRITE;
}

/* By reading, or by a look with a limit of time before that. */
static bool awaits_peer(const struct model *m, const struct wait *w)
{
	return (w->cls == WAIT_SOCKET || w->cls == WAIT_POLL) && w->res != NO_IDX &&
	       m->res[w->res].kind == RES_SOCKET && m->res[w->res].role == ROLE_CLIENT;
}

bool wait_is_idle(const struct engine *e, const struct wait *w)
{
	const struct thread *t = &e->m->threads[w->thread];
	const struct tinfo *ti = &e->tinfo[w->thread];

	if (w->flags & (WAITF_PREEMPTED | WAITF_UNINT))
		return (t->flags & TASKF_KTHREAD) != 0 && w->cls == WAIT_KIDLE;
	if (w->cls == WAIT_KIDLE || (w->cls == WAIT_SOCKET && w->op == WAIT_OP_ACCEPT))
		return true;
	if ((is_lock_wait(e, w) && !is_gate_wait(e, w)) || waits_for_room(w) ||
	    keeps_callers(e, w) || is_silent_client(e, w))
		return false;
	if (ti->reads)
		return !wait_open(e, w) && (class_hands_work(w->cls) || w->cls == WAIT_TIMER);
	if (w->cls == WAIT_CHILD || w->cls == WAIT_SIGNAL || w->cls == WAIT_STOPPED)
		return true;
	if (w->cls == WAIT_TIMER)
		return !ti->answers;
	if (w->cls != ti->home_cls || awaits_peer(e->m, w))
		return false;
	/* threads with a condition variable each go from one to the next */
	return w->cls == WAIT_EPOLL || w->cls == WAIT_POLL ||
	       place_of(e, w->res) == e->r->threads[w->thread].home_res;
}

#define FED_MIN 2

static void mark_reader(struct engine *e, uint32_t t)
{
	if (t != NO_IDX)
		e->tinfo[t].reads = true;
}

/* Counts the reads of a thread from server sockets, and those from the one it reads most. */
static void server_sock_seen(struct engine *e, struct hmap *seen, uint32_t t, uint32_t res)
{
	struct tinfo *ti;
	uint64_t *slot;

	if (t == NO_IDX || !res_is_server(e->m, res))
		return;
	ti = &e->tinfo[t];
	slot = hmap_slot(seen, (uint64_t)t << 32 | res);
	++*slot;
	ti->server_read_cnt++;
	if (*slot > ti->server_most_cnt)
		ti->server_most_cnt = *slot;
	ti->reads = true;
}

/* Sockets that ended a wait for a set or list: which thread was woken. */
static void pollers_find(struct engine *e, struct hmap *ret_pollers)
{
	for (size_t i = 0; i < e->m->wait_cnt; i++) {
		const struct wait *w = &e->m->waits[i];

		if (w->cls != WAIT_EPOLL && w->cls != WAIT_POLL)
			continue;
		e->tinfo[w->thread].polls = true;
		if (res_is_server(e->m, w->first_io))
			hmap_put(ret_pollers, w->first_io, w->thread);
	}
}

static void feeders_count(struct engine *e)
{
	const struct model *m = e->m;
	struct hmap pollers = { 0 };

	pollers_find(e, &pollers);
	for (size_t i = 0; i < m->turn_cnt; i++) {
		uint32_t t = model_thread_by_tid(m, m->turns[i].first_tid);
		uint32_t res = model_res_by_id(m, m->turns[i].res);
		uint64_t poller;

		if (t == NO_IDX || m->turns[i].role != ROLE_SERVER)
			continue;
		e->tinfo[t].fed_cnt += hmap_get(&pollers, res, &poller) && poller != t;
	}
	hmap_release(&pollers);
}

/*
 * Its requests come through another thread's loop: a worker that never rests
 * looks like a loop.  Once may be a socket that was given away when it was new.
 */
static bool is_fed(const struct tinfo *ti)
{
	return !ti->polls && ti->fed_cnt >= FED_MIN;
}

static void readers_of_turns(struct engine *e, struct hmap *seen)
{
	const struct model *m = e->m;

	for (size_t i = 0; i < m->turn_cnt; i++) {
		const struct ev_turn *t = &m->turns[i];
		uint32_t last = model_thread_by_tid(m, t->h.tid);

		if (t->role != ROLE_SERVER)
			continue;
		server_sock_seen(e, seen, model_thread_by_tid(m, t->first_tid),
				 model_res_by_id(m, t->res));
		mark_reader(e, model_thread_by_tid(m, t->first_tid));
		if (model_thread_by_tid(m, t->first_tid) != NO_IDX)
			e->tinfo[model_thread_by_tid(m, t->first_tid)].serves = true;
		if (last != NO_IDX)
			e->tinfo[last].answers = true;
	}
	for (size_t i = 0; i < m->sock_cnt; i++) {
		const struct ev_sock *s = &m->socks[i].e;
		/* of a socket with a request open: who read it; else who used it last */
		uint32_t t = model_thread_by_tid(m, s->open_since_ns ? s->h.tid : s->last_tid);

		if (s->role != ROLE_SERVER || t == NO_IDX)
			continue;
		e->tinfo[t].answers = e->tinfo[t].serves = true;
		if (e->tinfo[t].reads || s->open_since_ns)
			server_sock_seen(e, seen, t, m->socks[i].res);
	}
}

static void readers_mark(struct engine *e)
{
	const struct model *m = e->m;
	struct hmap seen = { 0 };

	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];

		server_sock_seen(e, &seen, w->thread, w->first_io);
		if (w->own_open || (w->cls == WAIT_SOCKET && w->op != WAIT_OP_ACCEPT &&
				    res_is_server(m, w->res)))
			mark_reader(e, w->thread);
	}
	readers_of_turns(e, &seen);
	feeders_count(e);
	for (size_t i = 0; i < m->pair_cnt; i++) {
		const struct pair *p = &m->pairs[i];

		if (p->waker != NO_IDX && p->waker != p->thread && p->ctx == WAKER_TASK)
			e->tinfo[p->waker].answers = true;
	}
	hmap_release(&seen);
}

/*
 * fed: ended by a thread of its process that takes requests, who so handed one on;
 * answer: see is_answer.
 */
struct home { uint32_t thread, res; uint8_t cls; bool answer; uint64_t ns; };
typedef VEC(struct home) homes;

static int by_thread_res(const void *pa, const void *pb)
{
	const struct home *a = pa, *b = pb;

	CMP(a->thread, b->thread);
	CMP(a->cls, b->cls);
	CMP(a->res, b->res);
	return 0;
}

/* Pairs of threads of two processes of which the first wakes the second. */
static void asks_find(const struct engine *e, struct hmap *asks)
{
	const struct model *m = e->m;

	for (size_t i = 0; i < m->pair_cnt; i++) {
		const struct pair *p = &m->pairs[i];

		if (p->ctx == WAKER_TASK && p->waker != NO_IDX &&
		    m->threads[p->waker].proc != m->threads[p->thread].proc)
			hmap_put(asks, (uint64_t)p->waker << 32 | p->thread, 1);
	}
}

/*
 * Whoever takes no requests himself, is woken by this thread and wakes it in turn, is
 * asked by it: that is no place where work is handed over.
 */
static bool is_answer(const struct engine *e, const struct hmap *asks, const struct wait *w)
{
	uint32_t proc = e->m->threads[w->thread].proc;
	uint64_t one;

	return w->waker_ctx == WAKER_TASK && w->waker != NO_IDX && proc != NO_IDX &&
	       e->m->procs[proc].target && e->m->threads[w->waker].proc != proc &&
	       !e->tinfo[w->waker].reads && !e->tinfo[w->thread].reads &&
	       hmap_get(asks, (uint64_t)w->thread << 32 | w->waker, &one);
}

/* Candidates: where a thread with nothing open waits for something to be handed over. */
static void homes_collect(struct engine *e, homes *h)
{
	const struct model *m = e->m;
	struct hmap asks = { 0 };

	asks_find(e, &asks);
	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];
		bool accept = w->cls == WAIT_SOCKET && w->op == WAIT_OP_ACCEPT;

		if ((wait_open(e, w) && !is_open_to_all(m, w)) ||
		    (w->flags & (WAITF_PREEMPTED | WAITF_UNINT)) || is_lock_wait(e, w))
			continue;
		/* an answer from a peer is no work: only what comes in can be home */
		if (keeps_callers(e, w) || is_silent_client(e, w) || (!accept && awaits_peer(m, w)))
			continue;
		if (!class_hands_work(w->cls) && w->cls != WAIT_TIMER)
			continue;
		vec_push(h, ((struct home){ w->thread, place_of(e, w->res), w->cls,
					    is_answer(e, &asks, w),
					    (w->wake_ns ? w->wake_ns : w->end_ns) - w->off_ns }));
	}
	hmap_release(&asks);
	vec_sort(h, by_thread_res);
}

/*
 * Those from i on that are of one thread, class and place: the time there in *ret_ns,
 * 0 where most were answers; returns the first of the next.
 */
static size_t home_sum(const homes *h, size_t i, uint64_t *ret_ns)
{
	const struct home *first = &h->items[i];
	size_t j, answers = 0;

	*ret_ns = 0;
	for (j = i; j < h->cnt && !by_thread_res(first, &h->items[j]); j++) {
		*ret_ns += h->items[j].ns;
		answers += h->items[j].answer;
	}
	if (2 * answers > j - i)
		*ret_ns = 0;
	return j;
}

static void homes_choose(struct engine *e)
{
	homes h = { 0 };

	homes_collect(e, &h);
	for (uint32_t t = 0; t < e->m->thread_cnt; t++) {
		e->tinfo[t].home_cls = WAIT_CLASS_CNT;
		e->r->threads[t].home_res = NO_IDX;
	}
	for (size_t i = 0, j; i < h.cnt; i = j) {
		uint32_t t = h.items[i].thread;
		uint64_t best = 0, ns;

		for (size_t k = j = i; j < h.cnt && h.items[j].thread == t; k = j) {
			j = home_sum(&h, k, &ns);
			/* a sleep is home only for a thread that does nothing else */
			if (h.items[k].cls == WAIT_TIMER)
				ns = e->tinfo[t].answers ? 0 : 1;
			if (ns <= best)
				continue;
			best = ns;
			e->tinfo[t].home_cls = h.items[k].cls;
			e->r->threads[t].home_res = h.items[k].res;
		}
	}
	vec_release(&h);
}

bool wait_is_home(const struct engine *e, const struct wait *w)
{
	uint32_t home = e->r->threads[w->thread].home_res;

	if (is_open_to_all(e->m, w))
		return true;
	if ((w->cls != WAIT_EPOLL && w->cls != WAIT_POLL && w->cls != WAIT_IOURING) ||
	    keeps_callers(e, w))
		return false;
	return home == NO_IDX || place_of(e, w->res) == home;
}

static void open_waits_sum(struct engine *e)
{
	for (size_t i = 0; i < e->m->wait_cnt; i++) {
		const struct wait *w = &e->m->waits[i];
		struct tinfo *ti = &e->tinfo[w->thread];

		ti->serves |= w->own_open > 0;
		if (!w->own_open || (w->flags & WAITF_PREEMPTED))
			continue;
		if (w->own_open > ti->open_max)
			ti->open_max = w->own_open;
		*(wait_is_home(e, w) ? &ti->open_home_ns : &ti->open_away_ns) +=
			w->end_ns - w->off_ns;
	}
}

/*
 * One client at a time, waited for elsewhere: a worker, though it takes them
 * from a set.  A loop that a handler holds up looks the same but for the
 * requests of its other clients, which lie unread meanwhile.
 */
static bool serves_one(const struct engine *e, uint32_t t)
{
	const struct tinfo *ti = &e->tinfo[t];
	uint32_t proc = e->m->threads[t].proc;
	const struct proc *p = &e->m->procs[proc == NO_IDX ? 0 : proc];

	return proc != NO_IDX && ti->open_max <= 1 && ti->open_away_ns > 4 * ti->open_home_ns &&
	       p->unread_ns * 10 < p->open_ns;
}

/* Share of its reads that come from one socket where a thread serves just that one. */
#define ONE_CLIENT 0.9

static unsigned role_of(const struct engine *e, uint32_t t)
{
	const struct thread *th = &e->m->threads[t];
	const struct tinfo *ti = &e->tinfo[t];

	if (th->flags & TASKF_KTHREAD)
		return ROLE_T_KERNEL;
	if (!th->tracked)
		return ROLE_T_NONE;
	if (ti->reads) {
		bool loops = ti->home_cls == WAIT_EPOLL || ti->home_cls == WAIT_POLL ||
			     ti->home_cls == WAIT_IOURING ||
			     (ti->home_cls == WAIT_CLASS_CNT && !is_fed(ti));

		/*
		 * Else one socket nearly always: a thread of its own for that client.
		 * Not if requests of two were open at once: one client just asks more.
		 */
		bool many = ti->open_max > 1 ||
			    ti->server_most_cnt < ONE_CLIENT * ti->server_read_cnt;

		if (takes_from_all(e->m, e->r->threads[t].home_res) &&
		    ti->open_home_ns > ti->open_away_ns)
			return ROLE_T_LOOP; /* it reads for threads that answer */
		return loops && (ti->open_max > 1 || (many && !serves_one(e, t))) ?
			ROLE_T_LOOP : ROLE_T_ENTRY;
	}
	if (!th->ns[ST_RUN] && !th->ns[ST_RUNQ] && th->wait_cnt <= 1)
		return ROLE_T_IDLE;
	for (uint32_t i = th->first_wait; i < th->first_wait + th->wait_len; i++) {
		if (e->m->waits[i].cls == WAIT_SOCKET && e->m->waits[i].op == WAIT_OP_ACCEPT)
			return ROLE_T_ACCEPT;
	}
	return ti->answers ? ROLE_T_HELPER : ROLE_T_OTHER;
}

/* Two helpers of one process with the same home, or the same name and kind of home, are workers. */
static void workers_tell(struct engine *e)
{
	const struct model *m = e->m;
	struct waits_result *r = e->r;
	struct hmap by_home = { 0 };

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t t = 0; t < m->thread_cnt; t++) {
			uint64_t key;

			if (r->threads[t].role != ROLE_T_HELPER)
				continue;
			key = (uint64_t)m->threads[t].tgid << 32 ^ e->tinfo[t].home_cls;
			for (size_t i = 0; i < name_stem_len(m->threads[t].comm); i++)
				key = key * 31 + (unsigned char)m->threads[t].comm[i];
			if (!pass)
				++*hmap_slot(&by_home, key);
			else if (*hmap_slot(&by_home, key) > 1)
				r->threads[t].role = ROLE_T_WORKER;
		}
	}
	hmap_release(&by_home);
}

/*
 * The probe takes a loop for at home in whatever set it sleeps.  A handler that
 * waits in one of its own, until a child has ended say, keeps it from turning too.
 */
static void stalls_sum(struct engine *e, uint32_t t)
{
	const struct thread *th = &e->m->threads[t];
	struct wthread *wt = &e->r->threads[t];
	double cnt = 0;

	wt->stall_ns = th->stall_ns;
	wt->stall_max_ns = th->stall_max_ns;
	wt->stall_cnt = th->stall_cnt;
	for (uint32_t i = th->first_wait; i < th->first_wait + th->wait_len; i++) {
		const struct wait *w = &e->m->waits[i];
		uint64_t ns = w->real_end_ns - w->real_off_ns;
		double part = (double)(w->end_ns - w->off_ns) / e->r->part;

		if (w->cls != WAIT_EPOLL || w->flags & WAITF_PREEMPTED || wait_is_home(e, w) ||
		    wait_is_idle(e, w) || ns < WAITS_STALL_NS)
			continue;
		wt->stall_ns += part;
		cnt += part / (double)ns; /* of what is as long, kept or not */
		if (ns > wt->stall_max_ns)
			wt->stall_max_ns = ns;
	}
	wt->stall_cnt += cnt + 0.5;
}

/* Its waits are known of a part of its life: that stands for all of it. */
static void sums_stretch(struct engine *e, uint32_t t)
{
	const struct thread *th = &e->m->threads[t];
	struct wthread *wt = &e->r->threads[t];
	double by;

	if (e->r->part >= 1 || th->view_end_ns <= th->view_begin_ns)
		return;
	by = (double)(th->end_ns - th->begin_ns) / (double)(th->view_end_ns - th->view_begin_ns);
	wt->idle_ns *= by;
	wt->blocked_ns *= by;
	wt->silent_ns *= by;
}

static void threads_sum(struct engine *e)
{
	const struct model *m = e->m;

	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];
		struct wthread *wt = &e->r->threads[w->thread];
		uint64_t ns = (w->wake_ns ? w->wake_ns : w->end_ns) - w->off_ns;

		if (w->flags & WAITF_PREEMPTED)
			continue;
		if (wait_is_idle(e, w)) {
			wt->idle_ns += ns;
			wt->turn_cnt++;
		} else {
			wt->blocked_ns += ns;
			wt->silent_ns += is_silent_client(e, w) ? ns : 0;
		}
	}
	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		if (e->r->threads[t].role == ROLE_T_LOOP)
			stalls_sum(e, t);
		sums_stretch(e, t);
	}
}

void roles_assign(struct engine *e)
{
	readers_mark(e);
	callers_find(e);
	asleep_find(e);
	gates_find(e);
	homes_choose(e);
	open_waits_sum(e);
	for (uint32_t t = 0; t < e->m->thread_cnt; t++)
		e->r->threads[t].role = role_of(e, t);
	workers_tell(e);
}

static uint32_t group_of(struct engine *e, uint32_t t, struct hmap *known)
{
	const struct thread *th = &e->m->threads[t];
	struct waits_result *r = e->r;
	uint64_t key = (uint64_t)th->proc << 8 | r->threads[t].role, *slot;
	struct wgroup *g;

	slot = hmap_slot(known, hash_pair(key, name_alike_key(th->comm)));
	if (*slot)
		return *slot - 1;
	g = &r->groups[r->group_cnt];
	*slot = r->group_cnt + 1;
	g->proc = th->proc;
	g->role = r->threads[t].role;
	g->comm = th->comm;
	g->home_res = r->threads[t].home_res;
	return r->group_cnt++;
}

/* Busy: idle for less than a tenth of its life, so another request would wait. */
#define BUSY_IDLE_MAX 0.10

void groups_make(struct engine *e)
{
	const struct model *m = e->m;
	struct waits_result *r = e->r;
	struct hmap known = { 0 };

	threads_sum(e);
	r->groups = ARENA_ARRAY(e->arena, struct wgroup, m->thread_cnt + 1);
	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		const struct thread *th = &m->threads[t];
		uint64_t life = th->end_ns - th->begin_ns;
		struct wgroup *g;

		if (!th->tracked)
			continue;
		r->threads[t].group = group_of(e, t, &known);
		g = &r->groups[r->threads[t].group];
		g->thread_cnt++;
		g->busy_cnt += r->threads[t].idle_ns < BUSY_IDLE_MAX * life;
		g->life_ns += life;
		g->idle_ns += r->threads[t].idle_ns;
		g->blocked_ns += r->threads[t].blocked_ns;
		g->run_ns += th->ns[ST_RUN];
		g->runq_ns += th->ns[ST_RUNQ];
	}
	hmap_release(&known);
}
