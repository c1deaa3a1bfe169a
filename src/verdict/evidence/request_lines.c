/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/request_lines.h"

#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/owed.h"

/* The address that clients connect to: as it is listened on, or as one was seen to. */
const char *served_at(struct context *k)
{
	const struct end *best = NULL;

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role == ROLE_SERVER && proc_is_target(k->m, n->proc) &&
		    (!best || n->turns + n->txblock_cnt > best->turns + best->txblock_cnt))
			best = n;
	}
	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		const struct ev_listen *l = &k->m->listens[i].e;
		uint32_t p = model_proc_by_tgid(k->m, l->tgid);

		if (proc_is_target(k->m, p) && (!best || best->lport == l->lport) &&
		    *model_str(k->m, l->name))
			return model_str(k->m, l->name);
	}
	return best ? best->name : "";
}

/* The conversations that clients have with the target. */
void request_lines(struct context *k, struct finding *f)
{
	for (size_t i = 0; i < k->w->req_cnt && f->evidence_cnt < 3; i++) {
		const struct wreq *q = &k->w->reqs[i];

		if (!k->m->procs[q->proc].target || !q->turns)
			continue;
		say_figures(k, f, "{}: {} requests/s, half within {}, 99 % within {}, {} open on "
			    "average",
			    N_WORD(arena_printf(k->arena, "%s (pid %u)", k->m->procs[q->proc].comm,
						k->m->procs[q->proc].tgid)),
			    N_PER_S("requests", q->turns / (k->window_ns / 1e9)),
			    N_NS("p50", q->p50_ns), N_NS("p99", q->p99_ns),
			    N_AVG("open_requests", q->open_avg));
	}
	owed_line(k, f);
}

void busiest_line(struct context *k, struct finding *f)
{
	uint32_t best = NO_IDX;
	double most = 0, life;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const struct thread *th = &k->m->threads[t];

		if (th->tracked && thread_is_target(k->m, t) &&
		    th->ns[ST_RUN] + th->ns[ST_RUNQ] > most) {
			most = th->ns[ST_RUN] + th->ns[ST_RUNQ];
			best = t;
		}
	}
	if (best == NO_IDX) {
		say(k, f, "none of its threads ran");
		return;
	}
	life = k->m->threads[best].end_ns - k->m->threads[best].begin_ns;
	say_figures(k, f, "busiest thread: {}, running {}, waiting for a CPU {} of the time",
		    N_WORD(thread_label(k, best)),
		    N_SHARE("running", part_of(k->m->threads[best].ns[ST_RUN], life)),
		    N_SHARE("waiting_for_cpu", part_of(k->m->threads[best].ns[ST_RUNQ], life)));
}

/*
 * The waits of t's process for res as they were.  A cause counts each once for every
 * request that waited meanwhile: their mean may be over the longest.
 */
void waits_line(struct context *k, struct finding *f, uint32_t t, uint32_t res)
{
	const struct model *m = k->m;
	uint64_t cnt = 0, ns = 0, max_ns = 0;

	for (size_t i = 0; t != NO_IDX && res != NO_IDX && i < m->pair_cnt; i++) {
		const struct pair *p = &m->pairs[i];

		if (p->res != res || m->threads[p->thread].proc != m->threads[t].proc)
			continue;
		cnt += p->cnt;
		ns += p->ns;
		max_ns = p->max_ns > max_ns ? p->max_ns : max_ns;
	}
	if (cnt)
		say_figures(k, f, "{} waits, mean {}, longest {}", N_CNT("waits", cnt),
			    N_NS("mean", (double)ns / cnt), N_NS("longest", max_ns));
}
