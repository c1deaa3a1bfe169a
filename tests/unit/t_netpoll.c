/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that move requests among each other, and of which now and then one polls for all. */
#include "judged.h"
#include "unit.h"

enum { SRV = 10, POLL = 5, WORK = 6, IN = 7, NEW = 8, QUICK = 50, TURNS = 20, EACH_MS = 50 };

/* It polls with so many requests open, and another client's words end that: of a socket io. */
static struct synth *polls(unsigned open, uint64_t io)
{
	struct synth *s = synth_new(TURNS * EACH_MS);

	synth_task(s, QUICK, QUICK, "client", TASKF_PEER);
	synth_sock(s, NEW, ROLE_UNKNOWN, 0, 0);

	synth_thread(s, SRV, SRV, "srv");
	synth_res(s, POLL, RES_EPOLL, NULL);
	synth_res(s, WORK, RES_FUTEX, NULL);
	synth_sock(s, IN, ROLE_SERVER, 0x7f000001, 80);
	synth_thread(s, SRV + 1, SRV, "srv");
	for (int i = 0; i < TURNS; i++) {
		struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), i * EACH_MS + 0.5);
		double at = i * EACH_MS;
		struct ev_wait *w;

		t->h.tid = t->first_tid = t->tgid = SRV;
		t->res = IN;
		t->role = ROLE_SERVER;
		w = synth_wait(s, SRV, WAIT_FUTEX, WORK, at + 1, at + 27, at + 27, SRV + 1);
		w->first_io = i ? io : 0;
		w = synth_irq_wait(s, SRV, WAIT_EPOLL, POLL, at + 28, at + 49, at + 49, WAKER_NET);
		w->own_open = w->proc_open = open;
		w->flags |= WAITF_PEER_CTX;
		w->waker_tid = w->waker_tgid = QUICK;
		synth_irq_wait(s, QUICK, WAIT_TIMER, 0, at + 1, at + 48.9, at + 48.9, WAKER_TIMER);
	}
	synth_end(s, SRV, ROLE_SERVER, 80, TURNS, TURNS * EACH_MS * open);
	synth_proc(s, SRV)->open_ns = TURNS * EACH_MS * 1000000ULL * open;
	return s;
}

TEST(netpoll_of_many_requests_tells_nothing_of_clients)
{
	static const struct { unsigned open; uint64_t io; const char *said; } tab[] = {
		{ 1, 0, "clients" }, { 6, 0, "healthy" }, { 6, NEW, "healthy" },
	};

	for (size_t i = 0; i < sizeof(tab) / sizeof(*tab); i++) {
		struct judged j;

		judge(&j, polls(tab[i].open, tab[i].io));
		ROW((int)i);
		EQ_S(finding_name(j.v->findings[0].cls), tab[i].said);
		judged_release(&j);
	}
}
