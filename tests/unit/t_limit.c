/* SPDX-License-Identifier: Apache-2.0 */
/* Is a lock that is waited for a limit? */
#include "judged.h"
#include "unit.h"

enum { LOCK = 7 };

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
