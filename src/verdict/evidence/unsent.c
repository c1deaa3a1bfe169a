/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/unsent.h"

#include <string.h>

#include "verdict/context/targets.h"

/*
 * What lies unsent for each client, on average, to say that they do not read:
 * more than a client that reads has under way, which its first window bounds.
 */
#define UNSENT_MIN (64 << 10)

/* Connections that have an answer, or the end of one, which their clients must let on its way. */
static uint32_t unsent_conns(const struct ev_conn *c)
{
	if (!c->unsent_conns)
		return 0;
	return c->unsent_bytes / c->unsent_conns >= UNSENT_MIN ? c->unsent_conns : c->held_conns;
}

static bool same_conns(const struct ev_conn *a, const struct ev_conn *b)
{
	return a->tgid == b->tgid && a->lport == b->lport && a->rport == b->rport &&
	       a->role == b->role && a->family == b->family && a->peer_tgid == b->peer_tgid &&
	       memcmp(a->raddr, b->raddr, sizeof(a->raddr)) == 0;
}

/* Sums what was so of the target's connections when the watch began and when it ended. */
static double at_both_ends(const struct context *k, const struct end *with,
			   uint32_t (*cnt_of)(const struct ev_conn *c))
{
	double conns = 0;

	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *l = &k->m->conns_last[i];
		uint32_t p = model_proc_by_tgid(k->m, l->tgid), last = cnt_of(l);

		if (!proc_is_target(k->m, p) || !last ||
		    l->role != (with ? with->role : ROLE_SERVER))
			continue;
		if (with && (l->rport != with->rport || l->family != with->family ||
			     memcmp(l->raddr, with->raddr, sizeof(l->raddr)) != 0))
			continue;
		for (size_t j = 0; j < k->m->conn_first_cnt; j++) {
			const struct ev_conn *f = &k->m->conns_first[j];

			if (!same_conns(f, l))
				continue;
			conns += cnt_of(f) < last ? cnt_of(f) : last;
			break;
		}
	}
	return conns;
}

static uint32_t held_back(const struct ev_conn *c)
{
	return c->held_conns;
}

double held_conns(const struct context *k, const struct end *with)
{
	return at_both_ends(k, with, held_back);
}

/*
 * Answers that lay in send buffers when the watch began and when it ended.  A
 * server that sends more only when there is much room sends nothing meanwhile.
 */
double unsent_ns(const struct context *k)
{
	return at_both_ends(k, NULL, unsent_conns) * k->window_ns;
}
