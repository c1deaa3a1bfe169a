/* SPDX-License-Identifier: Apache-2.0 */
/* A session that wakes others at its client's word: it says what that one did, or has a lock. */
#include "judged.h"
#include "unit.h"

enum { RELAY = 100, SESSIONS = 3, TURNS = 20, STANDBY = 200, HELPER = 90 };

static void session(struct synth *s, uint32_t tid)
{
	synth_thread(s, tid, tid, "session");
	synth_res(s, 300 + tid, RES_EPOLL, NULL);
	synth_sock(s, 600 + tid, ROLE_SERVER, 0x7f000001, 80);
	synth_end(s, tid, ROLE_SERVER, 80, TURNS, TURNS * 45);
	synth_proc(s, tid)->open_ns = TURNS * 45 * 1000000ULL;
}

static void turn(struct synth *s, uint32_t tid, double at)
{
	struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), at);

	t->h.tid = t->first_tid = t->tgid = tid;
	t->res = 600 + tid;
	t->role = ROLE_SERVER;
	t->service_ns = 45000000;
}

/*
 * Each 50 ms three sessions wait until a fourth wakes them, once its own client has said
 * something; answers: that was a request, which it has answered then; helper: another
 * thread that it wakes wakes all but one of them.
 */
static struct synth *sessions(bool answers, bool helper)
{
	struct synth *s = synth_new(TURNS * 50);

	session(s, RELAY);
	for (uint32_t t = 1; t <= SESSIONS; t++)
		session(s, RELAY + t);
	synth_thread(s, HELPER, HELPER, "session");
	synth_res(s, HELPER, RES_FUTEX, NULL);
	synth_task(s, STANDBY, STANDBY, "standby", TASKF_PEER);
	for (int i = 0; i < TURNS; i++) {
		double at = i * 50;
		struct ev_wait *w = synth_irq_wait(s, RELAY, WAIT_EPOLL, 300 + RELAY, at + 0.5,
						   at + 48, at + 48, WAKER_NET);

		w->flags |= WAITF_PEER_CTX;
		w->waker_tid = w->waker_tgid = STANDBY;
		w->own_open = w->proc_open = !answers;
		w->first_io = i ? 600 + RELAY : 0;
		synth_irq_wait(s, STANDBY, WAIT_TIMER, 0, at + 1, at + 47.9, at + 47.9,
			       WAKER_TIMER);
		if (answers)
			turn(s, RELAY, at + 49);
		if (helper)
			synth_wait(s, HELPER, WAIT_FUTEX, HELPER, at + 1, at + 48.1, at + 48.1,
				   RELAY);
		for (uint32_t t = RELAY + 1; t <= RELAY + SESSIONS; t++) {
			w = synth_wait(s, t, WAIT_EPOLL, 300 + t, at + 2, at + 48.2, at + 48.3,
				       helper && t > RELAY + 1 ? HELPER : RELAY);
			w->own_open = w->proc_open = 1;
			turn(s, t, at + 49);
		}
	}
	return s;
}

TEST(relays_are_no_holders)
{
	for (int answers = 0; answers < 2; answers++) {
		struct judged j;

		judge(&j, sessions(answers, false));
		ROW(answers);
		EQ_S(finding_name(j.v->findings[0].cls), answers ? "lock-held" : "peer");
		EQ_U(j.v->findings[0].culprit.pid, answers ? RELAY : STANDBY);
		judged_release(&j);
	}
}

/* Who is woken by way of a helper is not known to wait for that client. */
TEST(relays_are_followed_one_step)
{
	struct judged j;
	uint64_t ns = 0;

	judge(&j, sessions(false, true));
	for (size_t i = 0; i < j.w->cause_cnt; i++)
		if (j.w->causes[i].kind == CAUSE_EXTERNAL) {
			EQ_U(j.m->threads[j.w->causes[i].entry].tid, RELAY + 1);
			ns += j.w->causes[i].ns;
		}
	OK(ns > 0);
	judged_release(&j);
}
