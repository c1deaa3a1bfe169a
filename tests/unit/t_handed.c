/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that reads requests for others to answer, from a socket that is open to all. */
#include <sys/socket.h>

#include "judged.h"
#include "unit.h"

enum { READER = 20, WORKER = 21, BACKEND = 30 };

/* Every 100 ms: the reader hands a request on; the worker asks the backend, which sleeps. */
static struct synth *reader_and_worker(void)
{
	struct synth *s = synth_new(2000);

	synth_thread(s, READER, 20, "receiver");
	synth_thread(s, WORKER, 20, "distributor");
	synth_task(s, BACKEND, BACKEND, "backend", TASKF_PEER);
	synth_sock(s, 8, ROLE_SERVER, 0, 0)->sotype = SOCK_DGRAM;
	synth_res(s, 5, RES_PIPE, "to do");
	synth_res(s, 6, RES_PIPE, "answers");
	synth_res(s, 7, RES_PIPE, "questions");
	synth_res(s, 9, RES_TIMER, "timer");
	for (int i = 0; i < 20; i++) {
		double at = i * 100;
		struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), at + 85);
		struct ev_wait *w = synth_irq_wait(s, READER, WAIT_POLL, 8, at + 2, at + 99.5,
						   at + 99.5, WAKER_NET);

		w->own_open = w->proc_open = 1;
		w->sysnr = 7;
		t->res = 8;
		t->role = ROLE_SERVER;
		t->h.tid = t->first_tid = READER;
		synth_wait(s, WORKER, WAIT_PIPE, 5, at - 14, at + 1, at + 1, READER);
		synth_wait(s, WORKER, WAIT_POLL, 6, at + 3, at + 84, at + 84, BACKEND);
		synth_wait(s, BACKEND, WAIT_PIPE, 7, at - 15, at + 2.5, at + 2.5, WORKER);
		synth_irq_wait(s, BACKEND, WAIT_TIMER, 9, at + 3, at + 83, at + 83, WAKER_TIMER);
	}
	synth_end(s, 20, ROLE_SERVER, 53, 20, 1700);
	synth_proc(s, 20)->open_ns = 1700000000;
	return s;
}

TEST(handed_on_is_not_left_to_the_client)
{
	struct judged j;

	judge(&j, reader_and_worker());
	EQ_S(finding_name(j.v->findings[0].cls), "peer");
	EQ_S(j.v->findings[0].culprit.comm, "backend");
	judged_release(&j);
}

/* The worker answers at once, when the reader lies down already: what it counts is over. */
TEST(handed_on_and_answered_is_not_open)
{
	struct synth *s = synth_new(2000);
	struct judged j;

	synth_thread(s, READER, 20, "receiver");
	synth_thread(s, WORKER, 20, "answerer");
	synth_sock(s, 8, ROLE_SERVER, 0, 0)->sotype = SOCK_DGRAM;
	synth_res(s, 5, RES_PIPE, "to do");
	for (int i = 0; i < 20; i++) {
		double at = i * 100;
		struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), at + 2.1);
		struct ev_wait *w = synth_irq_wait(s, READER, WAIT_SOCKET, 8, at + 2, at + 99.5,
						   at + 99.5, WAKER_NET);

		w->own_open = w->proc_open = i % 2;
		w->sysnr = 7;
		t->res = 8;
		t->role = ROLE_SERVER;
		t->h.tid = t->first_tid = READER;
		synth_wait(s, WORKER, WAIT_PIPE, 5, at - 97, at + 1.9, at + 1.9, READER);
	}
	synth_end(s, 20, ROLE_SERVER, 53, 20, 4);
	synth_proc(s, 20)->open_ns = 4000000;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "healthy");
	judged_release(&j);
}

/* Thread 80 polls sockets 1 to 4; 81 and 82 read them and always have a request open. */
static struct synth *fed_world(bool polled)
{
	struct synth *s = synth_new(1000);

	for (uint32_t t = 80; t < 83; t++)
		synth_thread(s, t, 80, "exec");
	synth_res(s, 90, RES_EPOLL, NULL);
	for (int i = 1; i < 5; i++)
		synth_sock(s, i, ROLE_SERVER, 0x7f000001, 80);
	for (int i = 0; i < 9; i++) {
		struct ev_wait *w = synth_irq_wait(s, 80, WAIT_EPOLL, 90, i * 100 + 1, i * 100 + 99,
						   i * 100 + 99, WAKER_NET);

		/* told with the wait after it: which socket it was */
		w->first_io = polled && i ? 1 + i % 4 : 0;
		for (uint32_t t = 81; t < 83; t++) {
			struct ev_turn *turn = synth_event(s, EV_TURN, sizeof(*turn), i * 100 + 99);

			w = synth_irq_wait(s, t, WAIT_FUTEX, t, i * 100 + 2, i * 100 + 98,
					   i * 100 + 98, WAKER_TIMER);
			w->own_open = 1;
			w->proc_open = 2;
			turn->res = 1 + (i + t) % 4;
			turn->role = ROLE_SERVER;
			turn->h.tid = turn->first_tid = t;
		}
	}
	return s;
}

/* A pool without rest looks like a loop without rest, but for who polls its sockets. */
TEST(waits_tell_fed_worker_from_loop)
{
	for (int polled = 0; polled < 2; polled++) {
		struct judged j;

		judge(&j, fed_world(polled));
		EQ_S(role_name(j.w->threads[1].role), polled ? "request thread" : "event loop");
		judged_release(&j);
	}
}

/*
 * Sessions that slept in pieces when the watch began, of a request that nobody saw come,
 * and do so later for requests that were seen: where they sleep is no place for work.
 */
static struct synth *sessions_asleep(void)
{
	struct synth *s = synth_new(1000);

	for (uint32_t t = 80; t < 84; t++) {
		synth_thread(s, t, 80, "session");
		synth_res(s, t, RES_FUTEX, NULL);
	}
	for (uint32_t t = 80; t < 84; t++) {
		struct ev_wait *w;

		for (int i = 0; i < 10; i++) {
			w = synth_irq_wait(s, t, WAIT_FUTEX, t, 1 + i * 10, 10 + i * 10,
					   10 + i * 10, WAKER_TIMER);
			w->flags |= i ? 0 : WAITF_BEFORE_START;
		}
		for (int i = 0; i < 4; i++) {
			w = synth_wait(s, t, WAIT_FUTEX, t, 102 + i * 200, 295 + i * 200,
				       295 + i * 200, 80 + (t + 1) % 4);
			w->own_open = 1;
			w->proc_open = 4;
		}
	}
	synth_end(s, 80, ROLE_SERVER, 80, 16, 3200);
	synth_proc(s, 80)->open_ns = 3200000000;
	return s;
}

TEST(handed_is_not_who_slept_before_the_watch)
{
	struct judged j;

	judge(&j, sessions_asleep());
	for (uint32_t t = 0; t < j.m->thread_cnt; t++)
		OK(j.w->threads[t].demand_ns > 500000000);
	judged_release(&j);
}
