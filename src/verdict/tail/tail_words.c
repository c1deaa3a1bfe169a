/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a stall: how many, how long, how often, what it was, and who feels it. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "verdict/context/figures.h"
#include "verdict/tail/tail_int.h"

/* Lengths that differ by less are one number. */
#define SAME_LENGTH 1.1
/* Moments listed. */
enum { MOMENTS_MAX = 6 };

static const char *in_function(struct court *k, const struct stall_finding *s, const char *verb)
{
	return *s->function ? arena_printf(k->arena, "%s %s", verb, s->function) : "";
}

static const char *lock_words(struct court *k, const struct stall_finding *s)
{
	const struct party *p = &s->f.culprit;

	if (!p->pid)
		return "a lock whose holder was not seen";
	if (p->tid == p->pid)
		return arena_printf(k->arena, "%s (pid %u) holds a lock%s", p->comm, p->pid,
				    in_function(k, s, " in"));
	return arena_printf(k->arena, "%s (tid %u of pid %u) holds a lock%s", p->comm, p->tid,
			    p->pid, in_function(k, s, " in"));
}

static const char *far_words(struct court *k, const struct stall_finding *s)
{
	const struct party *p = &s->f.culprit;
	const char *name = *s->f.resource ? s->f.resource : "a peer";

	if (p->pid)
		return arena_printf(k->arena, "waits for an answer from %s (%s, pid %u)", name,
				    p->comm, p->pid);
	return arena_printf(k->arena, "waits for an answer from %s", name);
}

/* A process that tgid forked during the stall, by its first thread; NULL none. */
static const struct thread *fork_in(const struct model *m, uint32_t tgid, const struct stall *h)
{
	for (size_t t = 0; t < m->thread_cnt; t++) {
		const struct thread *th = &m->threads[t];

		if (th->tid == th->tgid && th->tracked && m->procs[th->proc].ppid == tgid &&
		    th->begin_ns > m->begin_ns && th->begin_ns >= h->begin_ns &&
		    th->begin_ns <= h->end_ns)
			return th;
	}
	return NULL;
}

struct forks { const struct thread *last; uint32_t cnt; };

/* Of the stalls most had a fork of the one that held them: last NULL where not. */
static struct forks forks_in(const struct court *k, const struct cand *c,
			     const struct stall_finding *s)
{
	uint32_t t = c->loop != NO_IDX ? c->loop : c->top ? c->top->thread : NO_IDX;
	bool runs = s->f.cls == FIND_LOOP_BLOCKED || s->f.cls == FIND_CPU_OWN;
	struct forks f = { 0 };

	for (uint32_t i = 0; runs && t != NO_IDX && i < s->cnt; i++) {
		const struct thread *child = fork_in(k->m, k->m->threads[t].tgid, &s->stalls[i]);

		f.cnt += child != NULL;
		f.last = child ? child : f.last;
	}
	return 2 * f.cnt >= s->cnt ? f : (struct forks){ 0 };
}

static void fork_lines(struct court *k, const struct appfns *a, const struct cand *c,
		       struct stall_finding *s)
{
	struct forks f = forks_in(k, c, s);
	const char *in;

	if (!f.last)
		return;
	in = tail_runs_in(k, a, (uint32_t)(f.last - k->m->threads));
	if (*in)
		say(k, &s->f, "%s (pid %u) runs in %s", f.last->comm, f.last->tgid, in);
	say_figures(k, &s->f, "in {} of them it forked, last {}: who forks stands still until its "
		    "page tables are copied, the longer the more memory it has",
		    N_CNT("forked", f.cnt), N_WORD(arena_printf(k->arena, "%s (pid %u)",
								f.last->comm, f.last->tgid)));
	copies_line(k, &s->f);
}

static const char *computing_words(struct court *k, const struct cand *c,
				   const struct stall_finding *s)
{
	struct forks f = forks_in(k, c, s);

	return f.last ? arena_printf(k->arena, "forking %s (pid %u)", f.last->comm, f.last->tgid)
		      : "computing";
}

static const char *blocked_words(struct court *k, const struct cand *c,
				 const struct stall_finding *s)
{
	const char *does = c->top && c->top->kind == CAUSE_RUN ? computing_words(k, c, s) :
			   c->top && c->top->kind == CAUSE_TIMER ? "asleep" : "waiting";

	return arena_printf(k->arena, "event loop of %s blocked%s, %s", thread_label(k, c->loop),
			    in_function(k, s, " in"), does);
}

static const char *cpu_words(struct court *k, const struct cand *c, const struct stall_finding *s)
{
	uint32_t t = c->top ? c->top->thread : NO_IDX;

	if (s->f.cls == FIND_CPU_QUOTA)
		return "held back by the CPU quota of its cgroup";
	if (s->f.cls == FIND_CPU_NEIGHBOUR && !c->neighbour)
		return "waits for a CPU that others have";
	if (s->f.cls == FIND_CPU_NEIGHBOUR)
		return arena_printf(k->arena, "waits for a CPU that %s (pid %u) has",
				    c->neighbour_comm, c->neighbour);
	if (c->top && c->top->kind == CAUSE_RUN)
		return arena_printf(k->arena, "%s %s%s", thread_label(k, t),
				    forks_in(k, c, s).last ? computing_words(k, c, s) : "computes",
				    in_function(k, s, " in"));
	return "waits for a CPU that its own load keeps busy";
}

static const char *words_of(struct court *k, const struct cand *c, const struct stall_finding *s)
{
	uint32_t t = c->top ? c->top->thread : NO_IDX;

	switch (s->f.cls) {
	case FIND_LOOP_BLOCKED:
		return blocked_words(k, c, s);
	case FIND_LOCK_HELD:
	case FIND_LOCK_CONVOY:
		return lock_words(k, s);
	case FIND_EXTERNAL:
	case FIND_PEER:
		return far_words(k, s);
	case FIND_CPU_OWN:
	case FIND_CPU_NEIGHBOUR:
	case FIND_CPU_QUOTA:
		return cpu_words(k, c, s);
	case FIND_FSYNC:
		return arena_printf(k->arena, "%s waits for fsync of %s%s", thread_label(k, t),
				    *s->f.resource ? s->f.resource : "a file",
				    in_function(k, s, " in"));
	case FIND_DISK_OWN:
	case FIND_DISK_LIMIT:
	case FIND_DISK_NEIGHBOUR:
		return arena_printf(k->arena, "%s waits for the disk, %s%s", thread_label(k, t),
				    *s->f.resource ? s->f.resource : "of unknown name",
				    in_function(k, s, " in"));
	case FIND_TIMER:
		return arena_printf(k->arena, "%s sleeps on a timer%s", thread_label(k, t),
				    in_function(k, s, " in"));
	case FIND_STOPPED:
		if (s->f.culprit.pid)
			return arena_printf(k->arena, "stopped, and let go on by %s (pid %u)",
					    s->f.culprit.comm, s->f.culprit.pid);
		return finding_title(s->f.cls);
	case FIND_UNKNOWN:
		return "what they waited for was not seen";
	default:
		return finding_title(s->f.cls);
	}
}

static const char *lengths(struct court *k, const struct stall_finding *s)
{
	if ((double)s->max_ns < SAME_LENGTH * (double)s->min_ns)
		return ns_text(k, (double)s->median_ns);
	return arena_printf(k->arena, "%s to %s", ns_text(k, (double)s->min_ns),
			    ns_text(k, (double)s->max_ns));
}

static const char *spacing(struct court *k, const struct stall_finding *s)
{
	if (s->cnt < 2 || s->every_ns < s->median_ns) /* one beside the other */
		return "";
	if (s->cnt == 2)
		return arena_printf(k->arena, ", %s apart", ns_text(k, (double)s->every_ns));
	return arena_printf(k->arena, ", %s every %s",
			    s->regular ? "one" : "irregular, on average one",
			    ns_text(k, (double)s->every_ns));
}

/* "p50 is not affected, p99 and p99.9 are": the quantiles that are, and the largest that is not. */
static const char *quantile_words(struct court *k, const struct stall_finding *s)
{
	CLEANUP(buf_release) struct buf line = { 0 };
	unsigned not = TAIL_QUANTILES, cnt = 0;

	for (unsigned q = 0; q < TAIL_QUANTILES; q++) {
		if (!(s->affects >> q & 1))
			not = q;
	}
	if (not == TAIL_P999)
		return "fewer than one request in a thousand is affected";
	if (not < TAIL_QUANTILES)
		buf_printf(&line, "%s is not affected, ", tail_quantile_title(not));
	for (unsigned q = 0; q < TAIL_QUANTILES; q++) {
		if (s->affects >> q & 1)
			buf_printf(&line, "%s%s", cnt++ ? " and " : "", tail_quantile_title(q));
	}
	buf_adds(&line, cnt > 1 ? " are" : " is");
	return arena_strdup(k->arena, buf_str(&line));
}

static void moments_say(struct court *k, struct stall_finding *s)
{
	CLEANUP(buf_release) struct buf line = { 0 };
	struct figure began[MOMENTS_MAX];
	uint32_t cnt = s->cnt < MOMENTS_MAX ? s->cnt : MOMENTS_MAX;

	buf_adds(&line, "they began ");
	for (uint32_t i = 0; i < cnt; i++) {
		buf_adds(&line, i ? ", {}" : "{}");
		began[i] = N_BARE_S("began", s->stalls[i].begin_ns - k->m->begin_ns);
	}
	buf_printf(&line, "%s s after the watch did", s->cnt > cnt ? ", ..." : "");
	say_figures_of(k, &s->f, buf_str(&line), began, cnt);
}

static void figures_say(struct court *k, const struct waits_tail *t, struct stall_finding *s)
{
	say_figures(k, &s->f, "{} slow request{} in {}, longest {}; half of all {} took {} at "
		    "most, slow is {} and more", N_CNT("slow_requests", s->req_cnt),
		    N_WORD(s->req_cnt == 1 ? "" : "s"), N_WORD(s->cnt == 1 ? "it" : "them"),
		    N_NS("longest", s->max_ns), N_CNT("requests", t->requests),
		    N_NS("p50", t->p50_ns), N_NS("slow_from", t->slow_ns));
	say_figures(k, &s->f, "one of them went on for {} of the time: who asks then has to wait",
		    N_SHARE_DEC("stalled", s->time_share));
	moments_say(k, s);
}

/* Lines of the mean verdict that hold for the stalls too: who uses the disk, where the peer is. */
static bool keeps_lines(unsigned cls)
{
	return cls == FIND_EXTERNAL || cls == FIND_PEER || cls == FIND_DISK_OWN ||
	       cls == FIND_DISK_NEIGHBOUR || cls == FIND_DISK_LIMIT || cls == FIND_FSYNC ||
	       cls == FIND_MEMORY || cls == FIND_CPU_NEIGHBOUR || cls == FIND_CPU_QUOTA;
}

/* The end of the chain has the lock, not who handed it on most often; or who stopped us. */
static void culprit_tell(struct court *k, const struct cand *c, struct finding *f)
{
	bool end = c->top && c->top->thread != NO_IDX && c->top->kind != CAUSE_LOCK &&
		   c->top->kind != CAUSE_CYCLE;

	if (f->cls == FIND_LOCK_CONVOY && end)
		f->cls = FIND_LOCK_HELD;
	if (f->cls == FIND_LOCK_HELD && end && c->top->depth)
		f->culprit = party_of(k->m, c->top->thread);
	if (f->cls == FIND_STOPPED && stopped_waker(k) != NO_IDX)
		f->culprit = party_of(k->m, stopped_waker(k));
}

void tail_words(struct court *k, const struct appfns *a, const struct waits_tail *t,
		const struct cand *c, struct stall_finding *s)
{
	const struct finding had = s->f;

	culprit_tell(k, c, &s->f);
	s->what = words_of(k, c, s);
	s->f.summary = arena_printf(k->arena, "%s of %s%s: %s; %s.",
				    s->cnt == 1 ? "1 stall" :
				    arena_printf(k->arena, "%u stalls", s->cnt), lengths(k, s),
				    spacing(k, s), s->what, quantile_words(k, s));
	s->f.evidence = NULL;
	s->f.figures = NULL;
	s->f.evidence_cnt = 0;
	figures_say(k, t, s);
	fork_lines(k, a, c, s);
	for (size_t i = 0; keeps_lines(s->f.cls) && i < had.evidence_cnt; i++)
		say_again(k, &s->f, &had, i);
	if (s->cnt == 1)
		refute(k, &s->f, "it does not come again: watch for longer (-d)");
}
