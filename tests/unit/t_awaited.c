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

enum { SHELL = 80, SLEEP = 120, DATE = 100, ASKED = 10 };

static void forked(struct synth *s, uint32_t pid, const char *comm, double at)
{
	struct ev_task *ev = synth_event(s, EV_TASK, sizeof(*ev), at);

	ev->h.tid = ev->tgid = pid;
	ev->ppid = SHELL;
	ev->op = TASK_FORK;
	ev->flags = TASKF_PEER;
	ev->start_boot_ns = synth_ns(s, at);
	ev->comm = synth_str(s, comm);
}

/* For each request a shell runs `sleep 0.16; date`, whose end the server sees at its pipe. */
static struct synth *shell_runs_two(void)
{
	struct synth *s = synth_new(2000);

	synth_thread(s, 60, 60, "srv");
	synth_task(s, SHELL, SHELL, "sh", TASKF_PEER)->ppid = 60;
	synth_res(s, 7, RES_PIPE, "pipe");
	synth_sock(s, CLIENT, ROLE_SERVER, 0x7f000001, 80);
	synth_end(s, 60, ROLE_SERVER, 80, ASKED, 1620);
	synth_proc(s, 60)->open_ns = 1620000000;
	for (uint32_t i = 0; i < ASKED; i++) {
		double at = i * 200;
		struct ev_turn *turn = synth_event(s, EV_TURN, sizeof(*turn), at + 163);
		struct ev_wait *w = synth_wait(s, 60, WAIT_PIPE, 7, at + 1, at + 162, at + 162,
					       DATE + i);

		w->own_open = w->proc_open = 1;
		turn->res = CLIENT;
		turn->role = ROLE_SERVER;
		turn->tgid = turn->h.tid = turn->first_tid = 60;
		turn->service_ns = 162000000;
		forked(s, SLEEP + i, "sleep", at + 1);
		synth_irq_wait(s, SLEEP + i, WAIT_TIMER, 0, at + 1.5, at + 160, at + 160,
			       WAKER_TIMER);
		synth_exit(s, SLEEP + i, at + 160.5);
		synth_wait(s, SHELL, WAIT_CHILD, 0, at + 1.2, at + 160.4, at + 160.5, SLEEP + i);
		forked(s, DATE + i, "date", at + 161);
		synth_preempted(s, DATE + i, at + 161.2, at + 161.4);
		synth_exit(s, DATE + i, at + 162.5);
		synth_irq_wait(s, 60, WAIT_SOCKET, CLIENT, at + 164, at + 199, at + 199,
			       WAKER_NET);
	}
	return s;
}

TEST(awaited_program_waited_for_those_before_it)
{
	struct judged j;

	judge(&j, shell_runs_two());
	EQ_S(finding_name(j.v->findings[0].cls), "peer");
	EQ_S(j.v->findings[0].culprit.comm, "sleep");
	OK(j.v->findings[0].share > 0.9);
	judged_release(&j);
}
