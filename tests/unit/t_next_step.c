/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about each finding. */
#include <string.h>

#include "judged.h"
#include "unit.h"
#include "verdict/weigh/explain.h"

/* Of every class, whether it was made of a candidate or of nothing but the class. */
TEST(next_step_of_each_class)
{
	struct judged j;
	struct context k;
	struct synth *s = synth_new(1000);

	synth_thread(s, 20, 20, "srv");
	synth_pending(s, 20, WAIT_EPOLL, 0, 1);
	judge(&j, s);
	context_init(&k, j.m, j.w, &j.arena);
	for (unsigned cls = 0; cls < FIND_CNT; cls++) {
		for (int made = 0; made < 2; made++) {
			struct finding f = { .cls = (uint8_t)cls, .resource = "",
					     .culprit = { .comm = "" } };

			ROW(cls);
			next_step(&k, &f, made ? &k.cand[cls] : NULL);
			OK(f.next_step && strlen(f.next_step) > 20);
			OK(!strstr(f.next_step, "  ") && !strstr(f.next_step, "()"));
		}
	}
	judged_release(&j);
}

/* Names and figures are those of the verdict. */
TEST(next_step_has_the_figures)
{
	struct judged j;
	struct synth *s = synth_new(6000);

	synth_thread(s, 11, 11, "srv");
	synth_thread(s, 12, 11, "w1");
	synth_thread(s, 13, 11, "w2");
	synth_res(s, 7, RES_FUTEX, "the lock");
	for (int i = 0; i < 24; i++) {
		double b = i * 250;

		synth_irq_wait(s, 11, WAIT_TIMER, 0, b + 1, b + 200, b + 200, WAKER_TIMER);
		synth_wait(s, 12, WAIT_FUTEX, 7, b + 2, b + 201, b + 201, 11)->owner_tid = 11;
		synth_wait(s, 13, WAIT_FUTEX, 7, b + 3, b + 220, b + 220, 12)->owner_tid = 12;
	}
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "lock-held");
	HAS(j.v->findings[0].next_step, "have srv (pid 11) let go of the lock sooner");
	for (size_t i = 0; i < j.v->finding_cnt; i++)
		OK(j.v->findings[i].next_step != NULL);
	judged_release(&j);
}
