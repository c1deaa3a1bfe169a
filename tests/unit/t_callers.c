/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that lie unaccepted before a thread that reads from one at a time. */
#include "judged.h"
#include "unit.h"
#include "verdict/context/tail.h"

enum { SRV = 10, LISTENER = 5, QUIET = 6, REQ_MS = 20 };

static void asks(struct synth *s, uint64_t res, double at)
{
	struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), at + 1);

	synth_sock(s, res, ROLE_SERVER, 0x7f000001, 80);
	t->h.tid = t->first_tid = t->tgid = SRV;
	t->res = res;
	t->role = ROLE_SERVER;
	t->service_ns = 1000000;
}

/*
 * A server with one thread: for 200 ms of each 800 it answers a new connection now and
 * then, for 600 it reads from one that says nothing.  A line: so many wait meanwhile.
 */
static struct synth *one_thread(uint32_t line)
{
	struct synth *s = synth_new(3200);

	synth_thread(s, SRV, SRV, "srv");
	synth_sock(s, LISTENER, ROLE_LISTEN, 0, 0)->lport = 80;
	synth_sock(s, QUIET, ROLE_SERVER, 0x7f000001, 80);
	for (int i = 0; i < 4; i++) {
		double at = i * 800;
		struct ev_wait *w = synth_irq_wait(s, SRV, WAIT_SOCKET, QUIET, at + 200,
						   at + 799, at + 799, WAKER_NET);
		struct ev_listen *l = synth_event(s, EV_LISTEN, sizeof(*l), at + 500);

		w->op = WAIT_OP_READ;
		l->tgid = SRV;
		l->lport = 80;
		l->backlog = line;
		l->backlog_max = 128;
		for (int j = 0; j < 200 / REQ_MS; j++) {
			double from = at + j * REQ_MS;

			asks(s, 100 + i * 100 + j, from);
			synth_irq_wait(s, SRV, WAIT_POLL, LISTENER, from + 1, from + REQ_MS - 0.1,
				       from + REQ_MS - 0.1, WAKER_NET);
		}
	}
	synth_end(s, SRV, ROLE_SERVER, 80, 40, 40);
	synth_proc(s, SRV)->open_ns = 40000000;
	return s;
}

TEST(callers_wait_for_a_client_that_says_nothing)
{
	for (uint32_t line = 0; line <= 3; line += 3) {
		struct judged j;

		judge(&j, one_thread(line));
		ROW((int)line);
		EQ_S(finding_name(j.v->findings[0].cls), line ? "clients" : "healthy");
		EQ_U(j.v->tail ? j.v->tail->stall_cnt : 0, 0);
		judged_release(&j);
	}
}
