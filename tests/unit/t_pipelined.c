/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that sends the requests of all its clients to a service on one connection. */
#include "judged.h"
#include "unit.h"

enum { PROXY = 10, BACK = 20, SET = 5, OUT = 6, IN = 7, ASKS = 14, EACH_MS = 70 };

/*
 * Four requests are open at any time, of which one counts as asked for.  unread: the
 * others lie unread before the service, else they wait in the loop for their turn.
 */
static struct synth *loop_asks(bool unread)
{
	struct synth *s = synth_new(ASKS * EACH_MS);
	struct ev_end *out;

	synth_thread(s, PROXY, PROXY, "proxy");
	synth_task(s, BACK, BACK, "cache", TASKF_PEER);
	synth_res(s, SET, RES_EPOLL, NULL);
	synth_sock(s, OUT, ROLE_CLIENT, 0x7f000001, 90)->peer_tgid = BACK;
	synth_sock(s, IN, ROLE_SERVER, 0x7f000001, 80);
	for (int i = 0; i < ASKS; i++) {
		double at = i * EACH_MS;
		struct ev_wait *w = synth_wait(s, PROXY, WAIT_EPOLL, SET, at + 1, at + EACH_MS - 1,
					       at + EACH_MS - 1, 0);

		w->waker_ctx = WAKER_NET;
		w->own_open = w->proc_open = 4;
		w->first_io = i ? OUT : 0;
		synth_irq_wait(s, BACK, WAIT_TIMER, 0, at + 1, at + EACH_MS - 2, at + EACH_MS - 2,
			       WAKER_TIMER);
	}
	synth_end(s, PROXY, ROLE_SERVER, 80, ASKS, ASKS * EACH_MS * 4);
	synth_proc(s, PROXY)->open_ns = ASKS * EACH_MS * 4 * 1000000ULL;
	out = synth_end(s, PROXY, ROLE_CLIENT, 90, ASKS, ASKS * (EACH_MS - 4));
	out->peer_tgid = BACK;
	synth_proc(s, BACK)->unread_ns = unread ? ASKS * (EACH_MS - 4) * 1000000ULL : 0;
	return s;
}

TEST(pipelined_requests_that_lie_unread_are_the_services)
{
	for (int unread = 0; unread < 2; unread++) {
		struct judged j;

		judge(&j, loop_asks(unread));
		ROW(unread);
		EQ_S(finding_name(j.v->findings[0].cls), unread ? "peer" : "conn-limit");
		EQ_U(j.v->findings[0].culprit.pid, unread ? BACK : PROXY);
		judged_release(&j);
	}
}
