/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/rank/stuck.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "functions/units/app_frames.h"
#include "functions/units/pending_wait.h"
#include "functions/units/work_waits_fn.h"
#include "model/calls/calls.h"
#include "model/stack.h"

/*
 * Most threads of a server rest all window long, and one that was never woken
 * looks the same: these are to come first only where nothing else was found.
 * Like others that wait for work at the same place.
 */
#define WEIGHT_IDLE RESTS_WEIGHT
/* In a condition variable, and did nothing else: a pool's spare thread, or one never woken. */
#define WEIGHT_COND 0.01
/* A read or a futex all window long, and nothing known of it. */
#define WEIGHT_DOUBT 0.05
/*
 * Either way it only rests where requests are known to wait and none does there:
 * but not in the midst of what others do for their work, for a request that
 * was read before the window is not known.
 */

/* Not making calls for so long is a spin, when the thread never did so before. */
#define SPIN_MIN_NS UINT64_C(200000000)
#define SPIN_TIMES 4
#define GAPS_ENOUGH 20 /* pauses of a thread all of whose calls are known */
/* Seen running, or said to wait for a CPU, in at least this part of it. */
#define SPIN_RUNS 0.5
/* For unknown states: a thread that makes no call can only wait for a CPU, or a page. */
#define SPIN_RUNS_ALONE 0.2
#define QUIET_STEP_NS UINT64_C(2000000) /* the time without sockets comes in milliseconds */
/* It ran, but always does so without calls as far as is known: it computes. */
#define WEIGHT_COMPUTES 0.3
#define WEIGHT_UNSEEN 0.3 /* no samples: it may as well sleep in a page fault */

enum wait_api { API_NONE, API_LOCK, API_COND };

/* Object that the C library's function on the stack waits for; POSIX names. */
static enum wait_api api_of(const struct appfns *fns, uint32_t stack)
{
	static const struct { const char *part; enum wait_api api; } rows[] = {
		{"cond_", API_COND}, {"mutex", API_LOCK}, {"rwlock", API_LOCK},
		{"lll_lock", API_LOCK}, {"spin_lock", API_LOCK}, {"sem_", API_COND},
		{"pthread_join", API_COND}, {"barrier_", API_LOCK},
	};
	const struct stack_path *path = &fns->paths[stack];

	for (uint32_t i = path->user_cnt; i-- > 0;) {
		const struct stack_fn *fn = &fns->fns[path->fns[i]];

		if (!appfn_is_system(fn))
			return API_NONE;
		for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
			if (strstr(fn->name, rows[k].part))
				return rows[k].api;
	}
	return API_NONE;
}

static const struct call *last_call(const struct model *m, uint32_t thread)
{
	const struct call_run *run = &m->calls->runs[thread];

	return run->cnt ? &m->calls->calls[run->first + run->cnt - 1] : NULL;
}

static const struct call *call_before(const struct judge *j, const struct call *c)
{
	const struct call_run *run = &j->p->m->calls->runs[c->thread];
	const struct call *first = &j->p->m->calls->calls[run->first];

	while (c-- > first)
		if (j->p->dims.of_nr[c->nr] != DIM_NONE)
			return c;
	return NULL;
}

static bool is_a_home(const struct profile *p, uint64_t key)
{
	for (size_t t = 0; t < p->m->thread_cnt; t++)
		if (key_is_home(&p->units.homes[t], key, true))
			return true;
	return false;
}

/* It did nothing else all window long; a futex may wait with a limit, and again. */
static bool only_waits(const struct profile *p, const struct call *c)
{
	const struct call_run *run = &p->m->calls->runs[c->thread];

	for (uint32_t i = run->first; i < run->first + run->cnt; i++) {
		unsigned nr = p->m->calls->calls[i].nr;

		if (nr != c->nr && p->dims.of_nr[nr] != DIM_NONE)
			return false;
	}
	return true;
}

/* Without a stack, of a futex: a mutex has an owner, what is posted or signalled none. */
static enum wait_api api_of_wait(const struct model *m, uint32_t thread)
{
	const struct wait *w = pending_wait(m, thread);

	if (!w)
		return API_NONE;
	return w->owner_tid ? API_LOCK : API_COND;
}

/* By function: was it on the stack of a call at work or of a sample, or at home? */
enum { SEEN_AT_WORK = 1 << 0, SEEN_AT_HOME = 1 << 1 };

struct weigher {
	const struct judge *j;
	const struct homes *homes;
	uint8_t *seen;		/* by fn; NULL: not needed */
};

static void stack_seen(const struct weigher *w, uint32_t stack, uint8_t flags)
{
	const struct app_stack *st = &w->j->p->fns->stacks[stack];

	for (uint32_t i = 0; i < st->cnt; i++)
		w->seen[st->frames[i].fn] |= flags;
}

static void seen_fill(const struct weigher *w)
{
	const struct profile *p = w->j->p;
	const struct units_opts o = {.dims = &p->dims, .fns = p->fns};
	CLEANUP_FREE uint8_t *stacks = xcalloc(p->m->stack_cnt + 1, sizeof(*stacks));

	for (size_t i = 0; i < p->m->calls->cnt; i++) {
		const struct call *c = &p->m->calls->calls[i];
		bool home;

		if (c->stack == NO_IDX || c->result == CALL_UNFINISHED)
			continue;
		home = key_is_home(&p->units.homes[c->thread], call_key(&o, c, NULL), false);
		stacks[c->stack] |= home ? SEEN_AT_HOME : SEEN_AT_WORK;
	}
	/* of work that makes only fast calls no stack was taken but by the clock */
	for (size_t i = 0; i < p->m->sample_cnt; i++)
		if (p->m->samples[i].stack != NO_IDX)
			stacks[p->m->samples[i].stack] |= SEEN_AT_WORK;
	for (uint32_t i = 0; i < p->m->stack_cnt; i++)
		if (stacks[i])
			stack_seen(w, i, stacks[i]);
}

/* Was it called by one that others call for their work, and for nothing else? */
static bool in_midst_of_work(const struct weigher *w, uint32_t stack)
{
	const struct appfns *fns = w->j->p->fns;
	const struct app_stack *st = fns && w->seen ? &fns->stacks[stack] : NULL;

	for (uint32_t i = 0; st && i < st->cnt; i++)
		if (w->seen[st->frames[i].fn] == SEEN_AT_WORK)
			return true;
	return false;
}

static double weight_of(const struct weigher *w, const struct call *c)
{
	const struct judge *j = w->j;
	const struct profile *p = j->p;
	unsigned dim = p->dims.of_nr[c->nr], cls = dim == DIM_NONE ? CALL_PLAIN : p->dims.cls[dim];
	bool resting = p->m->calls->runs[c->thread].cnt <= 1 ||
		       (cls == CALL_FUTEX && only_waits(p, c));
	uint64_t key = call_key(&(struct units_opts){.dims = &p->dims, .fns = p->fns}, c,
				call_before(j, c));
	enum wait_api api = API_NONE;

	if (p->fns && c->stack != NO_IDX)
		api = api_of(p->fns, c->stack);
	else if (cls == CALL_FUTEX)
		api = api_of_wait(p->m, c->thread);
	if (cls == CALL_PLAIN || api == API_LOCK)
		return 1;
	if (is_a_home(p, key))
		return WEIGHT_IDLE;
	if (resting && cls != CALL_READ && cls != CALL_FUTEX)
		return WEIGHT_IDLE;
	if (resting && homes_nobody(w->homes, key) && !in_midst_of_work(w, c->stack))
		return WEIGHT_IDLE;
	if (resting)
		return api == API_COND ? WEIGHT_COND : WEIGHT_DOUBT;
	return 1;
}

void hangs_weigh(struct judge *j, const struct homes *homes)
{
	const struct model *m = j->p->m;
	bool asked = j->p->fns && homes->held_ns > 0;
	CLEANUP_FREE uint8_t *seen = asked ? xcalloc(j->p->fns->fn_cnt + 1, 1) : NULL;
	struct weigher w = {j, homes, seen};

	if (seen)
		seen_fill(&w);
	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		const struct call *c = last_call(m, t);

		if (c && c->result == CALL_UNFINISHED)
			j->stuck_weight[t] = weight_of(&w, c);
	}
}

/* ---- threads that run without calls */

/* Pauses are longer where only blocking calls are known: they count where there is little else. */
static uint64_t longest_gap(const struct model *m, const struct call_run *run)
{
	uint64_t most = 0, most_part = 0;
	uint32_t cnt = 0;

	for (uint32_t i = run->first + 1; i < run->first + run->cnt; i++) {
		bool part = (m->calls->calls[i - 1].flags | m->calls->calls[i].flags) & CALLF_WAIT;
		uint64_t pause_ns = calls_pause_ns(m->calls, i), *to = part ? &most_part : &most;

		*to = pause_ns > *to ? pause_ns : *to;
		cnt += !part;
	}
	return cnt >= GAPS_ENOUGH || most > most_part ? most : most_part;
}

struct ran { uint64_t ns; uint32_t stack, cnt; };

/* Samples of the thread after from_ns, and the stack of the last of them. */
static struct ran ran_since(const struct blame *b, uint32_t thread, uint64_t from_ns)
{
	const struct model *m = b->p->m;
	struct ran r = {0, NO_IDX, 0};

	for (uint32_t i = b->samples ? b->sample_first[thread] : 0;
	     b->samples && i < b->sample_first[thread + 1]; i++) {
		const struct sample *s = &m->samples[b->samples[i]];

		if (s->ts_ns < from_ns)
			continue;
		r.ns += s->cnt * m->meta.sample_ns;
		r.cnt += s->cnt;
		r.stack = s->stack;
	}
	return r;
}

/* One that ended has nothing more to do, unless its process was killed in it. */
static bool is_watched(const struct model *m, const struct thread *t)
{
	return t->proc < m->proc_cnt && m->procs[t->proc].target &&
	       (!t->exited || m->procs[t->proc].died_of);
}

/* By thread: how long those wait that cannot go on before it does. */
static void waiters_sum(const struct model *m, double *ret_ns)
{
	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		const struct call *c = last_call(m, t);
		uint32_t by = c && c->result == CALL_UNFINISHED ? hangs_waits_for(m, t) : NO_IDX;

		if (by != NO_IDX)
			ret_ns[by] += (double)c->dur_ns;
	}
}

/*
 * Was it seen running for most of the time after from_ns in which samples were
 * taken?  Some recorders take them from the end of the calls on only.  Where
 * others have its CPU it is seen less: its states say by how much.
 */
static bool ran_on(const struct blame *b, uint32_t thread, uint64_t from_ns, const struct ran *ran)
{
	const struct thread *t = &b->p->m->threads[thread];
	uint64_t begin_ns = b->sampled_from_ns > from_ns ? b->sampled_from_ns : from_ns;
	uint64_t end_ns = t->exited ? t->end_ns : b->sampled_to_ns;
	bool known = t->tracked && t->ns[ST_RUN];
	double awake = known ? 1 + (double)t->ns[ST_RUNQ] / (double)t->ns[ST_RUN] : 1;
	double least = known ? SPIN_RUNS : SPIN_RUNS_ALONE;

	return ran->cnt && (end_ns <= begin_ns ||
			    (double)ran->ns * awake >= least * (double)(end_ns - begin_ns));
}

/* When it made its last call, or gave the last sign of life that is no call that blocks. */
static uint64_t quiet_since(const struct model *m, uint32_t thread, const struct call *last)
{
	const struct ev_thread *t = &m->threads[thread].last;
	uint64_t from_ns = last ? last->begin_ns + last->dur_ns : m->calls->begin_ns;
	uint64_t used_ns = t->quiet_ns && t->h.ts_ns > t->quiet_ns ? t->h.ts_ns - t->quiet_ns : 0;

	/* from its first moment on it says nothing of the time before */
	if (used_ns <= t->since_ns + QUIET_STEP_NS)
		used_ns = 0;
	return used_ns > from_ns ? used_ns : from_ns;
}

/* A client of the thread's process waits for an answer, or to be read or accepted. */
static bool clients_wait(const struct model *m, uint32_t thread)
{
	uint32_t tgid = m->threads[thread].tgid;

	for (size_t i = 0; i < m->conn_last_cnt; i++) {
		const struct ev_conn *c = &m->conns_last[i];

		if (c->tgid == tgid && c->role == ROLE_SERVER && (c->owe_reply || c->unread_conns))
			return true;
	}
	for (size_t i = 0; i < m->listen_cnt; i++)
		if (m->listens[i].e.tgid == tgid && m->listens[i].e.backlog)
			return true;
	for (size_t i = 0; i < m->end_cnt; i++)
		if (m->ends[i].proc == m->threads[thread].proc &&
		    m->ends[i].role == ROLE_SERVER && m->ends[i].open_now)
			return true;
	return false;
}

static struct spin spin_of(const struct blame *b, uint32_t thread, const double *waiters_ns)
{
	const struct model *m = b->p->m;
	const struct thread *t = &m->threads[thread];
	const struct call_run *run = &m->calls->runs[thread];
	const struct call *last = last_call(m, thread);
	struct spin s = {.thread = thread, .stack = NO_IDX, .end_ns = m->calls->end_ns};
	unsigned dim = last ? b->p->dims.of_nr[last->nr] : DIM_NONE;
	double waited_ns;
	struct ran ran;

	if (last && (last->result == CALL_UNFINISHED ||
		     (dim != DIM_NONE && b->p->dims.cls[dim] == CALL_END)))
		return s;
	if (t->exited && t->end_ns < s.end_ns)
		s.end_ns = t->end_ns;
	s.begin_ns = quiet_since(m, thread, last);
	s.quiet_ns = s.end_ns > s.begin_ns ? s.end_ns - s.begin_ns : 0;
	s.quiet_ns -= calls_away_ns(m->calls, s.begin_ns, s.end_ns);
	if (s.quiet_ns < SPIN_MIN_NS ||
	    (last && s.quiet_ns < SPIN_TIMES * longest_gap(m, run)))
		return s;
	ran = ran_since(b, thread, s.begin_ns);
	s.sampled = ran.cnt > 0;
	s.harm_ns = (double)s.quiet_ns;
	if (b->samples && !ran_on(b, thread, s.begin_ns, &ran))
		s.harm_ns = 0;
	waited_ns = s.harm_ns > 0 ? waiters_ns[thread] : 0;
	if (!b->samples)
		s.harm_ns *= last ? WEIGHT_UNSEEN : 0;
	else if (!last && waited_ns <= 0 && !clients_wait(m, thread))
		s.harm_ns *= WEIGHT_COMPUTES;
	s.harm_ns += waited_ns;
	s.stack = s.sampled ? ran.stack : last ? last->stack : NO_IDX;
	return s;
}

static void spin_blame(struct blame *b, const struct spin *s)
{
	const struct model *m = b->p->m;
	struct ran ran = ran_since(b, s->thread, s->begin_ns);
	struct site *site;

	b->harm_ns += s->harm_ns;
	b->class_harm[DEV_SPINS] += s->harm_ns;
	if (!ran.cnt) {
		site = blame_site(b, s->stack, NR_OWN, NO_IDX, false);
		site->harm_ns[DEV_SPINS] += s->harm_ns;
		site->bad_cnt++;
		return;
	}
	for (uint32_t i = b->sample_first[s->thread]; i < b->sample_first[s->thread + 1]; i++) {
		const struct sample *at = &m->samples[b->samples[i]];

		if (at->ts_ns < s->begin_ns)
			continue;
		site = blame_site(b, at->stack, NR_OWN, NO_IDX, true);
		site->harm_ns[DEV_SPINS] += s->harm_ns * at->cnt / ran.cnt;
		site->bad_cnt += at->cnt;
		b->sample_bad[b->samples[i]] = 1;
	}
}

static int cmp_spin(const void *pa, const void *pb)
{
	const struct spin *a = pa, *b = pb;

	CMP(b->harm_ns, a->harm_ns);
	CMP(a->thread, b->thread);
	return 0;
}

void hangs_find(struct blame *b, struct hangs *ret_hangs, struct arena *arena)
{
	const struct model *m = b->p->m;
	CLEANUP_FREE double *waiters_ns = xcalloc(m->thread_cnt + 1, sizeof(*waiters_ns));

	waiters_sum(m, waiters_ns);
	*ret_hangs = (struct hangs){ARENA_ARRAY(arena, struct spin, m->thread_cnt + 1), 0};
	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		struct spin s = {0};

		if (is_watched(m, &m->threads[t]))
			s = spin_of(b, t, waiters_ns);
		if (s.harm_ns <= 0)
			continue;
		spin_blame(b, &s);
		ret_hangs->spins[ret_hangs->spin_cnt++] = s;
	}
	b->hangs = ret_hangs;
	qsort(ret_hangs->spins, ret_hangs->spin_cnt, sizeof(struct spin), cmp_spin);
}
