/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the work, and the sums over all of it.
 */
#include "paths/paths_int.h"

struct edge {			/* a request begins, or ended */
	uint64_t ns;
	uint32_t request;
	bool begins;
};

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->begins - y->begins;
}

static void in_flight(struct paths *p)
{
	VEC(struct edge) edges = {0};

	for (uint32_t i = 0; i < p->requests.cnt; i++) {
		const struct paths_request *r = &p->requests.items[i];

		if (!r->reply_ns || r->setup)
			continue;
		vec_push(&edges, ((struct edge){r->arrival_ns, i, true}));
		vec_push(&edges, ((struct edge){r->reply_ns, i, false}));
	}
	vec_sort(&edges, by_time);
	VEC_FOREACH(&edges, e) {
		struct path_proc *proc = paths_proc(p, p->requests.items[e->request].tgid);

		if (e->begins)
			p->requests.items[e->request].at_arrival = proc->open_cnt++;
		else
			proc->open_cnt--;
	}
	vec_release(&edges);
}

static void count(struct paths *p)
{
	struct paths_result *r = &p->result;

	VEC_FOREACH(&p->calls, c) {
		if (!c->answer_ns)
			continue;
		r->known_cnt[c->rule]++;
		r->shared_call_cnt += p->conns.items[c->conn].shared;
	}
	VEC_FOREACH(&p->requests, q) {
		r->joined_cnt += q->parent != PATHS_NONE &&
				 p->calls.items[q->parent].tgid >> PATHS_HOST_SHIFT !=
					 q->tgid >> PATHS_HOST_SHIFT;
		r->shared_cnt += q->shared;
		r->setup_cnt += q->setup;
	}
	VEC_FOREACH(&p->conns, c) {
		if (c->shared)
			vec_push(&p->shared_conns, c->cookie);
	}
	r->shared_conns = p->shared_conns.items;
	r->shared_conn_cnt = p->shared_conns.cnt;
	r->requests = p->requests.items;
	r->request_cnt = p->requests.cnt;
	r->calls = p->calls.items;
	r->call_cnt = p->calls.cnt;
	r->waits = p->waits.items;
	r->wait_cnt = p->waits.cnt;
}

void paths_finish(struct paths *p)
{
	paths_words(p);
	paths_take(p);
	paths_conn_shapes(p);
	paths_thread_rules(p);
	paths_conns_share(p);
	paths_decide(p);
	paths_join_hosts(p);
	paths_waits(p);
	in_flight(p);
	count(p);
}

const struct paths_result *paths_result(const struct paths *p)
{
	return &p->result;
}
