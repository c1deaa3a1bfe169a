/* SPDX-License-Identifier: Apache-2.0 */
/* Connections without an answer since before the watch, beside requests that are answered. */
#include <string.h>
#include <sys/socket.h>

#include "judged.h"
#include "unit.h"

enum { SRV = 20 };

/* Both snapshots; the first tells nothing of what is older than itself. */
static struct ev_conn *conns(struct synth *s, unsigned role, uint16_t port, uint32_t cnt)
{
	struct ev_conn *c = NULL;

	for (int end = 0; end < 2; end++) {
		c = synth_event(s, EV_CONN, sizeof(*c), end ? 1000 : 0);
		c->tgid = SRV;
		c->family = AF_INET;
		c->role = (uint8_t)role;
		c->conns = cnt;
		if (role == ROLE_SERVER) {
			c->lport = port;
			c->owe_reply = cnt;
			c->oldest_owe_ms = 3000;
		} else {
			c->rport = port;
			c->raddr[0] = 10;
			c->raddr[3] = 1;
			c->await_reply = cnt;
			c->oldest_await_ms = 2990;
		}
	}
	return c; /* the last */
}

/* A loop that answers 200 requests in a second, each within half a millisecond. */
static struct synth *quick_loop(void)
{
	struct synth *s = synth_new(1000);

	synth_thread(s, SRV, SRV, "proxy");
	synth_res(s, 6, RES_EPOLL, NULL);
	synth_sock(s, 8, ROLE_SERVER, 0x7f000001, 80);
	synth_sock(s, 9, ROLE_SERVER, 0x7f000001, 80);
	for (int i = 0; i < 200; i++) {
		struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), i * 5 + 5);

		t->res = 8 + i % 2;
		t->role = ROLE_SERVER;
		t->h.tid = t->first_tid = SRV;
		synth_irq_wait(s, SRV, WAIT_EPOLL, 6, i * 5 + 0.5, i * 5 + 5, i * 5 + 5, WAKER_NET);
	}
	synth_end(s, SRV, ROLE_SERVER, 80, 200, 100);
	synth_proc(s, SRV)->open_ns = 100000000;
	return s;
}

TEST(unanswered_ends_at_who_is_awaited)
{
	struct synth *s = quick_loop();
	struct ev_conn *c = conns(s, ROLE_SERVER, 80, 3);
	struct judged j;
	uint64_t ns = 0;

	c->owe_stale = c->owe_first = 3;
	conns(s, ROLE_CLIENT, 9000, 4)->await_stale = 4;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "external");
	EQ_S(j.v->findings[0].resource, "10.0.0.1:9000");
	EQ_U(j.w->total.stale_cnt, 3); /* the fourth is asked for nobody */
	EQ_U(j.w->total.open_oldest_ns, 3000000000);
	for (size_t i = 0; i < j.w->cause_cnt; i++)
		ns += j.w->causes[i].kind == CAUSE_EXTERNAL ? j.w->causes[i].ns : 0;
	EQ_U(ns, 3000000000);
	judged_release(&j);
}

/* Of two that are awaited, the one that was asked since the request came. */
TEST(unanswered_was_asked_for_this_request)
{
	struct synth *s = quick_loop();
	struct ev_conn *c;
	struct judged j;

	conns(s, ROLE_SERVER, 80, 1)->owe_stale = 1;
	c = conns(s, ROLE_CLIENT, 9000, 1); /* as one who waits for messages */
	c->await_stale = 1;
	c->oldest_await_ms = 100000;
	conns(s, ROLE_CLIENT, 9001, 1)->await_stale = 1;
	judge(&j, s);
	EQ_S(j.v->findings[0].resource, "10.0.0.1:9001");
	judged_release(&j);
}

/* Nobody is asked: no finding, but no certainty either, since the client may wait. */
TEST(unanswered_alone_is_no_finding)
{
	for (int owed = 0; owed < 2; owed++) {
		struct synth *s = quick_loop();
		struct judged j;

		if (owed)
			conns(s, ROLE_SERVER, 80, 5)->owe_stale = 5;
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), "healthy");
		EQ_I(j.v->findings[0].conf, owed ? CONF_LOW : CONF_MEDIUM); /* a short watch */
		EQ_U(j.w->total.stale_cnt, 0);
		judged_release(&j);
	}
}

/*
 * Most of its clients never got an answer, another of the port does: that one hides
 * nothing.  Where most do, the few may wait for news.
 */
TEST(unanswered_ever_is_hung)
{
	for (int few = 0; few < 2; few++) {
		struct synth *s = quick_loop();
		struct ev_conn *c = conns(s, ROLE_SERVER, 80, 5);
		struct judged j;

		c->owe_stale = c->owe_first = 5;
		c->conns = few ? 20 : 6;
		judge(&j, s);
		ROW(few);
		EQ_S(finding_name(j.v->findings[0].cls), few ? "healthy" : "unknown");
		if (!few)
			HAS(j.v->findings[0].summary, "5 connections");
		OK(j.v->findings[0].conf < CONF_HIGH);
		judged_release(&j);
	}
}

/* Two that were accepted and not greeted, while an answer is awaited. */
TEST(unanswered_waits_to_be_greeted)
{
	struct synth *s = quick_loop();
	struct ev_conn *c = conns(s, ROLE_SERVER, 80, 2);
	struct judged j;

	c->silent_conns = 2;
	conns(s, ROLE_CLIENT, 53, 2)->await_stale = 2;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "external");
	EQ_U(j.w->total.stale_cnt, 2);
	judged_release(&j);
}

/* Asked in datagrams; its own questions are given up, each socket closed without an answer. */
TEST(unanswered_questions_are_given_up)
{
	enum { GIVEN_UP, ANSWERED, TOLD };

	for (int what = GIVEN_UP; what <= TOLD; what++) {
		struct synth *s = quick_loop();
		struct ev_res *in = synth_sock(s, 10, ROLE_SERVER, 0, 0);
		struct ev_res *out = synth_sock(s, 11, ROLE_CLIENT, 0x0a000001, 53);
		struct ev_end *e;
		struct judged j;

		in->sotype = out->sotype = SOCK_DGRAM;
		in->tgid = out->tgid = SRV;
		in->lport = 53;
		in->rport = 0;
		synth_end(s, SRV, ROLE_SERVER, 53, 200, 20)->partial_cnt = 4;
		e = synth_end(s, SRV, ROLE_CLIENT, 53, what == ANSWERED ? 20 : 0, 0);
		e->raddr[0] = 10;
		e->raddr[3] = 1;
		e->conns = what == TOLD ? 1 : 20; /* who only tells keeps his socket */
		e->open_now = what == TOLD;
		e->open_tick_ns = 4000000000;
		judge(&j, s);
		ROW(what);
		EQ_S(finding_name(j.v->findings[0].cls), what == GIVEN_UP ? "external" : "healthy");
		judged_release(&j);
	}
}

/* Two wait to be greeted; a name is asked for once, or a counter is sent again and again. */
TEST(unanswered_question_is_no_report)
{
	for (int again = 0; again < 2; again++) {
		struct synth *s = quick_loop();
		struct ev_res *out = synth_sock(s, 11, ROLE_CLIENT, 0x0a000001, 53);
		struct ev_sock *k = synth_event(s, EV_SOCK, sizeof(*k), 999);
		struct ev_end *e = synth_end(s, SRV, ROLE_CLIENT, 53, 0, 0);
		struct judged j;

		out->sotype = SOCK_DGRAM;
		out->tgid = SRV;
		e->raddr[0] = 10;
		e->raddr[3] = 1;
		e->open_now = 1;
		k->res = 11;
		k->tgid = SRV;
		k->role = ROLE_CLIENT;
		k->open_since_ns = synth_ns(s, 100);
		k->last_tx_ns = synth_ns(s, again ? 900 : 100);
		conns(s, ROLE_SERVER, 80, 2)->silent_conns = 2;
		judge(&j, s);
		ROW(again);
		EQ_S(finding_name(j.v->findings[0].cls), again ? "healthy" : "external");
		judged_release(&j);
	}
}

/* A thread that sleeps for the same answer with that request open: it is one request. */
TEST(unanswered_is_not_counted_twice)
{
	struct synth *s = quick_loop();
	struct ev_wait *w;
	struct judged j;
	uint64_t ns = 0;

	synth_thread(s, 30, SRV, "worker");
	synth_sock(s, 12, ROLE_CLIENT, 0x0a000001, 9000)->tgid = SRV;
	w = synth_pending(s, 30, WAIT_SOCKET, 12, 1);
	w->flags |= WAITF_BEFORE_START;
	w->own_open = w->proc_open = 1;
	conns(s, ROLE_SERVER, 80, 1)->owe_stale = 1;
	conns(s, ROLE_CLIENT, 9000, 1)->await_stale = 1;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "external");
	for (size_t i = 0; i < j.w->cause_cnt; i++)
		ns += j.w->causes[i].kind == CAUSE_EXTERNAL ? j.w->causes[i].ns : 0;
	OK(ns > 900000000 && ns < 1100000000);
	judged_release(&j);
}
