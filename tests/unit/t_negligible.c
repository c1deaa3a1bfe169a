/* SPDX-License-Identifier: Apache-2.0 */
/* Whether somebody is held up, where a request costs little and few are open at a time. */
#include "judged.h"
#include "unit.h"

enum { DB = 70, TO_DB = 90, CLIENT = 100, REQUESTS = 100 };

/* A request each 10 ms waits 1.2 ms for a peer; so many clients take turns at asking. */
static struct synth *clients_ask(uint32_t clients)
{
	struct synth *s = synth_new(1000);

	for (uint32_t t = 60; t < 60 + clients; t++) {
		struct ev_sock *sock = synth_event(s, EV_SOCK, sizeof(*sock), 999);

		synth_thread(s, t, 60, "srv");
		synth_sock(s, CLIENT + t, ROLE_SERVER, 0x7f000001, 80);
		synth_sock(s, TO_DB + t, ROLE_CLIENT, 0x7f000001, 5432)->peer_tgid = DB;
		sock->res = CLIENT + t;
		sock->role = ROLE_SERVER;
		sock->tgid = 60;
		sock->h.tid = sock->last_tid = t;
		sock->last_rx_ns = synth_ns(s, 950);
	}
	synth_task(s, DB, DB, "db", TASKF_PEER);
	synth_end(s, 60, ROLE_SERVER, 80, REQUESTS, 120);
	synth_proc(s, 60)->open_ns = 120000000;
	for (uint32_t i = 0; i < REQUESTS; i++) {
		uint32_t t = 60 + i % clients;
		double at = i * 10;
		struct ev_wait *w = synth_wait(s, t, WAIT_SOCKET, TO_DB + t, at + 8, at + 9.2,
					       at + 9.2, DB);

		w->own_open = w->proc_open = 1;
		synth_irq_wait(s, DB, WAIT_TIMER, 0, at + 8.1, at + 9.1, at + 9.1, WAKER_TIMER);
		synth_irq_wait(s, t, WAIT_SOCKET, CLIENT + t, at + 1, at + 7.9, at + 7.9,
			       WAKER_NET);
	}
	return s;
}

TEST(negligible_where_each_client_hardly_waits)
{
	static const struct { uint32_t clients; const char *cls; } rows[] = {
		{1, "peer"}, {4, "healthy"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct judged j;

		judge(&j, clients_ask(rows[i].clients));
		ROW((int)i);
		EQ_S(finding_name(j.v->findings[0].cls), rows[i].cls);
		judged_release(&j);
	}
}
