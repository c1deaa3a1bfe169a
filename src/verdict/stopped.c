/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that were stopped: by SIGSTOP, by job control, or by a debugger that
 * looks at them.  They wait for nothing, so no demand speaks of it.
 */
#include "verdict/weigh.h"

/* Of the lives of the threads.  Less is what a tool costs that only looks. */
#define STOPPED_MIN 0.5

bool stopped_add(struct court *k, struct verdict *v)
{
	double life = 0, stopped = 0, most = 0;
	uint32_t cnt = 0, still = 0, worst = NO_IDX;
	struct finding *f;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const struct thread *th = &k->m->threads[t];
		double ns = th->ns[ST_WAIT + WAIT_STOPPED];
		const struct wait *w = th->wait_len ?
			&k->m->waits[th->first_wait + th->wait_len - 1] : NULL;

		if (!th->tracked || !thread_is_target(k->m, t))
			continue;
		life += th->end_ns - th->begin_ns;
		stopped += ns;
		cnt += ns > 0;
		still += w && w->cls == WAIT_STOPPED && w->flags & WAITF_PENDING;
		if (ns > most) {
			most = ns;
			worst = t;
		}
	}
	if (worst == NO_IDX || stopped < STOPPED_MIN * life)
		return false;
	f = &v->findings[v->finding_cnt++];
	*f = (struct finding){ .cls = FIND_STOPPED, .conf = CONF_HIGH, .share = stopped / life,
			       .resource = "", .res_kind = "" };
	f->culprit.comm = "";
	f->summary = arena_printf(k->arena, "%u threads were stopped by a signal or a debugger: "
				  "they wait for nothing but to be let go on.", cnt);
	say(k, f, "%u of them were still stopped at the end; the longest stopped is %s, for %s",
	    still, thread_label(k, worst), ns_text(k, most));
	say(k, f, "TracerPid in /proc/%u/status names a debugger; without one, kill -CONT %u",
	    k->m->threads[worst].tgid, k->m->threads[worst].tgid);
	refute(k, f, "whoever stopped it does so only now, to look at it");
	return true;
}
