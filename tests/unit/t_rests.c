/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that went on after their first part. */
#include "synth.h"
#include "unit.h"

enum { SRV = 20, OTHER = 21, CLIENT_SOCK = 1, PEER_SOCK = 2 };

static void turn(struct synth *s, double begin_ms, double end_ms, uint32_t flags)
{
	struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), end_ms);

	t->res = CLIENT_SOCK;
	t->role = ROLE_SERVER;
	t->flags = flags;
	t->tgid = t->h.tid = t->first_tid = SRV;
	t->service_ns = (uint64_t)((end_ms - begin_ms) * 1e6);
}

static unsigned open_at(const struct model *m, double off_ms)
{
	for (size_t i = 0; i < m->wait_cnt; i++) {
		if (m->waits[i].off_ns == m->begin_ns + (uint64_t)(off_ms * 1e6))
			return m->waits[i].own_open;
	}
	return 99;
}

TEST(rests_belong_to_their_request)
{
	struct synth *s = synth_new(1000);
	const struct model *m;

	synth_thread(s, SRV, SRV, "srv");
	synth_thread(s, OTHER, SRV, "other");
	synth_sock(s, CLIENT_SOCK, ROLE_SERVER, 0x7f000001, 80);
	synth_sock(s, PEER_SOCK, ROLE_CLIENT, 0x7f000001, 81);
	for (int i = 0; i < 9; i++)
		synth_irq_wait(s, SRV, WAIT_TIMER, 0, 10 + i * 100, 90 + i * 100, 91 + i * 100,
			       WAKER_TIMER);
	synth_irq_wait(s, SRV, WAIT_SOCKET, CLIENT_SOCK, 292, 294, 294.1, WAKER_NET);
	synth_irq_wait(s, SRV, WAIT_SOCKET, PEER_SOCK, 295, 299, 299.1, WAKER_NET);
	synth_irq_wait(s, OTHER, WAIT_TIMER, 0, 311, 390, 391, WAKER_TIMER);
	turn(s, 101, 500, TURNF_SLOW | TURNF_REST);
	turn(s, 302, 350, TURNF_SLOW | TURNF_REST); /* inside the other, ends in a wait */
	turn(s, 601, 800, TURNF_SLOW);
	m = synth_model(s);
	EQ_U(open_at(m, 10), 0);
	for (int i = 1; i < 5; i++) {
		ROW(i);
		EQ_U(open_at(m, 10 + i * 100), 1);
	}
	EQ_U(open_at(m, 510), 0);
	EQ_U(open_at(m, 610), 0); /* the probe knew of all of that one */
	EQ_U(open_at(m, 292), 0); /* its client, not its work */
	EQ_U(open_at(m, 295), 1);
	EQ_U(open_at(m, 311), 0); /* another thread's */
	synth_free(s);
}
