/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that run on and answer nobody, and processes that die of it. */
#include <string.h>

#include "base/cleanup.h"
#include "judged.h"
#include "scene.h"

#define FIND "index_find;lookup;serve;loop;main"

/* ---- functions, from calls and samples */

/* The worker makes no call from from_ms on; samples begin at samples_ms only. */
static void spin_from(struct scene *c, double samples_ms, double end_ms)
{
	synth_sampled(c->s, 10000000);
	for (double at = samples_ms; at < end_ms; at += 10)
		synth_sample(c->s, 11, synth_stack(c->s, 10, FIND), at, 1);
	c->now = end_ms;
}

/* A recorder that takes samples from its end on only: 7 s of spin, 3 s of samples. */
TEST(spin_is_judged_by_the_time_that_has_samples)
{
	CLEANUP(arena_release) struct arena arena = {0};
	const struct functions_result *r;
	struct scene c;

	begin(&c);
	for (unsigned i = 0; i < 100; i++)
		request(&c, 2, 1);
	spin_from(&c, c.now + 7000, c.now + 10000);
	c.now -= 3000;
	r = judge_scene(&c, &arena, NULL);
	EQ_S(r->fns[0].name, "index_find");
	EQ_U(r->fns[0].evidence[0].kind, DEV_SPINS);
	OK(r->harm_ns > 6900000000);
	synth_free(c.s);
}

/* It spun before the window began. */
TEST(spin_without_any_call_is_judged)
{
	CLEANUP(arena_release) struct arena arena = {0};
	const struct functions_result *r;
	struct scene c;

	begin(&c);
	spin_from(&c, 0, 4000);
	r = judge_scene(&c, &arena, NULL);
	EQ_S(r->fns[0].name, "index_find");
	OK(r->thin & THIN_SILENT);
	EQ_U(r->unit_report_cnt, 1);
	synth_free(c.s);
}

/* A thread that comes to its end has nothing more to do; one that is killed has. */
TEST(spin_that_a_watchdog_ends_is_judged)
{
	for (unsigned signal = 0; signal <= 6; signal += 6) {
		CLEANUP(arena_release) struct arena arena = {0};
		const struct functions_result *r;
		struct scene c;

		ROW(signal);
		begin(&c);
		for (unsigned i = 0; i < 100; i++)
			request(&c, 2, 1);
		spin_from(&c, c.now, c.now + 3000);
		synth_exit(c.s, 10, c.now)->exit_code = signal;
		synth_exit(c.s, 11, c.now)->exit_code = signal;
		c.now += 500;
		r = judge_scene(&c, &arena, NULL);
		EQ_U(r->unit_report_cnt > 0 && r->units[0].devs[0].kind == DEV_SPINS, signal > 0);
		if (signal)
			NEAR((double)r->units[0].devs[0].mean_ns, 3e9, 1e8);
		synth_free(c.s);
	}
}

/* ---- the verdict */

struct world {
	double quiet_ms;	/* no socket used for so long, at the end or the death */
	double rest_ms;		/* its last rest, 0 none */
	double wakes_ms;	/* it wakes another then, 0 never */
	double oldest_ms;	/* of the request that waits, 0 none does */
	double stall_ms;	/* the longest before */
	double dies_ms;		/* 0: it lives */
};

static struct synth *world_make(const struct world *w)
{
	double end = w->dies_ms > 0 ? w->dies_ms : 10000;
	struct synth *s = synth_new(10000);
	struct ev_conn *c;
	struct ev_thread *t;

	synth_sampled(s, 10000000);
	synth_thread(s, 10, 10, "srv");
	synth_thread(s, 11, 10, "helper");
	synth_irq_wait(s, 11, WAIT_FUTEX, 5, 1, w->wakes_ms > 0 ? w->wakes_ms : 2,
		       w->wakes_ms > 0 ? w->wakes_ms : 2, WAKER_TIMER);
	if (w->wakes_ms > 0)
		synth_wait(s, 11, WAIT_FUTEX, 5, w->wakes_ms - 50, w->wakes_ms, w->wakes_ms, 10);
	if (w->rest_ms > 0)
		synth_irq_wait(s, 10, WAIT_TIMER, 0, w->rest_ms - 50, w->rest_ms, w->rest_ms,
			       WAKER_TIMER);
	for (double at = 0; at < end; at += 10)
		synth_sample(s, 10, synth_stack(s, 10, FIND), at, 1);
	t = synth_snap(s, 10);
	t->h.ts_ns = synth_ns(s, end);
	t->quiet_ns = (uint64_t)(w->quiet_ms * 1e6);
	t->stall_max_ns = (uint64_t)(w->stall_ms * 1e6);
	synth_end(s, 10, ROLE_SERVER, 80, 100, 5);
	for (unsigned i = 0; i < 2 && w->oldest_ms > 0; i++) {
		c = synth_event(s, EV_CONN, sizeof(*c), i ? 9999 : 0);
		c->tgid = 10;
		c->role = ROLE_SERVER;
		c->conns = c->owe_reply = 1;
		c->oldest_owe_ms = (uint32_t)w->oldest_ms;
	}
	if (w->dies_ms > 0) {
		synth_exit(s, 10, end)->exit_code = 6;
		synth_exit(s, 11, end)->exit_code = 6;
	}
	return s;
}

static const char *class_of(struct judged *j, const struct world *w)
{
	judge(j, world_make(w));
	return finding_name(j->v->findings[0].cls);
}

TEST(spin_is_the_verdict_where_somebody_waits)
{
	const struct { struct world w; bool endless; } rows[] = {
		{{.quiet_ms = 6000, .oldest_ms = 6000}, true},
		{{.quiet_ms = 9999, .oldest_ms = 30000}, true},	/* since before the watch */
		{{.quiet_ms = 6000}, false},			/* a batch: nobody waits */
		{{.quiet_ms = 6000, .oldest_ms = 50}, false},	/* full load: they come and go */
		{{.quiet_ms = 6000, .rest_ms = 9500, .oldest_ms = 6000}, false},
		{{.quiet_ms = 6000, .wakes_ms = 9500, .oldest_ms = 6000}, false},
		{{.quiet_ms = 2000, .stall_ms = 2100, .oldest_ms = 2000}, false}, /* as always */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct judged j;

		ROW(i);
		EQ_U(strcmp(class_of(&j, &rows[i].w), "endless-loop") == 0, rows[i].endless);
		if (rows[i].endless) {
			HAS(j.v->findings[0].summary, "in index_find");
			EQ_U(j.v->findings[0].culprit.tid, 10);
		}
		judged_release(&j);
	}
}

TEST(spin_death_says_after_what)
{
	struct judged j;

	EQ_S(class_of(&j, &(struct world){.quiet_ms = 3000, .dies_ms = 8000}), "died");
	HAS(j.v->findings[0].resource, "signal 6 (SIGABRT) after 3.0 s in index_find");
	HAS(j.v->findings[0].summary, "died of signal 6");
	judged_release(&j);
}
