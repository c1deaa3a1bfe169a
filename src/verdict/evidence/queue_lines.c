/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/queue_lines.h"

#include "verdict/context/figures.h"
#include "verdict/context/targets.h"

static void backlog_lines(struct context *k, struct finding *f)
{
	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		const struct ev_listen *l = &k->m->listens[i].e;

		if (l->backlog < 2)
			continue;
		say_figures(k, f, "{} connections wait to be accepted at {} (room for {})",
			    N_CNT("connections_not_accepted", l->backlog),
			    N_WORD(model_str(k->m, l->name)), N_CNT("room", l->backlog_max));
	}
	if (k->m->host.listen_overflows)
		say_figures(k, f, "{} connections refused by full listen queues on this host",
			    N_CNT("connections_refused", k->m->host.listen_overflows));
}

void queue_lines(struct context *k, struct finding *f)
{
	const struct wreq *q = &k->w->total;

	if (q->conns)
		say_figures(k, f, "{} requests open and {} unread on average, {} asked of others",
			    N_AVG("open_requests", q->open_avg),
			    N_AVG("unread_requests", q->unread_avg),
			    N_AVG("asked_of_others", q->out_avg));
	backlog_lines(k, f);
}

const char *queue_words(struct context *k)
{
	double wait = 0, all = k->demand_ns / k->window_ns;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->kind == CAUSE_QUEUE && proc_is_target(k->m, c->entry_proc))
			wait += (double)c->ns / k->window_ns;
	}
	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		uint32_t p = model_proc_by_tgid(k->m, k->m->listens[i].e.tgid);

		if (proc_is_target(k->m, p))
			wait += k->m->listens[i].backlog_avg;
	}
	if (wait < 0.5)
		return "";
	return arena_printf(k->arena, "; %.0f of %.0f requests wait for their turn", wait,
			    all > wait ? all : wait);
}
