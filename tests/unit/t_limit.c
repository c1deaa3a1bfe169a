/* SPDX-License-Identifier: Apache-2.0 */
/* Is a lock that is waited for a limit, and is it the one that requests wait for? */
#include "judged.h"
#include "unit.h"

enum { LOCK = 7, SET = 8, SRV = 20, WORKER = 21 };

/*
 * Four threads take a mutex by turns and keep it for 10 ms; who comes next waits for the
 * last of them only.
 */
TEST(limit_is_not_told_from_holders_between_waits)
{
	struct synth *s = synth_new(1000);
	struct judged j;

	for (uint32_t t = 60; t < 64; t++)
		synth_thread(s, t, 60, "worker");
	synth_res(s, LOCK, RES_FUTEX, NULL);
	for (uint32_t i = 0; i < 90; i++) {
		double at = i * 10;

		synth_wait(s, 60 + i % 4, WAIT_FUTEX, LOCK, at + 9, at + 10, at + 10,
			   60 + (i + 3) % 4);
	}
	judge(&j, s);
	EQ_U(j.w->lock_cnt, 1);
	EQ_U(j.w->locks[0].cls, LOCK_LOCK);
	OK(j.w->locks[0].holders_avg > 0.8 && j.w->locks[0].holders_avg < 1.2);
	EQ_S(finding_name(j.v->findings[0].cls), "cpu-own");
	judged_release(&j);
}

/*
 * Six requests are open.  Threads pass a futex two at a time, for 199 ms asleep: six,
 * which wait for each other most of the time, or three, which hardly do and rest, so
 * that nobody works on most requests.
 */
static void pass(struct synth *s, uint32_t cnt, uint32_t i)
{
	uint32_t t = WORKER + i % cnt;
	double at = i * 100 + 99, wait_ms = cnt > 3 ? (cnt - 2) * 100 - 5 : 0.05;

	synth_wait(s, t, WAIT_FUTEX, LOCK, at - wait_ms, at, at, WORKER + (i + cnt - 2) % cnt);
	synth_irq_wait(s, t, WAIT_TIMER, 0, at + 0.1, at + 199.5, at + 199.5, WAKER_TIMER);
	if (cnt == 3)
		synth_wait(s, t, WAIT_FUTEX, t, at + 201, at + 299, at + 299, SRV);
}

static struct synth *line_world(uint32_t cnt)
{
	struct synth *s = synth_new(5000);
	struct ev_proc *p;

	synth_thread(s, SRV, SRV, "loop");
	synth_res(s, SET, RES_EPOLL, NULL);
	synth_res(s, LOCK, RES_FUTEX, "the futex");
	synth_sock(s, 1, ROLE_SERVER, 0x7f000001, 80);
	synth_sock(s, 2, ROLE_SERVER, 0x7f000001, 80);
	for (uint32_t t = WORKER; t < WORKER + cnt; t++) {
		synth_thread(s, t, SRV, "worker");
		synth_res(s, t, RES_FUTEX, NULL);
	}
	for (uint32_t i = 0; i < 49; i++) {
		double at = i * 100;
		struct ev_turn *turn = synth_event(s, EV_TURN, sizeof(*turn), at + 99);
		struct ev_wait *w = synth_irq_wait(s, SRV, WAIT_EPOLL, SET, at + 1, at + 99,
						   at + 99, WAKER_NET);

		w->own_open = w->proc_open = 6;
		turn->res = 1 + i % 2;
		turn->role = ROLE_SERVER;
		turn->tgid = turn->h.tid = turn->first_tid = SRV;
		turn->service_ns = 600000000;
		pass(s, cnt, i);
	}
	synth_end(s, SRV, ROLE_SERVER, 80, 49, 30000);
	p = synth_proc(s, SRV);
	p->open_ns = 30000000000;
	p->open = 6;
	return s;
}

TEST(limit_has_the_name_of_a_lock_that_is_waited_for)
{
	static const struct { uint32_t threads; const char *resource; } rows[] = {
		{ 6, "the futex" }, { 3, "connection limit of port 80" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct judged j;

		judge(&j, line_world(rows[i].threads));
		ROW(i);
		EQ_S(finding_name(j.v->findings[0].cls), "conn-limit");
		EQ_S(j.v->findings[0].resource, rows[i].resource);
		judged_release(&j);
	}
}
