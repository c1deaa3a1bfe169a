/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that runs on and on while somebody waits for it, and processes that a
 * signal ended meanwhile.  Neither is load: more CPU or fewer requests end no
 * loop, so this is asked before the sums are.
 *
 * Running on: since some moment it neither slept nor used a socket nor woke
 * anybody, nor died by itself, and samples found it running.  A thread under full
 * load gives such signs of life with each request; one whose process owes nobody
 * an answer for as long computes, which is its right.
 */
#include <string.h>

#include "model/stack.h"
#include "verdict/chain/step_functions.h"
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/cpu_users.h"
#include "verdict/findings/findings.h"
#include "verdict/findings/next_step.h"

/* A watchdog allows a second and more; what is shorter the slow requests tell. */
#define SPIN_MIN_NS 1e9
/* A loop that takes long again and again takes no longer than this the next time. */
#define SPIN_TIMES 4
/* A wait as long as this is rest; shorter ones, as for memory or a lock, part no loop. */
#define REST_NS 10000000u
/* Running or runnable for this part of it. */
#define RUNS_MIN 0.7
/* Somebody waits for most of it. */
#define WAITS_MIN 0.8
/* Share of the demand to be the verdict; else one finding beside it. */
#define SHARE_MIN 0.3
/* It has to last for this part of the watch to be beyond doubt. */
#define SURE_PART 0.5

struct waiting { uint32_t cnt; double oldest_ns; };

struct spin {
	uint32_t thread;	/* NO_IDX: none */
	double ns;		/* at least for so long */
	bool from_start;	/* since before the watch began */
	struct waiting who;
};

/* Clients that wait for an answer of the process when the watch ends. */
static struct waiting waiting_for(const struct context *k, const struct proc *p)
{
	const struct model *m = k->m;
	struct waiting owed = { 0 }, open = { 0 };

	for (size_t i = 0; i < m->conn_last_cnt; i++) {
		const struct ev_conn *c = &m->conns_last[i];

		if (c->tgid != p->tgid || c->role != ROLE_SERVER)
			continue;
		owed.cnt += c->owe_reply > c->unread_conns ? c->owe_reply : c->unread_conns;
		if (c->oldest_owe_ms * 1e6 > owed.oldest_ns)
			owed.oldest_ns = c->oldest_owe_ms * 1e6;
	}
	for (size_t i = 0; i < m->end_cnt; i++) {
		const struct end *n = &m->ends[i];

		if (n->role != ROLE_SERVER || n->proc == NO_IDX || &m->procs[n->proc] != p)
			continue;
		open.cnt += (uint32_t)n->open_now;
		if (n->open_oldest_ns > open.oldest_ns)
			open.oldest_ns = n->open_oldest_ns;
	}
	/* the same ones, counted in two ways */
	return (struct waiting){ owed.cnt > open.cnt ? owed.cnt : open.cnt,
				 owed.oldest_ns > open.oldest_ns ? owed.oldest_ns
								 : open.oldest_ns };
}

static void later(uint64_t *at, uint64_t ns)
{
	*at = ns > *at ? ns : *at;
}

/* The last time before to_ns that the thread rested, or woke another. */
static void signs_of(const struct wait *waits, size_t cnt, uint32_t thread, uint64_t to_ns,
		     uint64_t *last_ns)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct wait *w = &waits[i];

		if (w->real_end_ns > to_ns)
			continue;
		if (w->thread == thread && !(w->flags & WAITF_PREEMPTED) &&
		    w->real_end_ns >= w->real_off_ns + REST_NS)
			later(last_ns, w->real_end_ns);
		else if (w->waker == thread && w->thread != thread &&
			 !(w->flags & (WAITF_PREEMPTED | WAITF_PENDING)))
			later(last_ns, w->real_end_ns);
	}
}

/* Samples of it after from_ns, as time; where others have its CPU it is seen less. */
static double ran_ns(const struct model *m, uint32_t t, uint64_t from_ns)
{
	const struct thread *th = &m->threads[t];
	double ns = 0;

	for (size_t i = 0; i < m->sample_cnt; i++)
		if (m->samples[i].thread == t && m->samples[i].ts_ns >= from_ns)
			ns += m->samples[i].cnt * (double)m->meta.sample_ns;
	return th->ns[ST_RUN] ? ns * (1 + (double)th->ns[ST_RUNQ] / (double)th->ns[ST_RUN]) : 0;
}

/*
 * The end of what it did of its own: of one that was killed, when the kernel began
 * to wake others for its death and it waited for them to come out of their calls.
 */
static uint64_t own_end_ns(const struct model *m, const struct thread *th)
{
	const struct wait *last = th->long_len ? &m->long_waits[th->first_long + th->long_len - 1]
					       : NULL;

	if (!th->exited)
		return th->end_ns;
	if (last && last->real_end_ns + REST_NS >= th->end_ns && last->real_off_ns < th->end_ns)
		return last->real_off_ns - REST_NS;
	return th->end_ns - REST_NS;
}

static struct spin spin_of(const struct context *k, uint32_t t)
{
	const struct model *m = k->m;
	const struct thread *th = &m->threads[t];
	const struct ev_thread *l = &th->last;
	struct spin s = { .thread = t };
	uint64_t from_ns, end_ns = own_end_ns(m, th);

	if (!l->quiet_ns || l->h.ts_ns < l->quiet_ns)
		return s;
	from_ns = l->h.ts_ns - l->quiet_ns;
	later(&from_ns, th->begin_ns);
	if (end_ns < from_ns + (uint64_t)SPIN_MIN_NS)
		return s;
	signs_of(m->waits, m->wait_cnt, t, end_ns, &from_ns);
	signs_of(m->long_waits, m->long_cnt, t, end_ns, &from_ns);
	if (end_ns < from_ns + (uint64_t)SPIN_MIN_NS)
		return s;
	s.ns = (double)(end_ns - from_ns);
	s.from_start = from_ns <= th->begin_ns + REST_NS && th->begin_ns <= m->begin_ns + REST_NS;
	if (s.ns < SPIN_TIMES * (double)th->stall_max_ns && !s.from_start)
		s.ns = 0;
	else if (m->meta.sample_ns ? ran_ns(m, t, from_ns) < RUNS_MIN * s.ns : !never_rests(th))
		s.ns = 0;
	return s;
}

static bool serves(const struct model *m, uint32_t proc)
{
	for (size_t i = 0; i < m->end_cnt; i++)
		if (m->ends[i].proc == proc && m->ends[i].role == ROLE_SERVER)
			return true;
	return false;
}

/*
 * Somebody waits for it, for most of the time.  Who waited for a process that died
 * is gone with its sockets: it had clients.
 */
static bool is_waited_for(const struct model *m, const struct thread *th, const struct spin *s)
{
	if (th->exited)
		return s->who.cnt || serves(m, th->proc);
	return s->who.cnt && s->who.oldest_ns >= WAITS_MIN * s->ns;
}

/* The longest of those that somebody waits for. */
static struct spin spin_find(const struct context *k, const struct proc *only)
{
	const struct model *m = k->m;
	struct spin best = { .thread = NO_IDX };

	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		const struct thread *th = &m->threads[t];
		struct spin s;

		if (!th->tracked || !thread_is_target(m, t) ||
		    (only && &m->procs[th->proc] != only) ||
		    (th->exited && !m->procs[th->proc].died_of))
			continue;
		s = spin_of(k, t);
		if (s.ns <= best.ns)
			continue;
		s.who = waiting_for(k, &m->procs[th->proc]);
		if (!is_waited_for(m, th, &s))
			continue;
		if (s.from_start && s.who.oldest_ns > s.ns)
			s.ns = s.who.oldest_ns;
		best = s;
	}
	return best;
}

static const char *clients_words(struct context *k, const struct waiting *w)
{
	return arena_printf(k->arena, "%u request%s wait%s for an answer, the oldest for %s",
			    w->cnt, w->cnt == 1 ? "" : "s", w->cnt == 1 ? "s" : "",
			    ns_text(k, w->oldest_ns));
}

/* ", in f ← g", where its samples say so; the step is what functions_add fills. */
static const char *where_words(struct context *k, struct finding *f, const struct spin *s)
{
	const struct step_fns *fns;

	f->chain = ARENA_NEW(k->arena, struct step);
	f->chain_len = 1;
	f->chain[0] = (struct step){
		.thread = s->thread, .who = party_of(k->m, s->thread), .like_cnt = 1,
		.role = role_name(k->w->threads[s->thread].role), .doing = "runs",
		.resource = "", .res_kind = "", .share = f->share, .res = NO_IDX,
		.does = STEP_RUNS };
	functions_add(k, f);
	fns = f->chain[0].fn_cnt ? &f->chain[0].fns[0] : NULL;
	if (!fns || !fns->name_cnt)
		return "";
	return arena_printf(k->arena, " in %s%s%s", fns->names[0],
			    fns->name_cnt > 1 ? " ← " : "", fns->name_cnt > 1 ? fns->names[1] : "");
}

static double share_of(const struct context *k, const struct spin *s)
{
	double open_ns = s->who.cnt * (s->ns < k->window_ns ? s->ns : k->window_ns);

	return k->demand_ns <= open_ns ? 1 : open_ns / k->demand_ns;
}

static struct finding *finding_new(struct verdict *v, unsigned cls)
{
	struct finding *f = &v->findings[v->finding_cnt++];

	*f = (struct finding){ .cls = (uint8_t)cls, .share = 1, .resource = "",
			       .res_kind = "" };
	f->culprit.comm = "";
	return f;
}

static bool find_endless(struct context *k, struct verdict *v)
{
	struct spin s = spin_find(k, NULL);
	const struct thread *th;
	struct finding *f;
	const char *where;

	if (s.thread == NO_IDX || share_of(k, &s) < SHARE_MIN)
		return false;
	th = &k->m->threads[s.thread];
	f = finding_new(v, FIND_ENDLESS);
	f->share = share_of(k, &s);
	if (s.ns < SURE_PART * k->window_ns) {
		f->lacks = 1;
		f->lack = "it began late in the watch, and may be a long computation";
	}
	f->culprit = party_of(k->m, s.thread);
	where = where_words(k, f, &s);
	f->resource = arena_printf(k->arena, "for %s%s", ns_text(k, s.ns), where);
	f->summary = arena_printf(k->arena, "%s has run for %s%s%s and answered nobody; %s.",
				  thread_label(k, s.thread), ns_text(k, s.ns),
				  s.from_start ? " and more," : "", where,
				  clients_words(k, &s.who));
	say(k, f, "in that time it did not sleep, use a socket or wake another thread%s",
	    s.from_start ? "; it began before the watch did" : "");
	say_figures(k, f, "running {}, waiting for a CPU {} of the watch",
		    N_SHARE("running", part_of(th->ns[ST_RUN], th->end_ns - th->begin_ns)),
		    N_SHARE("waiting_for_cpu",
			    part_of(th->ns[ST_RUNQ], th->end_ns - th->begin_ns)));
	return true;
}

static const char *signal_words(struct context *k, uint32_t nr)
{
	const char *abbrev = sigabbrev_np((int)nr);

	return abbrev ? arena_printf(k->arena, "signal %u (SIG%s)", nr, abbrev)
		      : arena_printf(k->arena, "signal %u", nr);
}

/* Somebody asked it to end, and it was not kept from it. */
static bool is_asked_to_end(const struct proc *p)
{
	return p->died_of == 1 || p->died_of == 2 || p->died_of == 15;
}

static bool find_died(struct context *k, struct verdict *v)
{
	const struct proc *dead = NULL;
	uint32_t left = 0;
	struct spin s;
	struct finding *f;
	const char *of, *where = "";

	for (size_t i = 0; i < k->m->proc_cnt; i++) {
		const struct proc *p = &k->m->procs[i];

		left += p->target && !p->died_of;
		if (p->target && p->died_of && (!dead || p->died_ns > dead->died_ns))
			dead = p;
	}
	if (!dead)
		return false;
	s = spin_find(k, dead);
	if (s.thread == NO_IDX && (left || is_asked_to_end(dead)))
		return false;
	f = finding_new(v, FIND_DIED);
	of = signal_words(k, dead->died_of);
	f->culprit = (struct party){ .pid = dead->tgid, .tid = dead->tgid, .comm = dead->comm };
	if (s.thread != NO_IDX) {
		f->culprit = party_of(k->m, s.thread);
		where = where_words(k, f, &s);
	}
	f->resource = s.thread == NO_IDX ? of
					 : arena_printf(k->arena, "%s after %s%s", of,
							ns_text(k, s.ns), where);
	f->summary = arena_printf(k->arena,
				  "%s (pid %u) died of %s %s after the watch began%s%s%s%s.",
				  dead->comm, dead->tgid, of,
				  ns_text(k, (double)(dead->died_ns - k->m->begin_ns)),
				  s.thread == NO_IDX ? "" : "; it had run for ",
				  s.thread == NO_IDX ? "" : ns_text(k, s.ns),
				  where, s.thread == NO_IDX ? "" : " and answered nobody");
	if (s.thread != NO_IDX && s.who.cnt)
		say_figures(k, f, "{} request{} wait{} for an answer, the oldest for {}",
			    N_CNT("waiting_requests", s.who.cnt),
			    N_WORD(s.who.cnt == 1 ? "" : "s"), N_WORD(s.who.cnt == 1 ? "s" : ""),
			    N_NS("oldest", s.who.oldest_ns));
	return true;
}

static const char *next_endless(struct context *k, const struct finding *f, const struct cand *c)
{
	(void)c;
	return arena_printf(k->arena, "see where it loops (heldup stacks -p %u), then restart it: "
			    "%s runs %s", f->culprit.pid, step_who(k, f, "it"),
			    step_what(f, "on"));
}

static const char *next_died(struct context *k, const struct finding *f, const struct cand *c)
{
	(void)c;
	return arena_printf(k->arena, "read its log and its core dump (coredumpctl info %u): it "
			    "died of %s", f->culprit.pid, step_what(f, "a signal"));
}

const struct finding_def finding_endless = {
	.cls = FIND_ENDLESS,
	.name = "endless-loop",
	.title = "runs without answering",
	.find = find_endless,
	.refuted_if = "it comes to an end by itself: then it is a long computation",
	.next_step = next_endless,
	.is_certain = true,
};

const struct finding_def finding_died = {
	.cls = FIND_DIED,
	.name = "died",
	.title = "died",
	.find = find_died,
	.refuted_if = "someone sent the signal for another reason: a watchdog says so in its log",
	.next_step = next_died,
	.is_certain = true,
	.stands_alone = true,
};
