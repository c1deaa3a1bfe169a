/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/owed.h"

#include "verdict/context/figures.h"
#include "verdict/context/targets.h"

/* Connections that wait for an answer, lie unread or are not accepted, at the end. */
uint32_t owed(const struct context *k)
{
	uint32_t cnt = 0;

	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *c = &k->m->conns_last[i];
		uint32_t p = model_proc_by_tgid(k->m, c->tgid);

		if (proc_is_target(k->m, p) && c->role == ROLE_SERVER)
			cnt += c->owe_reply > c->unread_conns ? c->owe_reply : c->unread_conns;
	}
	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		uint32_t p = model_proc_by_tgid(k->m, k->m->listens[i].e.tgid);

		if (proc_is_target(k->m, p))
			cnt += k->m->listens[i].backlog_avg;
	}
	return cnt;
}

/* Requests that hang through the window for what was not seen: see waits/idle/unanswered.c. */
uint32_t hung_cnt(const struct context *k)
{
	double cnt = 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->kind == CAUSE_UNSEEN && c->thread == NO_IDX &&
		    proc_is_target(k->m, c->entry_proc))
			cnt += (double)c->cnt;
	}
	return (uint32_t)(cnt + 0.5);
}

/*
 * Nothing was answered in the whole window though clients wait, or to those: whatever
 * the sums say, that is not health.  One client may owe us the next word; two
 * hardly do at the same time.
 */
bool is_hung(const struct context *k)
{
	return (k->turns < 1 && owed(k) >= 2) || hung_cnt(k) >= 2;
}

bool is_owed(const struct context *k)
{
	const struct wreq *q = &k->w->total;

	return q->owed_cnt ||
	       (q->open_oldest_ns > q->p99_ns && q->open_oldest_ns >= WAITS_STALL_NS);
}

void owed_line(struct context *k, struct finding *f)
{
	const struct wreq *q = &k->w->total;

	if (q->owed_cnt)
		say_figures(k, f, "{} connection{} said something before the watch began and got "
			    "no answer since, the oldest for {}: a request that hangs, one that "
			    "waits for news, or a message that asks for no answer",
			    N_CNT("connections_owed", q->owed_cnt),
			    N_WORD(q->owed_cnt == 1 ? "" : "s"),
			    N_NS("oldest", q->stale_oldest_ns));
	else if (is_owed(k))
		say_figures(k, f, "at the end a request was open for {} already, longer than the "
			    "p99", N_NS("oldest", q->open_oldest_ns));
}

void unanswered_line(struct context *k, struct finding *f, const struct end *n)
{
	if (n->conns > 2 * n->turns + n->open_now && n->open_tick_ns > n->service_ns)
		say_figures(k, f, "of {} sockets that asked there {} got an answer; {} questions "
			    "were open at a time", N_CNT("asked", n->conns),
			    N_CNT("answered", n->turns),
			    N_AVG("open_requests", (double)n->open_tick_ns / k->window_ns));
	if (n->stale_cnt)
		say_figures(k, f, "{} connection{} to it asked before the watch began and got no "
			    "answer since, the oldest for {}",
			    N_CNT("connections_owed", n->stale_cnt),
			    N_WORD(n->stale_cnt == 1 ? "" : "s"),
			    N_NS("oldest", n->stale_oldest_ns));
}
