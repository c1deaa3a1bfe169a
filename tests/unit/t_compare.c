/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict against a baseline, and what it says that it does not know. */
#include <stdio.h>
#include <string.h>

#include "judged.h"
#include "unit.h"

/*
 * A worker that answers ten requests a second, each after it waited so many ms
 * for a lock that a cleaner holds, in the function lock_page.
 */
static struct synth *served(double wait_ms, const char *fn)
{
	struct synth *s = synth_new(1000);
	char stack[128];

	snprintf(stack, sizeof(stack), "futex_wait@k;mutex_lock@libc.so.6;%s;serve;main", fn);
	synth_thread(s, 11, 11, "srv");
	synth_thread(s, 12, 11, "cleaner");
	synth_res(s, 7, RES_FUTEX, "page lock");
	synth_end(s, 11, ROLE_SERVER, 80, 10, wait_ms * 10);
	for (int i = 0; i < 10; i++) {
		double at = i * 100;
		struct ev_wait *w;

		w = synth_wait(s, 11, WAIT_FUTEX, 7, at + 1, at + 1 + wait_ms, at + 1 + wait_ms,
			       12);
		w->owner_tid = 12;
		w->ustack = synth_stack(s, 11, stack);
		synth_irq_wait(s, 12, WAIT_TIMER, 0, at + 0.5, at + 0.5 + wait_ms,
			       at + 0.6 + wait_ms, WAKER_TIMER);
	}
	return s;
}

TEST(verdict_names_no_cause_by_its_word_in_code)
{
	for (unsigned kind = 0; kind < CAUSE_CNT; kind++) {
		ROW(kind);
		OK(cause_words(kind) && *cause_words(kind));
		OK(!strstr(cause_words(kind), "runq"));
		OK(!strchr(cause_words(kind), '-'));
	}
}

static bool unseen_has(const struct verdict *v, const char *begin)
{
	for (size_t i = 0; i < v->unseen_cnt; i++)
		if (strncmp(v->unseen[i], begin, strlen(begin)) == 0)
			return true;
	return false;
}

TEST(verdict_says_what_was_not_seen_of_every_kind)
{
	struct synth *s = served(10, "lock_page");
	struct ev_loss *ev = synth_event(s, EV_LOSS, sizeof(*ev), 999);
	struct judged j;

	for (unsigned i = 0; i < LOSS_CNT; i++)
		ev->cnt[i] = 7001 + i;
	judge(&j, s);
	for (unsigned i = 0; i < LOSS_CNT; i++) {
		char begin[32];

		ROW(i);
		snprintf(begin, sizeof(begin), "%u ", 7001 + i);
		/* stacks over the budget are rather few: the others stand for them */
		OK(i == LOSS_STACK_BUDGET || unseen_has(j.v, begin));
	}
	judged_release(&j);
}
