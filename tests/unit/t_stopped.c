/* SPDX-License-Identifier: Apache-2.0 */
/* Who stops a server, where that is a program started anew each time. */
#include "judged.h"
#include "unit.h"

/* One was gone before its name was known, after three looks; the others looked twice each. */
TEST(stopped_names_a_debugger_that_is_gone)
{
	static const uint32_t by[] = { 60, 60, 60, 61, 61, 62, 62, 63, 63, 64, 64 };
	struct synth *s = synth_new(1100);
	struct judged j;

	synth_thread(s, 20, 20, "srv");
	for (uint32_t t = 61; t < 65; t++)
		synth_task(s, t, t, t == 61 ? "shell" : "debugger", 0);
	for (uint32_t i = 0; i < sizeof(by) / sizeof(*by); i++)
		synth_wait(s, 20, WAIT_STOPPED, 0, i * 100 + 1, i * 100 + 76, i * 100 + 76, by[i]);
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "stopped");
	EQ_S(j.v->findings[0].culprit.comm, "debugger");
	judged_release(&j);
}

/* Once in all, so that it is no means to slow the server down; its two threads go on together. */
TEST(stopped_names_who_lets_it_go_on)
{
	struct synth *s = synth_new(5000);
	struct judged j;

	synth_thread(s, 20, 20, "srv");
	synth_thread(s, 21, 20, "srv");
	synth_task(s, 60, 60, "debugger", 0);
	synth_wait(s, 20, WAIT_STOPPED, 0, 1000, 4000, 4000, 60);
	synth_wait(s, 21, WAIT_STOPPED, 0, 1000, 4000, 4000, 60);
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "stopped");
	EQ_S(j.v->findings[0].culprit.comm, "debugger");
	EQ_U(j.v->findings[0].culprit.pid, 60);
	judged_release(&j);
}
