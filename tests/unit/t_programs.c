/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that a server runs, for each request or for all of them. */
#include "judged.h"
#include "unit.h"

enum { SERVER = 20, HELPER = 90, CLIENT = 8, SET = 5, TURNS = 20 };

static void answer(struct synth *s, double at_ms)
{
	struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), at_ms);

	t->res = CLIENT;
	t->role = ROLE_SERVER;
	t->tgid = SERVER;
	t->h.tid = t->first_tid = SERVER;
	t->service_ns = 90000000;
}

static struct synth *server(void)
{
	struct synth *s = synth_new(TURNS * 100 + 100);

	synth_thread(s, SERVER, SERVER, "server");
	synth_sock(s, CLIENT, ROLE_SERVER, 0x7f000001, 80);
	synth_end(s, SERVER, ROLE_SERVER, 80, TURNS, TURNS * 90);
	synth_proc(s, SERVER)->open_ns = TURNS * 90000000ULL;
	return s;
}

/* A hook of each request sleeps; or the server's own child does, forked and no program. */
static struct synth *run_for_each(const char *name)
{
	struct synth *s = server();

	synth_res(s, SET, RES_CHILD, "child");
	for (uint32_t i = 0; i < TURNS; i++) {
		uint32_t hook = 30 + i;
		double at = 100 * i + 5;
		struct ev_wait *w;

		synth_task(s, hook, hook, name, TASKF_TARGET)->ppid = SERVER;
		synth_irq_wait(s, hook, WAIT_TIMER, 0, at + 2, at + 89, at + 89, WAKER_TIMER);
		synth_exit(s, hook, at + 90);
		w = synth_wait(s, SERVER, WAIT_CHILD, SET, at + 1, at + 90, at + 90, hook);
		w->own_open = w->proc_open = 1;
		answer(s, at + 91);
		synth_irq_wait(s, SERVER, WAIT_SOCKET, CLIENT, at + 92, at + 99, at + 99,
			       WAKER_NET);
	}
	return s;
}

TEST(program_run_for_a_request_sleeps)
{
	struct judged j;

	judge(&j, run_for_each("hook"));
	EQ_S(finding_name(j.v->findings[0].cls), "peer");
	EQ_S(j.v->findings[0].culprit.comm, "hook");
	HAS(j.v->findings[0].next_step, "shorten the sleep of hook");
	judged_release(&j);

	judge(&j, run_for_each("server"));
	EQ_S(finding_name(j.v->findings[0].cls), "timer");
	judged_release(&j);
}

/* A loop waits for the one program that answers it, among all else. */
TEST(program_that_a_loop_asks_is_a_peer)
{
	struct synth *s = server();
	struct judged j;

	synth_thread(s, HELPER, HELPER, "lookup")->ppid = SERVER;
	synth_res(s, SET, RES_EPOLL, "epoll");
	for (uint32_t i = 0; i < TURNS; i++) {
		double at = 100 * i + 5;
		struct ev_wait *w;

		synth_irq_wait(s, HELPER, WAIT_TIMER, 0, at + 2, at + 89, at + 89, WAKER_TIMER);
		w = synth_wait(s, SERVER, WAIT_EPOLL, SET, at + 1, at + 90, at + 90, HELPER);
		w->own_open = w->proc_open = 1;
		answer(s, at + 91);
		synth_irq_wait(s, SERVER, WAIT_EPOLL, SET, at + 92, at + 99, at + 99, WAKER_NET)
			->first_io = CLIENT;
	}
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "peer");
	EQ_S(j.v->findings[0].culprit.comm, "lookup");
	judged_release(&j);
}

/* A program asks a service elsewhere, by a poll that looks up from time to time. */
TEST(program_run_for_a_request_asks)
{
	struct synth *s = server();
	struct judged j;

	synth_res(s, SET, RES_CHILD, "child");
	for (uint32_t i = 0; i < TURNS; i++) {
		uint32_t hook = 30 + i;
		double at = 100 * i + 5;
		struct ev_end *asks;
		struct ev_wait *w;

		synth_task(s, hook, hook, "hook", TASKF_TARGET)->ppid = SERVER;
		synth_res(s, 100 + i, RES_POLLSET, "poll set of hook");
		asks = synth_end(s, hook, ROLE_CLIENT, 9001, 1, 87);
		memcpy(asks->raddr, ((uint8_t[16]){ [10] = 0xff, 0xff, 10, 0, 0, 9 }), 16);
		synth_irq_wait(s, hook, WAIT_POLL, 100 + i, at + 2, at + 60, at + 60, WAKER_TIMER);
		synth_irq_wait(s, hook, WAIT_POLL, 100 + i, at + 60.1, at + 89, at + 89, WAKER_NET);
		synth_exit(s, hook, at + 90);
		w = synth_wait(s, SERVER, WAIT_CHILD, SET, at + 1, at + 90, at + 90, hook);
		w->own_open = w->proc_open = 1;
		answer(s, at + 91);
		synth_irq_wait(s, SERVER, WAIT_SOCKET, CLIENT, at + 92, at + 99, at + 99,
			       WAKER_NET);
	}
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "external");
	HAS(j.v->findings[0].resource, ":9001");
	judged_release(&j);
}
