/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/chain/chain.h"

#include <string.h>

#include "base/alike.h"
#include "verdict/context/conversations.h"
#include "verdict/context/say.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/lock_facts.h"
#include "verdict/evidence/whose_request.h"

#define CHAIN_MAX 8

struct step *step_add(struct context *k, struct finding *f, double share)
{
	struct step *s = &f->chain[f->chain_len++];

	s->thread = s->res = NO_IDX;
	s->who.comm = "";
	s->role = s->doing = s->resource = s->res_kind = "";
	s->like_cnt = 1;
	s->share = share > 1 ? 1 : share;
	if (k->turns > 0)
		s->per_request_ns = s->share * k->demand_ns / k->turns;
	return s;
}

void step_res(const struct context *k, struct step *s, uint32_t res)
{
	s->res = res;
	if (res == NO_IDX)
		return;
	s->resource = k->m->res[res].name;
	s->res_kind = res_kind_name(k->m->res[res].kind);
}

/* A wait for lock l, which a function may name better than what the thread sleeps on. */
static void step_lock(struct context *k, struct step *s, uint32_t res, uint32_t l)
{
	const char *name = l == NO_IDX ? "" : lock_name(k, &k->w->locks[l]);

	step_res(k, s, res);
	if (!*name)
		return;
	s->resource = name;
	s->doing = arena_printf(k->arena, "waits for a %s", name);
}

/* A crowd that waits one behind the other is one step, not many. */
bool chain_alike(const struct context *k, uint32_t a, uint32_t b)
{
	if (a == NO_IDX || b == NO_IDX)
		return false;
	return k->w->threads[a].role == k->w->threads[b].role &&
	       named_alike(k->m->threads[a].comm, k->m->threads[b].comm);
}

static uint32_t like_cnt(const struct context *k, uint32_t thread)
{
	const struct wgroup *a = &k->w->groups[k->w->threads[thread].group];
	uint32_t cnt = 0;

	if (!k->m->threads[thread].tracked)
		return 1;
	for (size_t i = 0; i < k->w->group_cnt; i++) {
		const struct wgroup *g = &k->w->groups[i];

		if (g->role == a->role && named_alike(g->comm, a->comm))
			cnt += g->thread_cnt;
	}
	return cnt ? cnt : 1;
}

struct step *step_thread(struct context *k, struct finding *f, uint32_t t, double share)
{
	struct step *s = step_add(k, f, share);

	s->thread = t;
	s->who = party_of(k->m, t);
	s->role = role_name(k->w->threads[t].role);
	s->like_cnt = like_cnt(k, t);
	return s;
}

/* The thread that clients of proc meet: the one with most demand. */
static uint32_t entry_of(const struct context *k, uint32_t proc)
{
	uint32_t best = NO_IDX;
	uint64_t ns = 0;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		unsigned role = k->w->threads[t].role;
		uint64_t d = k->w->threads[t].demand_ns + 1;

		if (!k->m->threads[t].tracked || k->m->threads[t].proc != proc)
			continue;
		if (role == ROLE_T_ENTRY || role == ROLE_T_LOOP)
			d += k->m->end_ns - k->m->begin_ns; /* they come before helpers */
		if (d > ns) {
			ns = d;
			best = t;
		}
	}
	return best;
}

/* The client it waits for: what it sleeps on is its own end, called after its own port. */
static void step_client(struct context *k, struct step *s, const struct cause *c)
{
	const struct res *r = c->res != NO_IDX ? &k->m->res[c->res] : NULL;
	uint32_t p = c->thread != NO_IDX ? k->m->threads[c->thread].proc : NO_IDX;
	uint32_t pid = r && r->kind == RES_SOCKET ? r->peer_tgid : 0;
	const char *comm = pid ? r->peer_comm : "";

	if (!pid && p != NO_IDX)
		pid = only_client(k, &k->m->procs[p], &comm);
	s->res_kind = pid ? "process" : "";
	s->resource = pid ? arena_printf(k->arena, "%s (pid %u)", comm, pid) : "";
}

/* The words for a thread at the end of the chain. */
static const char *ending(const struct cause *c)
{
	switch (c->kind) {
	case CAUSE_RUN:
		return "computes";
	case CAUSE_RUNQ_SELF:
		return "waits for a CPU that the process itself keeps busy";
	case CAUSE_RUNQ_OTHER:
		return "waits for a CPU that others keep busy";
	case CAUSE_RUNQ_QUOTA:
		return "is held back by the CPU quota of its cgroup";
	case CAUSE_DISK:
		return "waits for the disk";
	case CAUSE_FSYNC:
		return "waits for its writes to reach the disk (fsync)";
	case CAUSE_MEMORY:
		return "waits for memory (page fault or reclaim)";
	case CAUSE_EXTERNAL:
		return "waits for an answer from";
	case CAUSE_TIMER:
		return "sleeps on a timer";
	case CAUSE_CLIENT:
		return "waits for its client";
	case CAUSE_LOCK:
	case CAUSE_KLOCK:
		return "waits for a lock";
	case CAUSE_CYCLE:
		return "waits for a thread that waits for it";
	case CAUSE_QUEUE:
		return "has requests open that nobody works on";
	case CAUSE_IDLE:
		return "is idle";
	case CAUSE_CHILD:
		return "waits for a child process";
	case CAUSE_STOPPED:
		return "is stopped by a signal, a debugger or a freezer";
	default:
		break;
	}
	return "waits, for what is not seen";
}

/* Which of the thread's stacks tell of that. */
static void ending_does(struct step *s, const struct cause *c)
{
	static const uint32_t states[CAUSE_CNT] = {
		[CAUSE_LOCK] = 1 << WAIT_FUTEX | 1 << WAIT_FLOCK | 1 << WAIT_SYSV,
		[CAUSE_CYCLE] = 1 << WAIT_FUTEX | 1 << WAIT_FLOCK | 1 << WAIT_SYSV,
		[CAUSE_DISK] = 1 << WAIT_FILE,
		[CAUSE_FSYNC] = 1 << WAIT_FSYNC | 1 << WAIT_DIRTY,
		[CAUSE_MEMORY] = 1 << WAIT_FAULT | 1 << WAIT_RECLAIM,
		[CAUSE_EXTERNAL] = 1 << WAIT_SOCKET | 1 << WAIT_EPOLL | 1 << WAIT_POLL,
		[CAUSE_CLIENT] = 1 << WAIT_SOCKET | 1 << WAIT_EPOLL | 1 << WAIT_POLL,
		[CAUSE_TIMER] = 1 << WAIT_TIMER,
		[CAUSE_KLOCK] = 1 << WAIT_KLOCK,
		[CAUSE_CHILD] = 1 << WAIT_CHILD,
		[CAUSE_STOPPED] = 1 << WAIT_STOPPED,
	};

	/* it waits for others there as well, in other functions */
	if (c->kind == CAUSE_TIMER)
		s->enders = 1 << WAKER_TIMER | 1 << WAKER_SELF | 1 << WAKER_NONE;
	switch (c->kind) {
	case CAUSE_RUN:
	case CAUSE_RUNQ_SELF:
	case CAUSE_RUNQ_OTHER:
	case CAUSE_RUNQ_QUOTA:
		s->does = STEP_RUNS;
		return;
	case CAUSE_IDLE:
	case CAUSE_QUEUE:
		return;
	default:
		s->does = STEP_WAITS;
		s->states = states[c->kind];
	}
}

static const char *passing(const struct context *k, uint32_t res, bool lock)
{
	if (lock)
		return "waits for a lock";
	if (res == NO_IDX)
		return "waits for";
	switch (k->m->res[res].kind) {
	case RES_FUTEX:
		return "waits to be handed a result";
	case RES_PIPE:
		return "waits on a pipe";
	case RES_SOCKET:
		return "waits for an answer from";
	case RES_EPOLL:
	case RES_POLLSET:
		return "sleeps in its event loop until";
	default:
		return "waits for";
	}
}

/* The heaviest edge from t to a thread not in the chain yet. */
static const struct wedge *next_edge(const struct context *k, const struct finding *f, uint32_t t)
{
	for (size_t i = 0; i < k->w->edge_cnt; i++) {
		const struct wedge *e = &k->w->edges[i];
		bool seen = false;

		if (e->from != t || e->to == NO_IDX || !k->m->threads[e->to].tracked)
			continue;
		for (size_t j = 0; j < f->chain_len; j++)
			seen |= f->chain[j].thread == e->to ||
				chain_alike(k, f->chain[j].thread, e->to);
		if (!seen)
			return e;
	}
	return NULL;
}

/* Hops between the entry and the last but one, along the heaviest edges. */
static void hops_add(struct context *k, struct finding *f, uint32_t from, uint32_t to, double share)
{
	for (uint32_t t = from; t != to && f->chain_len < CHAIN_MAX - 3;) {
		const struct wedge *e = next_edge(k, f, t);

		if (!e || e->to == to)
			return;
		f->chain[f->chain_len - 1].doing = passing(k, e->res, false);
		f->chain[f->chain_len - 1].does = STEP_WAITS;
		step_res(k, &f->chain[f->chain_len - 1], e->res);
		t = e->to;
		step_thread(k, f, t, share);
	}
}

/*
 * The last hop waits on a conversation, behind a lock met before: then two threads
 * that are alike stand one behind the other, one for the lock, and one that has it.
 */
static bool waits_behind_lock(const struct context *k, const struct cause *c)
{
	const struct res *r = c->via_res != NO_IDX ? &k->m->res[c->via_res] : NULL;

	return r && (r->kind == RES_SOCKET || r->kind == RES_PIPE) && c->via != NO_IDX &&
	       c->lock != NO_IDX && k->m->res[k->w->locks[c->lock].res].kind != r->kind;
}

/* Another that waits where t is the one that has it; t where there is none. */
static uint32_t another_like(const struct context *k, uint32_t t)
{
	for (uint32_t i = 0; i < k->m->thread_cnt; i++) {
		if (i != t && k->m->threads[i].tracked && thread_is_target(k->m, i) &&
		    chain_alike(k, i, t))
			return i;
	}
	return t;
}

/* The hop before the last, on the last step so far. */
static void passing_steps(struct context *k, struct finding *f, const struct cause *top)
{
	struct step *s = &f->chain[f->chain_len - 1];
	bool behind = waits_behind_lock(k, top);

	if (behind) {
		if (s->thread == top->via)
			s->thread = another_like(k, top->via);
		s->who = party_of(k->m, s->thread);
		s->doing = passing(k, k->w->locks[top->lock].res, true);
		s->does = STEP_WAITS;
		step_lock(k, s, k->w->locks[top->lock].res, top->lock);
		s = step_thread(k, f, top->via, f->share);
	}
	s->doing = passing(k, top->via_res, top->lock != NO_IDX && !behind);
	s->does = STEP_WAITS;
	step_lock(k, s, top->via_res, behind ? NO_IDX : top->lock);
}

bool chain_begin(struct context *k, struct finding *f, const struct cand *c)
{
	const struct cause *top = c->top;
	uint32_t entry, last;
	struct step *s;

	f->chain = ARENA_ARRAY(k->arena, struct step, CHAIN_MAX + 2);
	if (!top)
		return false;
	last = top->thread;
	entry = top->entry_proc != NO_IDX ? entry_of(k, top->entry_proc) : last;
	/* a thread of the same kind as the entry stands for it */
	/* the answer was awaited from that thread: who asked is one of ours */
	if (top->kind == CAUSE_EXTERNAL && top->depth == 0 && entry != NO_IDX && last != NO_IDX &&
	    !thread_is_target(k->m, last))
		last = entry;
	if (last != NO_IDX && (top->depth == 0 || entry == NO_IDX))
		entry = last;
	/* where the hop before the last is a client-facing thread itself, begin with it */
	if (top->via != NO_IDX && thread_is_target(k->m, top->via) &&
	    (entry == last || top->depth == 1 || chain_alike(k, entry, top->via)))
		entry = top->via;
	if (entry == NO_IDX)
		return false;
	step_thread(k, f, entry, 1);
	if (top->via != NO_IDX && top->via != entry && top->via != last) {
		hops_add(k, f, entry, top->via, f->share);
		step_thread(k, f, top->via, f->share);
	}
	if (last != NO_IDX && last != entry) {
		passing_steps(k, f, top);
		step_thread(k, f, last, f->share);
	}
	s = &f->chain[f->chain_len - 1];
	s->doing = ending(top);
	ending_does(s, top);
	if (top->kind == CAUSE_LOCK)
		step_lock(k, s, top->res, top->lock);
	else
		step_res(k, s, top->res);
	if (top->kind == CAUSE_CLIENT)
		step_client(k, s, top);
	/* of a conversation that hangs no socket was seen */
	if (top->res == NO_IDX && top->end != NO_IDX) {
		s->resource = k->m->ends[top->end].name;
		s->res_kind = "socket";
	}
	s->cnt = top->cnt;
	return true;
}
