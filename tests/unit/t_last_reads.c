/* SPDX-License-Identifier: Apache-2.0 */
/* What ended the last wait of a process that is forked for each connection. */
#include "judged.h"
#include "unit.h"

enum { BACK = 300, CHILDREN = 8, PORT = 80, BACK_PORT = 81 };

static void turn(struct synth *s, uint32_t tid, uint64_t res, unsigned role, double at, double ms)
{
	struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), at);

	t->h.tid = t->first_tid = t->tgid = tid;
	t->res = res;
	t->role = role;
	t->service_ns = (uint64_t)(ms * 1e6);
}

/*
 * Each child passes one request on to a service that takes 150 ms, and waits for both
 * sides with select; answered: by the service, else its client goes on after as long.
 */
static struct synth *passes_on(bool answered)
{
	struct synth *s = synth_new(2000);

	for (uint32_t i = 0; i < CHILDREN; i++) {
		uint32_t tid = 100 + i, set = 400 + i, in = 500 + i, out = 600 + i;
		double at = 10 + i * 200;
		struct ev_wait *w;

		synth_thread(s, tid, tid, "proxy");
		synth_res(s, set, RES_EPOLL, NULL);
		synth_sock(s, in, ROLE_SERVER, 0x7f000001, PORT);
		synth_sock(s, out, ROLE_CLIENT, 0x0a000001, BACK_PORT);
		synth_end(s, tid, ROLE_SERVER, PORT, 1, 151);
		synth_proc(s, tid)->open_ns = 151000000;
		synth_irq_wait(s, tid, WAIT_SOCKET, in, 0, at - 1, at - 1, WAKER_NET);
		w = synth_irq_wait(s, tid, WAIT_POLL, set, at, at + 150, at + 150, WAKER_NET);
		w->own_open = w->proc_open = 1;
		w->first_io = in; /* read after the wait before */
		if (answered)
			turn(s, tid, out, ROLE_CLIENT, at + 150.1, 150);
		turn(s, tid, in, ROLE_SERVER, at + 150.3, 150.4);
		synth_exit(s, tid, at + 151);
	}
	return s;
}

TEST(last_reads_of_a_process_tell_upstreams_from_clients)
{
	for (int answered = 0; answered < 2; answered++) {
		struct judged j;

		judge(&j, passes_on(answered));
		ROW(answered);
		EQ_S(finding_name(j.v->findings[0].cls), answered ? "external" : "clients");
		judged_release(&j);
	}
}
