/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict against a baseline, and what it says that it does not know. */
#include <stdio.h>
#include <string.h>

#include "judged.h"
#include "unit.h"
#include "verdict/not_covered.h"

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

static const struct change *change_of(const struct verdict *v, const char *what)
{
	for (size_t i = 0; i < v->change_cnt; i++)
		if (strstr(v->changes[i].what, what))
			return &v->changes[i];
	return NULL;
}

static void compared(struct judged *j, struct synth *base, struct synth *now)
{
	const struct model *bm = synth_model(base);

	judge(j, now);
	j->v = verdict_make(j->m, j->w, bm, waits_analyse(bm, NULL, &j->arena), &j->arena);
}

TEST(compare_says_what_was_waited_for_where)
{
	struct synth *base = served(10, "lock_page");
	struct judged j;
	const struct change *c;

	compared(&j, base, served(80, "lock_page"));
	OK(j.v->compared);
	c = change_of(j.v, "waits for page lock");
	OK(c);
	EQ_S(c->unit, "s/s");
	OK(c->was > 0.09 && c->was < 0.11);
	OK(c->is > 0.79 && c->is < 0.81);
	OK(change_of(j.v, "waits in lock_page"));
	OK(!change_of(j.v, "requests answered")); /* as many as before */
	for (size_t i = 0; i < j.v->change_cnt; i++)
		OK(!strstr(j.v->changes[i].what, "runq-"));
	synth_free(base);
	judged_release(&j);
}

TEST(compare_says_that_nothing_changed)
{
	struct synth *base = served(10, "lock_page");
	struct judged j;

	compared(&j, base, served(10, "lock_page"));
	OK(j.v->compared);
	EQ_U(j.v->change_cnt, 0);
	synth_free(base);
	judged_release(&j);
}

TEST(compare_says_how_long_requests_took)
{
	struct synth *base = served(10, "lock_page"), *now = served(10, "lock_page");
	struct ev_end *was, *is;
	struct judged j;
	const struct change *c;

	was = synth_end(base, 11, ROLE_SERVER, 81, 100, 100);
	is = synth_end(now, 11, ROLE_SERVER, 81, 100, 100);
	was->hist[4] = is->hist[4] = 98;
	was->hist[6] = 2;
	is->hist[30] = 2;
	was->answer_max_ns = 12000;
	is->answer_max_ns = 50000000;
	compared(&j, base, now);
	c = change_of(j.v, "p99 of requests");
	OK(c);
	EQ_S(c->unit, "ns");
	OK(c->is > 100 * c->was);
	OK(!change_of(j.v, "p50 of requests"));
	c = change_of(j.v, "longest request");
	OK(c);
	EQ_U((uint64_t)c->is, 50000000);
	synth_free(base);
	judged_release(&j);
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

/* A stack of one frame in the program that nothing names. */
static uint32_t nameless_stack(struct synth *s)
{
	struct ev_stack *st;
	uint64_t *frame;

	synth_stack(s, 11, "known"); /* module 1 */
	st = synth_event(s, EV_STACK, sizeof(*st) + sizeof(*frame), 0);
	st->id = 90;
	st->tgid = 11;
	st->user_cnt = 1;
	st->end = STACK_WHOLE;
	frame = (uint64_t *)(st + 1);
	*frame = UINT64_C(1) << 48 | 0x777;
	return st->id;
}

/* A lock that tid 11 holds 200 of each 250 ms asleep; 12 and 13 wait for it in fn, NULL no name. */
static struct synth *held(const char *fn)
{
	struct synth *s = synth_new(1000);
	uint32_t stack;

	synth_thread(s, 11, 11, "srv");
	synth_thread(s, 12, 11, "w1");
	synth_thread(s, 13, 11, "w2");
	synth_res(s, 7, RES_FUTEX, "the lock");
	stack = fn ? synth_stack(s, 11, fn) : nameless_stack(s);
	for (int i = 0; i < 4; i++) {
		double b = i * 250;
		struct ev_wait *w;

		synth_irq_wait(s, 11, WAIT_TIMER, 0, b + 1, b + 200, b + 200, WAKER_TIMER);
		w = synth_wait(s, 12, WAIT_FUTEX, 7, b + 2, b + 201, b + 201, 11);
		w->owner_tid = 11;
		w->ustack = stack;
		w = synth_wait(s, 13, WAIT_FUTEX, 7, b + 3, b + 220, b + 220, 12);
		w->owner_tid = 12;
		w->ustack = stack;
	}
	return s;
}

TEST(verdict_says_what_would_name_functions)
{
	struct judged j;

	judge(&j, held("hold_it"));
	EQ_S(finding_name(j.v->findings[0].cls), "lock-held");
	OK(!unseen_has(j.v, "names of functions"));
	judged_release(&j);
	judge(&j, held(NULL));
	OK(unseen_has(j.v, "names of functions in prog: `heldup symbols -p 11` says which"));
	verdict_names_by(j.v, "apt install prog-dbgsym", &j.arena);
	OK(unseen_has(j.v, "names of functions in prog: apt install prog-dbgsym"));
	OK(!unseen_has(j.v, "heldup symbols"));
	judged_release(&j);
	judge(&j, held("hold_it@libvm;[anon]@j;run"));
	OK(unseen_has(j.v, "names of functions in code made at run time: `heldup symbols -p 11`"));
	judged_release(&j);
	judge(&j, held("hold_it@libvm;Method@j;run"));
	OK(!unseen_has(j.v, "names of functions"));
	judged_release(&j);
}
