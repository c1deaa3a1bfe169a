/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that were stopped: by SIGSTOP, by job control, or by a debugger that
 * looks at them.  They wait for nothing, so no demand may speak of it.
 */
#include <string.h>

#include "base/hash.h"
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/tail.h"
#include "verdict/context/targets.h"
#include "verdict/findings/findings.h"
#include "verdict/findings/next_step.h"

/* Share of the threads' lives.  Less is what a tool costs that only looks. */
#define STOPPED_MIN 0.5
/* Stopped and let go on as often as this each second is no hand, but a means to slow it down. */
#define BY_TURNS_MIN 1.0

struct stops {
	double life, ns, most;
	uint32_t cnt, still, worst, waker; /* threads; worst and waker idx, NO_IDX none */
	uint64_t times, waked; /* stops in all, and those that one name ended most of */
};

/*
 * A debugger may be started anew for each look, so that the tasks of one name are one, and
 * a name that was seen beats tasks that were gone before theirs was.
 */
static bool stops_more(const struct context *k, uint32_t waker, uint64_t cnt,
		       const struct stops *s)
{
	bool named = *k->m->threads[waker].comm, had = false;

	if (s->waker != NO_IDX)
		had = *k->m->threads[s->waker].comm;
	return named == had ? cnt > s->waked : named;
}

/* Counts those that let them go on. */
static void waker_count(const struct context *k, uint32_t t, struct stops *s, struct hmap *by_name)
{
	const struct thread *th = &k->m->threads[t];

	for (uint32_t i = th->first_wait; i < th->first_wait + th->wait_len; i++) {
		const struct wait *w = &k->m->waits[i];
		const char *comm;
		uint64_t *cnt;

		/* of a thread's run of waits, never NULL */
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
		if (w->cls != WAIT_STOPPED || w->flags & WAITF_PREEMPTED)
			continue;
		s->times++;
		if (w->waker == NO_IDX || w->waker == t || w->waker_ctx != WAKER_TASK)
			continue;
		comm = k->m->threads[w->waker].comm;
		cnt = hmap_slot(by_name, *comm ? hash_bytes(comm, strlen(comm)) : w->waker);
		if (stops_more(k, w->waker, ++*cnt, s)) {
			s->waked = *cnt;
			s->waker = w->waker;
		}
	}
}

static struct stops stops_of(const struct context *k)
{
	struct stops s = { .worst = NO_IDX, .waker = NO_IDX };
	struct hmap by_name = { 0 };

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const struct thread *th = &k->m->threads[t];
		double ns = th->ns[ST_WAIT + WAIT_STOPPED];
		const struct wait *w = th->wait_len ?
			&k->m->waits[th->first_wait + th->wait_len - 1] : NULL;

		if (!th->tracked || !thread_is_target(k->m, t))
			continue;
		s.life += th->end_ns - th->begin_ns;
		s.ns += ns;
		s.cnt += ns > 0;
		s.still += w && w->cls == WAIT_STOPPED && w->flags & WAITF_PENDING;
		if (ns > s.most) {
			s.most = ns;
			s.worst = t;
		}
		waker_count(k, t, &s, &by_name);
	}
	hmap_release(&by_name);
	return s;
}

static void tell(struct context *k, struct finding *f, const struct stops *s)
{
	bool turns = s->cnt && s->times / (double)s->cnt >= BY_TURNS_MIN * k->window_ns / 1e9;

	if (s->waker != NO_IDX)
		f->culprit = party_of(k->m, s->waker);
	if (turns && s->waker != NO_IDX) {
		f->summary = arena_printf(k->arena, "%s stops and continues it %.0f times a "
					  "second; it is stopped %.0f %% of the time.",
					  thread_label(k, s->waker),
					  s->times / (double)s->cnt / (k->window_ns / 1e9),
					  percent(s->most, k->window_ns));
	} else if (s->waker != NO_IDX) {
		f->summary = arena_printf(k->arena, "%u threads were stopped by a signal, a "
					  "debugger or a freezer, until %s let them go on; they "
					  "waited for nothing else.",
					  s->cnt, thread_label(k, s->waker));
	} else {
		f->summary = arena_printf(k->arena, "%u threads were stopped by a signal, a "
					  "debugger or a freezer: they wait for nothing but to "
					  "be let go on.",
					  s->cnt);
	}
	say_figures(k, f, "{} of them were still stopped at the end; the longest stopped is {}, "
		    "for {}", N_CNT("stopped_at_end", s->still), N_WORD(thread_label(k, s->worst)),
		    N_NS("longest", s->most));
	if (!turns && s->waker == NO_IDX)
		say(k, f, "TracerPid in /proc/%u/status names a debugger, its cgroup may be "
			  "frozen; without these, kill -CONT %u", k->m->threads[s->worst].tgid,
		    k->m->threads[s->worst].tgid);
}

static void explain_stopped(struct context *k, struct finding *f, const struct cand *c)
{
	struct stops s = stops_of(k);

	(void)c;
	if (s.worst != NO_IDX)
		tell(k, f, &s);
}

static bool find_stopped(struct context *k, struct verdict *v)
{
	struct stops s = stops_of(k);
	struct finding *f;

	if (s.worst == NO_IDX || s.ns < STOPPED_MIN * s.life)
		return false;
	f = &v->findings[v->finding_cnt++];
	*f = (struct finding){ .cls = FIND_STOPPED, .share = s.ns / s.life,
			       .resource = "", .res_kind = "" };
	f->culprit.comm = "";
	tell(k, f, &s);
	return true;
}

static bool claims_stopped(const struct context *k, const struct cause *c)
{
	return c->kind == CAUSE_STOPPED && thread_is_target(k->m, c->thread);
}

static void lacks_stopper(struct context *k, struct finding *f, const struct cand *c)
{
	(void)c;
	if (!k->of_stalls && !*f->culprit.comm)
		lack(k, f, 1, "who stops it was not seen");
}

static const char *next_stopped(struct context *k, const struct finding *f, const struct cand *c)
{
	(void)c;
	return arena_printf(k->arena, "find out who stops it%s%s; kill -CONT or a thaw of its "
			    "cgroup lets it go on", f->culprit.pid ? ": " : "",
			    f->culprit.pid ? step_who(k, f, "") : "");
}

static void stall_stopper(struct context *k, const struct cand *c, struct finding *f)
{
	uint32_t waker = stops_of(k).waker;

	(void)c;
	if (waker != NO_IDX)
		f->culprit = party_of(k->m, waker);
}

static const char *stopped_stall(struct context *k, const struct cand *c,
				 const struct stall_finding *s)
{
	const struct party *p = &s->f.culprit;

	(void)c;
	if (!p->pid)
		return finding_title(FIND_STOPPED);
	return arena_printf(k->arena, "stopped, and let go on by %s (pid %u)", p->comm, p->pid);
}

const struct finding_def finding_stopped = {
	.cls = FIND_STOPPED,
	.name = "stopped",
	.title = "stopped by a signal, a debugger or a freezer",
	.find = find_stopped,
	.claims = claims_stopped,
	.explain = explain_stopped,
	.refuted_if = "whoever stopped it does so only now, to look at it",
	.lacks = lacks_stopper,
	.next_step = next_stopped,
	.stall_words = stopped_stall,
	.stall_culprit = stall_stopper,
	.not_its_own = true,
	.is_certain = true,
};
