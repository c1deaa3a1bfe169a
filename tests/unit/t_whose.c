/* SPDX-License-Identifier: Apache-2.0 */
/* In whose request the thread is that has a lock. */
#include <string.h>

#include "judged.h"
#include "unit.h"

enum { LOCK = 7, CLIENT = 100 };

/* Thread 20 keeps a lock while it sleeps in a request; 21 and 22 wait for it in theirs. */
static struct synth *sessions(void)
{
	struct synth *s = synth_new(1000);

	synth_res(s, LOCK, RES_FUTEX, NULL);
	for (uint32_t t = 20; t < 23; t++) {
		struct ev_res *r;
		struct ev_sock *sock;

		synth_thread(s, t, 20, "srv");
		r = synth_sock(s, CLIENT + t, ROLE_SERVER, 0x7f000001, 80);
		r->lport = 80;
		r->rport = (uint16_t)(5000 + t);
		r->peer_tgid = 900 + t;
		r->peer_comm = synth_str(s, "psql");
		sock = synth_event(s, EV_SOCK, sizeof(*sock), 999);
		sock->res = CLIENT + t;
		sock->role = ROLE_SERVER;
		sock->tgid = 20;
		sock->h.tid = sock->last_tid = t;
		sock->last_rx_ns = synth_ns(s, 900);
	}
	synth_end(s, 20, ROLE_SERVER, 80, 30, 2700);
	synth_proc(s, 20)->open_ns = 2700000000;
	for (int i = 0; i < 10; i++) {
		double at = i * 100;

		synth_irq_wait(s, 20, WAIT_TIMER, 0, at + 1, at + 90, at + 90, WAKER_TIMER)
			->own_open = 1;
		for (uint32_t t = 21; t < 23; t++)
			synth_wait(s, t, WAIT_FUTEX, LOCK, at + 2, at + 91, at + 91, 20)
				->own_open = 1;
		for (uint32_t t = 20; t < 23; t++)
			synth_irq_wait(s, t, WAIT_SOCKET, CLIENT + t, at + 92, at + 99, at + 99,
				       WAKER_NET);
	}
	return s;
}

TEST(whose_request_has_the_lock)
{
	struct judged j;
	bool said = false;

	judge(&j, sessions());
	EQ_S(finding_name(j.v->findings[0].cls), "lock-held");
	for (size_t i = 0; i < j.v->findings[0].evidence_cnt; i++)
		said |= strstr(j.v->findings[0].evidence[i],
			       ", which has it, serves psql (pid 920) at 127.0.0.1:5020") != NULL;
	OK(said);
	judged_release(&j);
}
