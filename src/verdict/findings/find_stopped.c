/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that were stopped: by SIGSTOP, by job control, or by a debugger that
 * looks at them.  They wait for nothing, so no demand may speak of it.
 */
#include "base/hash.h"
#include "verdict/context/figures.h"
#include "verdict/context/context.h"

/* Of the lives of the threads.  Less is what a tool costs that only looks. */
#define STOPPED_MIN 0.5
/* Stopped and let go on as often as this each second is no hand, but a means to slow it down. */
#define BY_TURNS_MIN 1.0

struct stops {
	double life, ns, most;
	uint32_t cnt, still, worst, waker; /* threads; worst and waker idx, NO_IDX none */
	uint64_t times, waked; /* stops in all, and those that one task ended most of */
};

/* Who let them go on, most often. */
static void waker_count(const struct court *k, uint32_t t, struct stops *s, struct hmap *by_waker)
{
	const struct thread *th = &k->m->threads[t];

	for (uint32_t i = th->first_wait; i < th->first_wait + th->wait_len; i++) {
		const struct wait *w = &k->m->waits[i];
		uint64_t *cnt;

		/* of a thread's run of waits, never NULL */
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
		if (w->cls != WAIT_STOPPED || w->flags & WAITF_PREEMPTED)
			continue;
		s->times++;
		if (w->waker == NO_IDX || w->waker == t || w->waker_ctx != WAKER_TASK)
			continue;
		cnt = hmap_slot(by_waker, w->waker);
		if (++*cnt > s->waked) {
			s->waked = *cnt;
			s->waker = w->waker;
		}
	}
}

static struct stops stops_of(const struct court *k)
{
	struct stops s = { .worst = NO_IDX, .waker = NO_IDX };
	struct hmap by_waker = { 0 };

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
		waker_count(k, t, &s, &by_waker);
	}
	hmap_release(&by_waker);
	return s;
}

static void tell(struct court *k, struct finding *f, const struct stops *s)
{
	bool turns = s->cnt && s->times / (double)s->cnt >= BY_TURNS_MIN * k->window_ns / 1e9;

	if (turns && s->waker != NO_IDX) {
		f->culprit = party_of(k->m, s->waker);
		f->summary = arena_printf(k->arena, "%s stops it and lets it go on by turns: %.0f "
					  "times a second, %.0f %% of the time.",
					  thread_label(k, s->waker),
					  s->times / (double)s->cnt / (k->window_ns / 1e9),
					  percent(s->most, k->window_ns));
	} else {
		f->summary = arena_printf(k->arena, "%u threads were stopped by a signal, a "
					  "debugger or a freezer: they wait for nothing but to "
					  "be let go on.",
					  s->cnt);
	}
	say_figures(k, f, "{} of them were still stopped at the end; the longest stopped is {}, "
		    "for {}", N_CNT("stopped_at_end", s->still), N_WORD(thread_label(k, s->worst)),
		    N_NS("longest", s->most));
	if (!turns)
		say(k, f, "TracerPid in /proc/%u/status names a debugger, its cgroup may be "
			  "frozen; without these, kill -CONT %u", k->m->threads[s->worst].tgid,
		    k->m->threads[s->worst].tgid);
	refute(k, f, "whoever stopped it does so only now, to look at it");
}

uint32_t stopped_waker(const struct court *k)
{
	return stops_of(k).waker;
}

void stopped_explain(struct court *k, struct finding *f)
{
	struct stops s = stops_of(k);

	if (s.worst != NO_IDX)
		tell(k, f, &s);
}

bool stopped_add(struct court *k, struct verdict *v)
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
