/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that an application keeps back for a time, and pools of threads in between. */
#include "judged.h"
#include "unit.h"

enum { CLIENT = 9, POOL = 60, THREADS = 4, SCHEDULER = 70, PERIOD = 300 };

static void open_one(struct ev_wait *w)
{
	w->own_open = 1;
	w->proc_open = 1;
}

/* At at_ms one is answered, and the next comes, in a thread that waits for its turn. */
static void turn_of(struct synth *s, uint32_t tid, double at_ms)
{
	struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), at_ms);

	t->res = CLIENT;
	t->role = ROLE_SERVER;
	t->tgid = POOL;
	t->h.tid = t->first_tid = tid;
	t->service_ns = (PERIOD - 5) * 1000000ULL;
}

/*
 * Threads of a pool take turns at having a request.  Its wait, on a word of the thread's
 * own, is ended by the next of the pool, which slept where work is given out until the
 * scheduler's sleep had run out.
 */
static struct synth *delay_world(void)
{
	struct synth *s = synth_new(6000);

	for (uint32_t t = 0; t < THREADS; t++) {
		synth_thread(s, POOL + t, POOL, "pool");
		synth_res(s, POOL + t, RES_FUTEX, NULL);
		synth_res(s, 100 + t, RES_FUTEX, NULL);
	}
	synth_thread(s, SCHEDULER, POOL, "scheduler");
	synth_res(s, SCHEDULER, RES_FUTEX, NULL);
	synth_sock(s, CLIENT, ROLE_SERVER, 0x7f000001, 80);
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t has = i % THREADS, next = (i + 1) % THREADS;
		double at = i * PERIOD, end = at + PERIOD - 5;
		struct ev_wait *w;

		open_one(synth_wait(s, POOL + has, WAIT_FUTEX, POOL + has, at + 1, end + 1,
				    end + 1, POOL + next));
		synth_wait(s, POOL + next, WAIT_FUTEX, 100 + next, at + 0.5, end + 0.5,
			   end + 0.5, SCHEDULER);
		w = synth_irq_wait(s, SCHEDULER, WAIT_FUTEX, SCHEDULER, at + 1.5, end, end,
				   WAKER_TIMER);
		w->flags |= WAITF_TIMEOUT_ARG;
		/* work for it: the wait before was no look at whether there is some */
		synth_wait(s, SCHEDULER, WAIT_FUTEX, SCHEDULER, end + 1, end + 5.5, end + 5.5,
			   POOL + next);
		turn_of(s, POOL + has, end + 2);
	}
	synth_end(s, POOL, ROLE_SERVER, 80, 20, 20 * (PERIOD - 5));
	synth_proc(s, POOL)->open_ns = 20 * (PERIOD - 5) * 1000000ULL;
	return s;
}

TEST(delay_ends_by_a_timer_and_is_no_lock)
{
	struct judged j;

	judge(&j, delay_world());
	for (size_t i = 0; i < j.w->lock_cnt; i++)
		OK(!j.w->locks[i].virt);
	EQ_S(finding_name(j.v->findings[0].cls), "timer");
	EQ_S(j.v->findings[0].culprit.comm, "scheduler");
	judged_release(&j);
}
