/* SPDX-License-Identifier: Apache-2.0 */
/* Locks told from who wakes whom, where the chain leaves the program. */
#include "judged.h"
#include "unit.h"

enum { DB = 70, TO_DB = 90, CLIENT = 91 };

/*
 * Three sessions take turns: one asks the database and sleeps until it answers, the
 * others sleep until the one before wakes them, on futexes of their own or, seen, of
 * all.
 */
static struct synth *sessions_ask(bool seen)
{
	struct synth *s = synth_new(1000);

	for (uint32_t t = 60; t < 63; t++) {
		synth_thread(s, t, 60, "session");
		synth_res(s, t, RES_FUTEX, NULL);
	}
	synth_task(s, DB, DB, "db", TASKF_PEER);
	synth_sock(s, TO_DB, ROLE_CLIENT, 0x7f000001, 5432)->peer_tgid = DB;
	synth_sock(s, CLIENT, ROLE_SERVER, 0x7f000001, 80);
	synth_end(s, 60, ROLE_SERVER, 80, 9, 1800);
	synth_proc(s, 60)->open_ns = 1800000000;
	for (int i = 0; i < 9; i++) {
		uint32_t asks = 60 + (uint32_t)(i + 2) % 3, waits = 60 + (uint32_t)i % 3;
		double at = i * 100;
		struct ev_turn *turn = synth_event(s, EV_TURN, sizeof(*turn), at + 99);
		struct ev_wait *w = synth_wait(s, waits, WAIT_FUTEX, seen ? 60 : waits, at + 1,
					       at + 95, at + 95, asks);

		w->own_open = 1;
		w->proc_open = 3;
		w = synth_wait(s, asks, WAIT_SOCKET, TO_DB, at + 2, at + 94, at + 94, DB);
		w->own_open = 1;
		w->proc_open = 3;
		turn->res = CLIENT;
		turn->role = ROLE_SERVER;
		turn->tgid = 60;
		turn->h.tid = turn->first_tid = asks;
		turn->service_ns = 98000000;
		synth_irq_wait(s, DB, WAIT_TIMER, 0, at + 3, at + 93, at + 93, WAKER_TIMER);
	}
	return s;
}

TEST(awaited_answers_of_another_program_are_no_lock)
{
	for (int seen = 0; seen < 2; seen++) {
		struct judged j;

		judge(&j, sessions_ask(seen));
		ROW(seen);
		EQ_S(finding_name(j.v->findings[0].cls), seen ? "lock-held" : "peer");
		judged_release(&j);
	}
}
