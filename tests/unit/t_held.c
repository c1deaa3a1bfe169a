/* SPDX-License-Identifier: Apache-2.0 */
/* The requests' time on stacks, and the functions that it makes guilty. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "functions/units/app_frames.h"
#include "functions/units/function_requests.h"
#include "synth.h"
#include "unit.h"
#include "verdict/request_stacks.h"
#include "waits/waits.h"

#define HOLDER "nanosleep@libc.so.6;wait_on;pause;report;main"
#define WAITER "futex@libc.so.6;wait_on;lock;serve;main"
#define IDLER "epoll_wait@libc.so.6;wait_on;loop;main"

struct told {
	struct synth *s;
	struct arena arena;
	const struct model *m;
	const struct waits_result *w;
	const struct held *held;
	const struct appfns *fns;
	const struct held_fn *by_fn;
};

static void tell(struct told *t, struct synth *s)
{
	*t = (struct told){.s = s};
	t->m = synth_model(s);
	t->w = waits_analyse(t->m, &(struct waits_opts){.by_wait = true}, &t->arena);
	t->held = verdict_held(t->m, t->w, &t->arena);
	t->fns = appfns_make(t->m, &t->arena);
	t->by_fn = held_fns(t->fns, t->held, &t->arena);
}

static void told_release(struct told *t)
{
	arena_release(&t->arena);
	synth_free(t->s);
}

static const struct held_fn *fn_named(const struct told *t, const char *name)
{
	for (size_t i = 0; i < t->fns->fn_cnt; i++)
		if (strcmp(t->fns->fns[i].name, name) == 0)
			return &t->by_fn[i];
	FAIL("%s is on no stack", name);
}

/* 11 sleeps 199 of each 250 ms with the lock; 12 and 13 wait for it; 14 has nothing to do. */
static struct synth *lock_world(bool stacks_of_all)
{
	struct synth *s = synth_new(1000);

	synth_thread(s, 11, 11, "srv");
	synth_thread(s, 12, 11, "w1");
	synth_thread(s, 13, 11, "w2");
	synth_thread(s, 14, 11, "idle");
	synth_res(s, 7, RES_FUTEX, "the lock");
	synth_res(s, 8, RES_EPOLL, "clients");
	for (int i = 0; i < 4; i++) {
		double b = i * 250;
		struct ev_wait *w;

		w = synth_irq_wait(s, 11, WAIT_TIMER, 0, b + 1, b + 200, b + 200, WAKER_TIMER);
		w->ustack = synth_stack(s, 11, HOLDER);
		w = synth_wait(s, 12, WAIT_FUTEX, 7, b + 2, b + 201, b + 201, 11);
		w->owner_tid = 11;
		if (stacks_of_all || i == 0)
			w->ustack = synth_stack(s, 11, WAITER);
		w = synth_wait(s, 13, WAIT_FUTEX, 7, b + 3, b + 220, b + 220, 12);
		w->owner_tid = 12;
		if (stacks_of_all || i == 0)
			w->ustack = synth_stack(s, 11, WAITER);
		w = synth_wait(s, 14, WAIT_EPOLL, 8, b + 1, b + 249, b + 249, 0);
		w->ustack = synth_stack(s, 11, IDLER);
	}
	return s;
}

static double demand_of(const struct told *t, uint32_t tid)
{
	double ns = 0;

	for (size_t i = 0; i < t->m->wait_cnt; i++)
		if (t->m->threads[t->m->waits[i].thread].tid == tid)
			ns += t->w->wait_demand_ns[i];
	return ns;
}

/*
 * The sleep is what all three wait for.  12 stands before 13 in the line for
 * the lock: what 13 waits for there is laid on 13's wait and not on 12's.
 */
TEST(waits_lay_demand_on_each_wait_of_the_chain)
{
	struct told t;
	double ran = 0;

	tell(&t, lock_world(true));
	EQ_U((uint64_t)(demand_of(&t, 12) / 1e6 + 0.5), 4 * 199);
	EQ_U((uint64_t)(demand_of(&t, 13) / 1e6 + 0.5), 4 * 217);
	/* its own, from 2 on for 12, from 3 on for 13 */
	EQ_U((uint64_t)(demand_of(&t, 11) / 1e6 + 0.5), 4 * (199 + 198 + 197));
	EQ_U((uint64_t)demand_of(&t, 14), 0);
	for (size_t i = 0; i < t.w->cause_cnt; i++)
		ran += t.w->causes[i].kind == CAUSE_RUN ? t.w->causes[i].ns : 0;
	for (size_t i = 0; i < t.m->thread_cnt; i++)
		ran -= t.w->run_demand_ns[i];
	OK(fabs(ran) < 1);
	told_release(&t);
}

TEST(waits_lay_demand_only_where_wanted)
{
	struct synth *s = lock_world(true);
	struct arena arena = {0};
	const struct waits_result *w = waits_analyse(synth_model(s), NULL, &arena);

	OK(!w->wait_demand_ns && !w->run_demand_ns && !w->wait_idle);
	arena_release(&arena);
	synth_free(s);
}

/* Of the three lives nearly all is the sleep of the one that holds it: so is what they wait in. */
TEST(held_lays_time_on_waiter_and_holder)
{
	struct told t;
	double holder, waiter;

	tell(&t, lock_world(true));
	holder = fn_named(&t, "pause")->wait_ns;
	waiter = fn_named(&t, "lock")->wait_ns;
	OK(waiter > 1.5e9 && waiter < 1.7e9); /* 12 and 13, the four times */
	OK(holder > 2.2e9);			/* theirs, and its own */
	EQ_U((uint64_t)fn_named(&t, "loop")->wait_ns, 0);
	OK(fn_named(&t, "main")->all <= 1);
	told_release(&t);
}

/* Waits without a stack are like those of the same thread for the same thing. */
TEST(held_spreads_what_has_no_stack)
{
	struct told all, few;

	tell(&all, lock_world(true));
	tell(&few, lock_world(false));
	OK(fn_named(&all, "lock")->wait_ns > 0);
	OK(fabs(fn_named(&few, "lock")->wait_ns / fn_named(&all, "lock")->wait_ns - 1) < 0.01);
	told_release(&all);
	told_release(&few);
}

/* What an idle thread waits in too is not the reason, and a step from it costs little. */
TEST(held_blames_the_function_that_only_requests_wait_in)
{
	struct told t;

	tell(&t, lock_world(true));
	OK(held_score(fn_named(&t, "pause")) > held_score(fn_named(&t, "report")));
	OK(held_score(fn_named(&t, "pause")) > held_score(fn_named(&t, "main")));
	OK(held_score(fn_named(&t, "pause")) > 0.9 * held_score(fn_named(&t, "wait_on")));
	OK(held_score(fn_named(&t, "lock")) > held_score(fn_named(&t, "main")));
	OK(held_score(fn_named(&t, "loop")) == 0);
	told_release(&t);
}

/* Running is laid on samples as many as they are; a record of none is not divided by. */
TEST(held_lays_running_on_samples)
{
	static const struct { uint32_t cnt; double run_ns; } rows[] = {{3, 960e6}, {0, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct synth *s = synth_new(1000);
		struct told t;

		synth_thread(s, 11, 11, "srv");
		for (int k = 0; k < 4; k++)
			synth_irq_wait(s, 11, WAIT_TIMER, 0, k * 250, k * 250 + 10, k * 250 + 10,
				       WAKER_TIMER);
		synth_sample(s, 11, synth_stack(s, 11, "helper;crunch;main"), 100, rows[i].cnt);
		synth_sample(s, 11, synth_stack(s, 11, "other;main"), 200, 0);
		tell(&t, s);
		OK(fabs(fn_named(&t, "crunch")->run_ns - rows[i].run_ns) < 1e6);
		EQ_U((uint64_t)fn_named(&t, "other")->run_ns, 0);
		OK(held_score(fn_named(&t, "other")) == 0);
		told_release(&t);
	}
}
