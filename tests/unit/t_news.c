/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that nobody works on: they wait for news, or before a limit. */
#include "judged.h"
#include "unit.h"

enum { SRV = 20, SET = 5, POSTER = 9 };

/*
 * Four clients ask and wait; the loop sleeps.  Every 250 ms it wakes, by what a fifth
 * says or by a timer of its own, and answers one of them.
 */
static struct synth *long_polls(bool by_client)
{
	struct synth *s = synth_new(5000);

	synth_thread(s, SRV, SRV, "queued");
	synth_res(s, SET, RES_EPOLL, NULL);
	synth_sock(s, POSTER, ROLE_SERVER, 0x7f000001, 80);
	for (uint32_t i = 1; i < 5; i++)
		synth_sock(s, i, ROLE_SERVER, 0x7f000001, 80);
	for (int i = 0; i < 20; i++) {
		double at = i * 250;
		struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), at + 250);
		struct ev_wait *w = synth_irq_wait(s, SRV, WAIT_EPOLL, SET, at + 1, at + 249,
						   at + 249.1,
						   by_client ? WAKER_NET : WAKER_TIMER);

		w->own_open = w->proc_open = 4;
		w->first_io = i ? POSTER : 0;
		t->res = 1 + i % 4;
		t->role = ROLE_SERVER;
		t->tgid = t->h.tid = t->first_tid = SRV;
		t->service_ns = 990000000;
	}
	synth_end(s, SRV, ROLE_SERVER, 80, 20, 19800);
	synth_proc(s, SRV)->open_ns = 19800000000;
	return s;
}

TEST(news_end_by_another_client_and_a_limit_does_not)
{
	for (int by_client = 0; by_client < 2; by_client++) {
		struct judged j;

		judge(&j, long_polls(by_client));
		ROW(by_client);
		EQ_S(finding_name(j.v->findings[0].cls), by_client ? "healthy" : "conn-limit");
		judged_release(&j);
	}
}
