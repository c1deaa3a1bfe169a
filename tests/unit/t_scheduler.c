/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a runtime that take turns at its event loop, with requests open all the time. */
#include "judged.h"
#include "unit.h"

enum { LOOP = 7, CLIENT = 9, RUNTIME = 60, TURNS = 20, TURN = 50 };

#define IN_LOOP "epoll_wait;poll;look;schedule;main"

static struct ev_wait *open_wait(struct synth *s, struct ev_wait *w, const char *stack)
{
	w->own_open = 1;
	w->proc_open = 2;
	w->ustack = synth_stack(s, RUNTIME, stack);
	return w;
}

/*
 * One thread is in the loop until time is up, and wakes the other, which waits on a word of
 * its own in a function that lies in parked.
 */
static struct synth *runtime(const char *parked)
{
	struct synth *s = synth_new(TURNS * TURN + 100);

	for (uint32_t t = RUNTIME; t < RUNTIME + 2; t++) {
		synth_thread(s, t, RUNTIME, "runtime");
		synth_res(s, t, RES_FUTEX, NULL);
	}
	synth_res(s, LOOP, RES_EPOLL, NULL);
	synth_sock(s, CLIENT, ROLE_SERVER, 0x7f000001, 80);
	for (uint32_t i = 0; i < TURNS; i++) {
		uint32_t in = RUNTIME + i % 2, out = RUNTIME + (i + 1) % 2;
		double at = i * TURN + 10, end = at + TURN - 2;
		struct ev_turn *t;

		open_wait(s, synth_irq_wait(s, in, WAIT_EPOLL, LOOP, at, end, end, WAKER_TIMER),
			  IN_LOOP)->flags |= WAITF_TIMEOUT_ARG;
		open_wait(s, synth_wait(s, out, WAIT_FUTEX, out, at, end + 1, end + 1, in), parked);
		t = synth_event(s, EV_TURN, sizeof(*t), end + 1);
		t->res = CLIENT;
		t->role = ROLE_SERVER;
		t->tgid = RUNTIME;
		t->h.tid = t->first_tid = in;
		t->service_ns = (TURN - 5) * 1000000ULL;
	}
	synth_end(s, RUNTIME, ROLE_SERVER, 80, TURNS, TURNS * (TURN - 5));
	synth_proc(s, RUNTIME)->open_ns = TURNS * (TURN - 5) * 1000000ULL;
	return s;
}

static bool has_lock(const struct judged *j)
{
	for (size_t i = 0; i < j->w->lock_cnt; i++)
		if (j->w->locks[i].virt)
			return true;
	return false;
}

TEST(scheduler_looks_for_work_and_holds_no_lock)
{
	struct judged j;

	judge(&j, runtime("futex;sleep_on;stop;look;schedule;main"));
	OK(!has_lock(&j));
	EQ_S(finding_name(j.v->findings[0].cls), "timer");
	judged_release(&j);
}

/* The same where it waits for a sibling below the code that works for a request. */
TEST(scheduler_shares_a_loop_and_a_lock)
{
	struct judged j;

	judge(&j, runtime("futex;sleep_on;lock;row;update;query;session;schedule;main"));
	OK(has_lock(&j));
	judged_release(&j);
}
