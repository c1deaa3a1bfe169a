/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the steps, the names of what they find, and small walks over waits. */
#include "waits/waits.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/search.h"
#include "waits/waits_int.h"

#define DEFAULT_VISITS 4000000

uint32_t wait_after(const struct model *m, uint32_t t, uint64_t a)
{
	const struct thread *th = &m->threads[t];
	const struct wait *waits = m->waits + th->first_wait;

	return th->first_wait +
	       (uint32_t)SORTED_PREFIX(waits, th->wait_len, it, it->end_ns <= a);
}

static uint64_t overlap(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t lo = a > c ? a : c, hi = b < d ? b : d;

	return hi > lo ? hi - lo : 0;
}

void thread_states(const struct model *m, uint32_t t, uint64_t a, uint64_t b, uint64_t *st)
{
	const struct thread *th = &m->threads[t];
	uint32_t i = wait_after(m, t, a), stop = th->first_wait + th->wait_len;
	uint64_t off = 0, sleep, ready, seen = overlap(a, b, th->view_begin_ns, th->view_end_ns);

	for (; i < stop && m->waits[i].off_ns < b; i++) {
		const struct wait *w = &m->waits[i];
		uint64_t woken = w->wake_ns ? w->wake_ns : w->end_ns;

		sleep = overlap(w->off_ns, woken, a, b);
		ready = overlap(woken, w->end_ns, a, b);
		st[ST_WAIT + w->cls] += sleep;
		st[ST_RUNQ] += ready;
		off += sleep + ready;
	}
	st[ST_RUN] += seen > off ? seen - off : 0;
}

static void cut_to_window(struct engine *e)
{
	const struct model *m = e->m;

	e->from_ns = m->view_begin_ns;
	e->r->part = m->kept_ns ? (double)m->kept_ns / (double)(m->end_ns - m->begin_ns) : 1;
}

uint64_t wait_real_ns(const struct wait *w)
{
	uint64_t ready_ns = w->wake_ns ? w->end_ns - w->wake_ns : 0;

	return w->real_end_ns - w->real_off_ns - ready_ns;
}

static void debts_find(struct engine *e)
{
	const struct model *m = e->m;

	for (size_t i = 0; i < m->conn_first_cnt; i++) {
		const struct ev_conn *c = &m->conns_first[i];
		uint32_t p = model_proc_by_tgid(m, c->tgid);

		if (p != NO_IDX && c->role == ROLE_SERVER && c->owe_reply)
			e->owes[p] = true;
	}
}

unsigned wait_open(const struct engine *e, const struct wait *w)
{
	uint32_t proc = e->m->threads[w->thread].proc;

	if (e->tinfo[w->thread].asleep)
		return w->own_open ? w->own_open : 1;
	if (e->parked[w - e->m->waits])
		return 0;
	if (w->own_open || !(w->flags & WAITF_BEFORE_START) || proc == NO_IDX)
		return w->own_open;
	return e->owes[proc] && e->tinfo[w->thread].reads &&
	       (w->cls == WAIT_FUTEX || w->cls == WAIT_TIMER || w->cls == WAIT_SYSV);
}

/* A program that asks one service and is asked by nobody: what the network ends is an answer. */
static void asks_find(struct engine *e)
{
	const struct model *m = e->m;
	bool *more = xcalloc(m->proc_cnt + 1, sizeof(*more));

	BUG_ON(!more);
	memset(e->asks, 0xff, (m->proc_cnt + 1) * sizeof(*e->asks));
	for (size_t i = 0; i < m->end_cnt; i++) {
		uint32_t p = m->ends[i].proc;

		if (p == NO_IDX)
			continue;
		more[p] |= e->asks[p] != NO_IDX || m->ends[i].role != ROLE_CLIENT;
		e->asks[p] = more[p] ? NO_IDX : (uint32_t)i;
	}
	free(more);
}

/* The first process of a name stands for all of its siblings. */
static void families_find(struct engine *e)
{
	const struct model *m = e->m;
	struct hmap first = { 0 };

	for (uint32_t i = 0; i < m->proc_cnt; i++) {
		uint64_t key = 14695981039346656037ULL, *slot;

		for (const char *s = m->procs[i].comm; *s; s++)
			key = (key ^ (unsigned char)*s) * 1099511628211ULL;
		slot = hmap_slot(&first, key);
		if (!*slot)
			*slot = i + 1;
		e->family[i] = *slot - 1;
	}
	hmap_release(&first);
}

struct waits_result *waits_analyse(const struct model *m, const struct waits_opts *opts,
				   struct arena *arena)
{
	struct waits_result *r = ARENA_NEW(arena, struct waits_result);
	struct engine e = { .m = m, .r = r, .arena = arena };
	struct arena tmp = { 0 };

	e.max_visits = opts && opts->max_visits ? opts->max_visits : DEFAULT_VISITS;
	e.by_wait = opts && opts->by_wait;
	e.max_depth = WAITS_MAX_DEPTH;
	e.tinfo = ARENA_ARRAY(&tmp, struct tinfo, m->thread_cnt + 1);
	e.wait_lock = ARENA_ARRAY(&tmp, uint32_t, m->wait_cnt + 1);
	e.look_begin = ARENA_ARRAY(&tmp, uint32_t, m->wait_cnt + 1);
	e.look_end = ARENA_ARRAY(&tmp, uint32_t, m->wait_cnt + 1);
	e.parked = ARENA_ARRAY(&tmp, bool, m->wait_cnt + 1);
	e.sets = ARENA_ARRAY(&tmp, uint8_t, m->res_cnt + 1);
	e.at_work = ARENA_ARRAY(&tmp, bool, m->proc_cnt + 1);
	e.asks = ARENA_ARRAY(&tmp, uint32_t, m->proc_cnt + 1);
	e.owes = ARENA_ARRAY(&tmp, bool, m->proc_cnt + 1);
	e.family = ARENA_ARRAY(&tmp, uint32_t, m->proc_cnt + 1);
	e.place = ARENA_ARRAY(&tmp, uint32_t, m->res_cnt + 1);
	e.runq = ARENA_ARRAY(&tmp, struct runq_share, m->proc_cnt + 1);
	memset(e.wait_lock, 0xff, (m->wait_cnt + 1) * sizeof(*e.wait_lock));
	r->threads = ARENA_ARRAY(arena, struct wthread, m->thread_cnt + 1);

	cut_to_window(&e);
	families_find(&e);
	asks_find(&e);
	debts_find(&e);
	places_find(&e);
	runq_shares(&e);
	looks_find(&e);
	locks_find(&e);
	parks_find(&e);
	roles_assign(&e);
	looks_find(&e); /* some show only now */
	relays_find(&e);
	virtual_locks_find(&e);
	crowds_find(&e);
	locks_finish(&e);
	groups_make(&e);
	reqs_sum(&e);
	demand_lay(&e);
	edges_sum(&e);
	cycles_find(&e);
	tail_find(&e);
	arena_release(&tmp);
	return r;
}

const char *role_name(unsigned role)
{
	static const char *const names[] = {
		[ROLE_T_NONE] = "thread",    [ROLE_T_ENTRY] = "request thread",
		[ROLE_T_LOOP] = "event loop", [ROLE_T_WORKER] = "worker",
		[ROLE_T_HELPER] = "helper",  [ROLE_T_ACCEPT] = "acceptor",
		[ROLE_T_KERNEL] = "kernel thread", [ROLE_T_IDLE] = "idle thread",
		[ROLE_T_OTHER] = "thread",
	};

	return role < sizeof(names) / sizeof(names[0]) ? names[role] : "thread";
}

const char *cause_name(unsigned kind)
{
	static const char *const names[CAUSE_CNT] = {
		[CAUSE_UNSEEN] = "unseen",	 [CAUSE_RUN] = "run",
		[CAUSE_RUNQ_SELF] = "runq-self", [CAUSE_RUNQ_OTHER] = "runq-other",
		[CAUSE_RUNQ_QUOTA] = "runq-quota", [CAUSE_LOCK] = "lock",
		[CAUSE_DISK] = "disk",		 [CAUSE_FSYNC] = "fsync",
		[CAUSE_MEMORY] = "memory",	 [CAUSE_EXTERNAL] = "external",
		[CAUSE_TIMER] = "timer",	 [CAUSE_CLIENT] = "client",
		[CAUSE_IDLE] = "idle",		 [CAUSE_KLOCK] = "kernel-lock",
		[CAUSE_QUEUE] = "queue",	 [CAUSE_CYCLE] = "cycle",
		[CAUSE_CHILD] = "child",	 [CAUSE_OTHER] = "other",
		[CAUSE_STOPPED] = "stopped",
	};

	return kind < CAUSE_CNT ? names[kind] : "unseen";
}

const char *cause_words(unsigned kind)
{
	static const char *const words[CAUSE_CNT] = {
		[CAUSE_UNSEEN] = "in what was not seen",
		[CAUSE_RUN] = "running",
		[CAUSE_RUNQ_SELF] = "waiting for a CPU that its own threads use",
		[CAUSE_RUNQ_OTHER] = "waiting for a CPU that others use",
		[CAUSE_RUNQ_QUOTA] = "waiting for CPU quota",
		[CAUSE_LOCK] = "waiting for locks",
		[CAUSE_DISK] = "waiting for the disk",
		[CAUSE_FSYNC] = "in fsync",
		[CAUSE_MEMORY] = "waiting for memory",
		[CAUSE_EXTERNAL] = "waiting for a remote host",
		[CAUSE_TIMER] = "sleeping on timers",
		[CAUSE_CLIENT] = "waiting for clients",
		[CAUSE_IDLE] = "waiting for work",
		[CAUSE_KLOCK] = "waiting for kernel locks",
		[CAUSE_QUEUE] = "unread in a queue",
		[CAUSE_CYCLE] = "in a deadlock",
		[CAUSE_CHILD] = "waiting for a child process",
		[CAUSE_OTHER] = "in other waits",
		[CAUSE_STOPPED] = "stopped",
	};

	return words[kind < CAUSE_CNT ? kind : CAUSE_UNSEEN];
}
