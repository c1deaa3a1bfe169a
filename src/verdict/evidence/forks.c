/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/forks.h"

#include "verdict/context/tail.h"
#include "waits/tail.h"

const char *in_function(struct context *k, const struct stall_finding *s, const char *verb)
{
	return *s->function ? arena_printf(k->arena, "%s %s", verb, s->function) : "";
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

/* Most of the stalls had a fork of the thread that held them: last NULL where not. */
struct forks forks_in(const struct context *k, const struct cand *c,
			     const struct stall_finding *s)
{
	uint32_t t = c->loop != NO_IDX ? c->loop : c->top ? c->top->thread : NO_IDX;
	struct forks f = { 0 };

	for (uint32_t i = 0; t != NO_IDX && i < s->cnt; i++) {
		const struct thread *child = fork_in(k->m, k->m->threads[t].tgid, &s->stalls[i]);

		f.cnt += child != NULL;
		f.last = child ? child : f.last;
	}
	return 2 * f.cnt >= s->cnt ? f : (struct forks){ 0 };
}

const char *computing_words(struct context *k, const struct cand *c,
				   const struct stall_finding *s)
{
	struct forks f = forks_in(k, c, s);

	return f.last ? arena_printf(k->arena, "forking %s (pid %u)", f.last->comm, f.last->tgid)
		      : "computing";
}
