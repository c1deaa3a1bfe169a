/* SPDX-License-Identifier: Apache-2.0 */
/* Without requests: whose time is demand, where one works for another. */
#include "judged.h"
#include "unit.h"

enum { PROGRAM = 70, TO_PROGRAM = 90, FROM_PROGRAM = 91, A_LOCK = 92 };

/* It gives a program that it started a line, which sleeps and says that it is done. */
static struct synth *asks_a_program(void)
{
	struct synth *s = synth_new(1000);

	synth_thread(s, 60, 60, "logd");
	synth_thread(s, PROGRAM, PROGRAM, "alert");
	synth_res(s, TO_PROGRAM, RES_PIPE, NULL);
	synth_res(s, FROM_PROGRAM, RES_PIPE, NULL);
	for (int i = 0; i < 10; i++) {
		double at = i * 100;

		synth_wait(s, PROGRAM, WAIT_PIPE, TO_PROGRAM, at, at + 2, at + 2, 60);
		synth_wait(s, 60, WAIT_PIPE, FROM_PROGRAM, at + 3, at + 99, at + 99, PROGRAM);
		synth_irq_wait(s, PROGRAM, WAIT_TIMER, 0, at + 3, at + 98, at + 98, WAKER_TIMER);
	}
	return s;
}

TEST(time_of_a_program_that_is_waited_for_counts_once)
{
	struct judged j;

	judge(&j, asks_a_program());
	EQ_S(finding_name(j.v->findings[0].cls), "peer");
	EQ_S(j.v->findings[0].culprit.comm, "alert");
	OK(j.v->findings[0].share > 0.8);
	OK(j.w->demand_ns < 1100000000);
	judged_release(&j);
}

/* Two programs that wait for each other all the time. */
TEST(time_of_a_circle_is_not_lost)
{
	struct judged j;
	struct synth *s = synth_new(1000);

	synth_thread(s, 60, 60, "one");
	synth_thread(s, PROGRAM, PROGRAM, "other");
	synth_res(s, TO_PROGRAM, RES_PIPE, NULL);
	synth_res(s, FROM_PROGRAM, RES_PIPE, NULL);
	synth_wait(s, 60, WAIT_PIPE, FROM_PROGRAM, 0, 900, 900, PROGRAM)->op = WAIT_OP_WRITE;
	synth_wait(s, PROGRAM, WAIT_PIPE, TO_PROGRAM, 0, 900, 900, 60)->op = WAIT_OP_WRITE;
	judge(&j, s);
	OK(j.w->demand_ns >= 900000000);
	judged_release(&j);
}
