/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/negligible.h"

#include "verdict/context/targets.h"

/*
 * Below this many requests open at a time, waits of less than TINY_NS each
 * hold nobody up: the server rests nine tenths of the time, or each of its clients
 * waits for it less than a tenth.
 */
#define TINY_OPEN 0.10
#define TINY_NS 5e6

/* Connections on which the targets were asked in the window and that are there still. */
static double asking_conns(const struct context *k)
{
	double cnt = 0;

	for (size_t i = 0; i < k->m->sock_cnt; i++) {
		const struct ev_sock *s = &k->m->socks[i].e;

		cnt += s->role == ROLE_SERVER && s->last_rx_ns >= k->m->begin_ns &&
		       proc_is_target(k->m, model_proc_by_tgid(k->m, s->tgid));
	}
	return cnt > 1 ? cnt : 1;
}

/*
 * Requests that are open at a time: demand counts a thread that works for many of them
 * once, and their own times only where they were seen.
 */
static double open_requests(const struct context *k)
{
	double demand = k->demand_ns / k->window_ns, seen = 0;

	for (size_t i = 0; i < k->w->req_cnt; i++)
		if (k->m->procs[k->w->reqs[i].proc].target)
			seen += k->w->reqs[i].open_avg;
	return seen > demand ? seen : demand;
}

bool is_negligible(const struct context *k, const struct cand *top)
{
	double open = k->demand_ns / k->window_ns;
	double each = k->turns > 0 ? top->ns / k->turns : 0;

	if (k->demand_ns <= 0)
		return true;
	return each < TINY_NS && (open < TINY_OPEN ||
				  open_requests(k) < TINY_OPEN * asking_conns(k));
}
