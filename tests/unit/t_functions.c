/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes of calls, and which functions are to blame in them; t_functions_parts.c has the parts. */
#include "functions/functions.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "functions/units/app_frames.h"
#include "functions/units/function_requests.h"
#include "scene.h"

/* The recorder was away: nothing is a pause, a long call or short of calls by that. */
TEST(functions_time_away_is_nobodys)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 100; i++) {
		request(&c, 2, i == 20 ? 30 : 0.5);
		if (i % 10 == 9) { /* it leaves within one request and is back within another */
			struct ev_calls_away *e;

			call(&c, NR_POLL, 5, LOOP);
			call(&c, NR_READ, 0.01, READ);
			e = synth_event(c.s, EV_CALLS_AWAY, sizeof(*e), c.now);
			e->begin_ns = synth_ns(c.s, c.now);
			e->end_ns = synth_ns(c.s, c.now + 2000);
			c.now += 2000;
			call(&c, NR_WRITE, 0.02, WRITE);
		}
	}
	r = judge_scene(&c, &arena, &(struct functions_opts){0});
	EQ_U(r->away_ns, UINT64_C(20000000000));
	EQ_U(r->torn_cnt, 20);
	EQ_U(r->unit_cnt, 100);
	EQ_U(r->abnormal_cnt, 1);
	OK(r->harm_ns < 40000000);
	OK(r->thin & THIN_AWAY);
	EQ_S(r->fns[0].name, "save");
	synth_free(c.s);
}

/* As a recorder without hooks of calls knows it: a wait. */
static void part_wait(struct scene *c, unsigned cls, unsigned nr, double ms, const char *stack)
{
	struct ev_wait *w = synth_wait(c->s, 11, cls, 0, c->now, c->now + ms, c->now + ms, 0);

	w->sysnr = (int16_t)nr;
	w->ustack = synth_stack(c->s, 10, stack);
	c->now += ms + 0.001;
}

static void part_mark(struct scene *c, double begin_ms, double end_ms)
{
	struct ev_calls_part *e = synth_event(c->s, EV_CALLS_PART, sizeof(*e), c->now);

	e->begin_ns = synth_ns(c->s, begin_ms);
	e->end_ns = end_ms > 0 ? synth_ns(c->s, end_ms) : 0;
}

/*
 * Most of the time blocking calls only: the slow ones are found there, and that
 * the fast ones are missing is no deviation, nor that they are there at last.
 */
TEST(functions_blocking_calls_then_all)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;
	double border;

	begin(&c);
	part_mark(&c, 0, 0);
	for (unsigned i = 0; i < 200; i++) {
		part_wait(&c, WAIT_EPOLL, NR_POLL, 5, LOOP);
		c.now += 0.1; /* reads, looks up, writes */
		part_wait(&c, WAIT_FSYNC, NR_FSYNC, i == 100 ? 300 : 1,
			  "fsync@libc.so.6;save;serve;loop;main");
	}
	border = c.now;
	part_mark(&c, 0, border);
	for (unsigned i = 0; i < 200; i++)
		request(&c, 2, 1);
	r = judge_scene(&c, &arena, NULL);
	EQ_U(r->part_cnt, 400);
	EQ_U(r->abnormal_cnt, 1);
	OK(r->harm_ns > 290000000 && r->harm_ns < 310000000);
	OK(r->part_ns == synth_ns(c.s, border) - synth_ns(c.s, 0));
	EQ_S(r->fns[0].name, "save");
	synth_free(c.s);
}

/* Between two waits for work: no call that blocks, but the time. */
TEST(functions_blocking_calls_and_a_long_pause)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	part_mark(&c, 0, 0);
	for (unsigned i = 0; i < 200; i++) {
		part_wait(&c, WAIT_EPOLL, NR_POLL, 5, LOOP);
		if (i == 100) {
			for (unsigned k = 0; k < 30; k++, c.now += 10) {
				struct ev_sample *e;

				e = synth_event(c.s, EV_SAMPLE, sizeof(*e), c.now);
				e->h.tid = 11;
				e->tgid = 10;
				e->cnt = 1;
				e->stack = synth_stack(c.s, 10, "spell;serve;loop;main");
			}
		}
		c.now += 0.2;
	}
	part_mark(&c, 0, c.now);
	r = judge_scene(&c, &arena, NULL);
	EQ_U(r->abnormal_cnt, 1);
	OK(r->thin & THIN_BLOCKING);
	EQ_S(r->fns[0].name, "spell");
	synth_free(c.s);
}

TEST(functions_many_calls_are_the_callers)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 200; i++)
		request(&c, i % 20 == 7 ? 600 : 2, 0);
	r = judge_scene(&c, &arena, NULL);
	EQ_U(r->unit_cnt, 200);
	EQ_U(r->cluster_cnt, 1);
	EQ_U(r->abnormal_cnt, 10);
	EQ_S(r->fns[0].name, "look_up");
	EQ_S(r->fns[1].name, "find");
	EQ_S(r->fns[2].name, "serve");
	EQ_U(r->fns[0].evidence[0].kind, DEV_MORE);
	EQ_U(r->fns[0].evidence[0].nr, NR_STAT);
	EQ_U(r->fns[0].evidence[0].unit_cnt, 10);
	OK(r->fns[0].evidence[0].self && !r->fns[1].evidence[0].self);
	EQ_U(r->units[0].devs[0].cnt, 600);
	NEAR((double)r->units[0].devs[0].usual_cnt, 2, 0.01);
	EQ_U(r->units[0].thread, model_thread_by_tid(r->m, 11));
	OK(r->fns[0].unit_cnt > 0 && r->fns[0].units[0] < r->unit_report_cnt);
	synth_free(c.s);
}

/* Of 12,000 calls in one piece of work none begins another; in an endless loop some do. */
TEST(functions_large_pieces_are_whole_and_endless_ones_cut)
{
	static const struct { unsigned calls; double ms; unsigned units; } rows[] = {
		{12000, 0.01, 200}, {12000, 0.2, 201}, {50000, 0.2, 205}, {50000, 0.03, 201},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct scene c;

		begin(&c);
		for (unsigned k = 0; k < 199; k++)
			request(&c, 2, 0);
		call(&c, NR_POLL, 5, LOOP);
		for (unsigned k = 0; k < rows[i].calls; k++)
			call(&c, NR_STAT, rows[i].ms, "stat@libc.so.6;look_up;find;serve;main");
		EQ_U(judge_scene(&c, &arena, NULL)->unit_cnt, rows[i].units);
		synth_free(c.s);
	}
}

TEST(functions_slow_calls_are_the_callers)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 200; i++)
		request(&c, 2, i % 20 == 7 ? 80 : 1);
	r = judge_scene(&c, &arena, NULL);
	EQ_S(r->fns[0].name, "save");
	EQ_U(r->fns[0].evidence[0].kind, DEV_SLOWER);
	NEAR((double)r->harm_ns, 10 * 79e6, 10e6);
	EQ_U(r->outside.kind, OUTSIDE_NONE);
	synth_free(c.s);
}

/* By the step alone it would be 0.7 of the one inside it: all usual work speaks for it as well. */
TEST(functions_who_calls_everything_is_guilty_of_less)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 200; i++) {
		request(&c, 200, 0);
		if (i % 20 == 7)
			call(&c, NR_FSYNC, 80, "fsync@libc.so.6;save;keep;serve;loop;main");
	}
	r = judge_scene(&c, &arena, NULL);
	EQ_S(r->fns[0].name, "save");
	NEAR(fn_named(r, "keep")->score, 0.7 * r->fns[0].score, 0.01);
	OK(fn_named(r, "serve")->score < 0.6 * fn_named(r, "keep")->score);
	synth_free(c.s);
}

/* Whatever lies between, a library's own function is one step from the one it was entered by. */
TEST(functions_a_library_is_one_step_deep)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 200; i++) {
		request(&c, 2, 0);
		call(&c, NR_FSYNC, i % 20 == 7 ? 80 : 1, "fsync@libc.so.6;sync_file@libdb.so;"
		     "commit@libdb.so;run@libdb.so;db_put@libdb.so;keep;serve;loop;main");
	}
	r = judge_scene(&c, &arena, NULL);
	EQ_S(r->fns[0].name, "sync_file");
	OK(fn_named(r, "db_put")->score > fn_named(r, "run")->score);
	NEAR(fn_named(r, "db_put")->score, fn_named(r, "commit")->score, 1e-9);
	NEAR(fn_named(r, "keep")->score, fn_named(r, "run")->score, 1e-9);
	OK(fn_named(r, "serve")->score < fn_named(r, "keep")->score);
	synth_free(c.s);
}

static uint32_t stack_of(const struct model *m, const char *self, struct arena *arena)
{
	const struct appfns *fns = appfns_make(m, arena);

	for (uint32_t i = 0; i < m->stack_cnt; i++)
		if (fns->stacks[i].cnt &&
		    strcmp(fns->fns[fns->stacks[i].frames[0].fn].name, self) == 0)
			return i;
	FAIL("no stack of %s", self);
}

/* slow: one piece of work in twenty takes 80 ms, else all take 2 ms.  Of the requests' time
 * held_s went through look_up, and as much through none: slow, most of it in a queue. */
static const struct functions_result *held_scene(struct scene *c, bool slow, double held_s,
						 struct arena *arena)
{
	struct held_stack one = {.ns = held_s * 1e9};
	struct held held = {.stacks = &one, .stack_cnt = 1, .ns = held_s * 1e9,
			    .all_ns = held_s * 2e9, .queued_ns = slow ? held_s * 1.5e9 : 0};

	begin(c);
	for (unsigned i = 0; i < 200; i++)
		request(c, 2, slow && i % 20 == 7 ? 80 : 2);
	judge_scene(c, arena, NULL);
	one.stack = stack_of(synth_model(c->s), "look_up", arena);
	return functions_analyse(synth_model(c->s), NULL,
				 &(struct functions_opts){.held = held_s > 0 ? &held : NULL},
				 arena);
}

TEST(functions_where_requests_wait_come_first_when_nothing_deviates)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r = held_scene(&c, false, 0, &arena);

	EQ_S(r->fns[0].name, "save");
	EQ_U(r->held_ns, 0);
	synth_free(c.s);
	r = held_scene(&c, false, 8, &arena);
	EQ_S(r->fns[0].name, "look_up");
	EQ_U(r->fns[0].evidence[0].kind, DEV_HELD);
	EQ_U(r->fns[0].evidence[0].harm_ns, 8000000000);
	NEAR(r->fns[0].held_share, 0.5, 1e-9);
	OK(!(r->thin & THIN_QUEUED));
	EQ_U(r->held_ns, 16000000000);
	synth_free(c.s);
}

/* Harm is the stronger evidence, whatever all requests wait for. */
TEST(functions_that_deviate_stay_before_those_requests_wait_in)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r = held_scene(&c, true, 2, &arena);

	EQ_S(r->fns[0].name, "save");
	EQ_U(r->fns[0].evidence[0].kind, DEV_SLOWER);
	OK(fn_named(r, "look_up")->score > 0);
	OK(r->thin & THIN_QUEUED);
	synth_free(c.s);
}

TEST(functions_two_guilty_at_once)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 200; i++)
		request(&c, i % 20 == 3 ? 4000 : 2, i % 20 == 7 ? 50 : 1);
	r = judge_scene(&c, &arena, NULL);
	OK(fn_named(r, "save")->rank <= 3);
	OK(fn_named(r, "look_up")->rank <= 3);
	synth_free(c.s);
}

TEST(functions_a_call_that_never_returns)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;
	struct ev_call *stuck;

	begin(&c);
	for (unsigned i = 0; i < 50; i++)
		request(&c, 2, 1);
	call(&c, NR_POLL, 5, LOOP);
	call(&c, NR_READ, 0.01, READ);
	stuck = call(&c, NR_FUTEX, 9000, "pthread_mutex_lock@libc.so.6;lock_page;serve;loop;main");
	stuck->result = CALL_UNFINISHED;
	r = judge_scene(&c, &arena, NULL);
	EQ_S(r->fns[0].name, "lock_page");
	EQ_U(r->fns[0].evidence[0].kind, DEV_NEVER);
	OK(r->units[0].reasons & UNIT_STUCK);
	synth_free(c.s);
}

TEST(functions_a_wait_for_work_is_no_hang)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 50; i++)
		request(&c, 2, 1);
	call(&c, NR_POLL, 9000, LOOP)->result = CALL_UNFINISHED;
	r = judge_scene(&c, &arena, NULL);
	EQ_U(r->abnormal_cnt, 0);
	EQ_U(r->harm_ns, 0);
	OK(r->thin & THIN_NO_HARM);
	EQ_S(r->fns[0].name, "save"); /* where time goes, and said to be no more than that */
	synth_free(c.s);
}

TEST(functions_a_good_capture_tells_what_all_requests_do)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene bad, good;
	const struct functions_result *r;

	begin(&good);
	for (unsigned i = 0; i < 100; i++)
		request(&good, 2, 3);
	judge_scene(&good, &arena, NULL);
	begin(&bad);
	for (unsigned i = 0; i < 100; i++)
		request(&bad, 200, 3);
	r = judge_scene(&bad, &arena,
			&(struct functions_opts){.good = synth_model(good.s)});
	OK(r->baseline);
	EQ_U(r->abnormal_cnt, 100);
	EQ_S(r->fns[0].name, "look_up");
	OK(r->units[0].reasons & UNIT_BASELINE);
	synth_free(bad.s);
	synth_free(good.s);
}

TEST(functions_without_calls_or_stacks)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	EQ_U(functions_analyse(synth_model(c.s), NULL, NULL, &arena)->thin, THIN_NO_CALLS);
	for (unsigned i = 0; i < 100; i++)
		request(&c, 2, i == 50 ? 90 : 1);
	r = judge_scene(&c, &arena, &(struct functions_opts){.calls_only = true});
	EQ_U(r->fn_cnt, 0);
	OK(r->thin & THIN_NO_SIGNATURES);
	EQ_U(r->abnormal_cnt, 1);
	EQ_U(r->units[0].devs[0].nr, NR_FSYNC);
	synth_free(c.s);
}

/* Time between calls is where the thread was seen, whether calls have stacks or not. */
TEST(functions_samples_tell_where_calls_have_no_stacks)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	synth_sampled(c.s, 10000000);
	for (unsigned i = 0; i < 100; i++) {
		call(&c, NR_POLL, 5, NULL);
		call(&c, NR_READ, 0.01, NULL);
		for (unsigned k = 0; k < (i == 50 ? 30 : 0); k++, c.now += 10)
			synth_sample(c.s, 11, synth_stack(c.s, 10, "crunch;serve;loop;main"),
				     c.now, 1);
		call(&c, NR_WRITE, 0.02, NULL);
	}
	r = judge_scene(&c, &arena, &(struct functions_opts){.calls_only = true});
	EQ_S(r->fns[0].name, "crunch");
	EQ_U(r->fns[0].evidence[0].kind, DEV_OWN);
	OK(r->harm_ns > 290000000);
	OK(r->thin & THIN_NO_STACKS);
	synth_free(c.s);
}

static void same_result(const struct functions_result *a, const struct functions_result *b)
{
	EQ_U(a->fn_cnt, b->fn_cnt);
	EQ_U(a->abnormal_cnt, b->abnormal_cnt);
	EQ_U(a->harm_ns, b->harm_ns);
	for (size_t i = 0; i < a->fn_cnt; i++) {
		ROW(i);
		EQ_S(a->fns[i].name, b->fns[i].name);
		EQ_U(a->fns[i].rank, b->fns[i].rank);
		NEAR(a->fns[i].score, b->fns[i].score, 1e-9);
	}
}

/* Stacks and calls come in another order: the result does not tell. */
TEST(functions_order_of_events_does_not_matter)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c[2];
	const struct functions_result *r[2];

	for (unsigned k = 0; k < 2; k++) {
		begin(&c[k]);
		if (k) {
			synth_stack(c[k].s, 10, WRITE);
			synth_stack(c[k].s, 10, "fsync@libc.so.6;save;serve;loop;main");
			synth_stack(c[k].s, 10, "stat@libc.so.6;look_up;find;serve;loop;main");
		}
		for (unsigned i = 0; i < 40; i++)
			request(&c[k], i == 7 || i == 21 ? 30 : 1, i % 13 == 5 ? 20 : 1);
		for (uint32_t i = 0; k && i < c[k].cnt / 2; i++) {
			struct ev_call t = c[k].calls[i];

			c[k].calls[i] = c[k].calls[c[k].cnt - 1 - i];
			c[k].calls[c[k].cnt - 1 - i] = t;
		}
		r[k] = judge_scene(&c[k], &arena, NULL);
	}
	OK(r[0]->fn_cnt > 3);
	same_result(r[0], r[1]);
	synth_free(c[0].s);
	synth_free(c[1].s);
}

/* Calls without a stack of their own are where the thread was seen meanwhile. */
TEST(functions_samples_stand_in_for_stacks)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 60; i++) {
		double from;

		call(&c, NR_POLL, 5, LOOP);
		from = c.now;
		for (unsigned k = 0; k < (i % 20 == 7 ? 3000 : 2); k++)
			call(&c, NR_STAT, 0.01, NULL);
		for (double at = from; at < c.now && i % 20 == 7; at += 5)
			synth_sample(c.s, 11, synth_stack(c.s, 10, "stat@libc.so.6;look_up;serve;"
							  "loop;main"), at, 1);
		call(&c, NR_WRITE, 0.02, WRITE);
	}
	r = judge_scene(&c, &arena, NULL);
	EQ_S(r->fns[0].name, "look_up");
	EQ_U(r->fns[0].evidence[0].nr, NR_STAT);
	synth_free(c.s);
}

/* A clock falls into the helpers: the function that gathers them all is the one, not they. */
TEST(functions_samples_in_helpers_are_the_gatherers)
{
	static const char *const helpers[] = {"mix;round", "copy;round", "wipe", "mix;tail"};
	CLEANUP(arena_release) struct arena arena = {0};
	const struct functions_result *r;
	struct scene c;

	begin(&c);
	for (unsigned i = 0; i < 60; i++) {
		double from;
		char stack[96];

		call(&c, NR_POLL, 5, LOOP);
		from = c.now;
		c.now += i % 20 == 7 ? 200 : 0.1;
		for (unsigned k = 0; from + 5 * k < c.now; k++) {
			snprintf(stack, sizeof(stack), "%s;derive;pass;%s;loop;main",
				 helpers[k % 4], i % 20 == 7 ? "hash" : "serve");
			synth_sample(c.s, 11, synth_stack(c.s, 20 + k % 4 + 4 * (i % 20 == 7),
							  stack), from + 5 * k, 1);
		}
		call(&c, NR_WRITE, 0.02, WRITE);
	}
	r = judge_scene(&c, &arena, NULL);
	EQ_S(r->fns[0].name, "derive");
	OK(fn_named(r, "hash")->rank < fn_named(r, "mix")->rank);
	synth_free(c.s);
}

/* The paper's rule cuts where another thread comes between. */
TEST(functions_paper_units)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 12; i++) {
		struct ev_call *one = call(&c, NR_READ, 0.01, READ);

		one->tid = i / 3 % 2 ? 10 : 11;
	}
	c.now += 700;
	call(&c, NR_WRITE, 0.01, WRITE)->tid = 10;
	r = judge_scene(&c, &arena, &(struct functions_opts){.units = UNITS_PAPER});
	EQ_U(r->unit_cnt, 5);
	synth_free(c.s);
}

/* ---- without stacks */

/* A worker of a pool waits in a futex; what it did last is rarely a stat or an fsync. */
static void bare_request(struct scene *c, unsigned i)
{
	call(c, NR_FUTEX, 5, NULL);
	call(c, NR_READ, 0.01, NULL);
	call(c, NR_WRITE, 0.02, NULL);
	if (i % 40 == 7)
		call(c, NR_STAT, 0.01, NULL);
	if (i % 40 == 27)
		call(c, NR_FSYNC, 0.01, NULL);
}

/* Whatever came before it, a wait that ended was one for work. */
TEST(functions_bare_futex_waits_are_for_work)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 400; i++) {
		bare_request(&c, i);
		if (i % 3 == 0) /* wakes somebody: no wait */
			call(&c, NR_FUTEX, 0.005, NULL);
	}
	r = judge_scene(&c, &arena, NULL);
	EQ_U(r->unit_cnt, 400);
	OK(r->harm_ns < 1000000);
	synth_free(c.s);
}

/* One that did not end hangs where no wait for work is known, or where somebody has the lock. */
TEST(functions_bare_futex_that_hangs)
{
	static const struct { unsigned nr, owner; bool hangs; } rows[] = {
		{NR_WRITE, 0, false}, {NR_READ, 0, true}, {NR_WRITE, 10, true}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct scene c;
		const struct functions_result *r;
		struct ev_call *other;

		ROW(i);
		begin(&c);
		other = call(&c, NR_POLL, 11500, NULL);
		other->tid = 10;
		other->result = CALL_UNFINISHED;
		c.now = 0;
		for (unsigned k = 0; k < 400; k++)
			bare_request(&c, k);
		call(&c, NR_FUTEX, 5, NULL);
		call(&c, rows[i].nr, 0.01, NULL);
		if (rows[i].owner)
			synth_pending(c.s, 11, WAIT_FUTEX, 7, c.now)->owner_tid = rows[i].owner;
		call(&c, NR_FUTEX, 9000, NULL)->result = CALL_UNFINISHED;
		r = judge_scene(&c, &arena, NULL);
		EQ_U(r->harm_ns > 8000000000, rows[i].hangs);
		synth_free(c.s);
	}
}

/*
 * A thread that does nothing but wait in a condition variable is a spare one,
 * told by its stack or by there being no owner; one that waits for a mutex is not.
 */
TEST(functions_a_thread_that_only_waits_is_spare)
{
	static const struct { const char *stack; uint32_t owner; bool hangs; } rows[] = {
		{"pthread_cond_timedwait@libc.so.6;spare;main", 0, false},
		{"pthread_mutex_lock@libc.so.6;page;main", 0, true},
		{NULL, 0, false}, {NULL, 11, true}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct scene c;
		const struct functions_result *r;

		ROW(i);
		begin(&c);
		call(&c, NR_FUTEX, 1000, rows[i].stack)->tid = 10;
		call(&c, NR_MMAP, 0.01, rows[i].stack)->tid = 10;
		synth_pending(c.s, 10, WAIT_FUTEX, 7, c.now)->owner_tid = rows[i].owner;
		call(&c, NR_FUTEX, 9000, rows[i].stack)->tid = 10;
		c.calls[c.cnt - 1].result = CALL_UNFINISHED;
		c.now = 0;
		for (unsigned k = 0; k < 200; k++) {
			call(&c, NR_POLL, 40, rows[i].stack ? LOOP : NULL);
			call(&c, NR_WRITE, 0.02, rows[i].stack ? WRITE : NULL);
		}
		call(&c, NR_POLL, 2000, rows[i].stack ? LOOP : NULL)->result = CALL_UNFINISHED;
		r = judge_scene(&c, &arena, NULL);
		EQ_U(r->harm_ns > 8000000000, rows[i].hangs);
		EQ_U(r->harm_ns < 1000000000, !rows[i].hangs);
		synth_free(c.s);
	}
}

/*
 * What is read for is not known of a call that has not returned: it is a wait
 * for work where it comes after what such waits come after, whatever the kind.
 */
TEST(functions_a_pending_read_is_a_wait_for_work)
{
	for (unsigned after = 0; after < 2; after++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct scene c;
		const struct functions_result *r;

		ROW(after);
		begin(&c);
		for (unsigned i = 0; i < 200; i++) {
			call(&c, NR_READ, 5, NULL)->kind = RES_SOCKET;
			call(&c, NR_STAT, 0.01, NULL);
			call(&c, NR_WRITE, 0.02, NULL);
		}
		if (after) {
			call(&c, NR_READ, 5, NULL)->kind = RES_SOCKET;
			call(&c, NR_STAT, 0.01, NULL);
		}
		call(&c, NR_READ, 900, NULL)->result = CALL_UNFINISHED;
		r = judge_scene(&c, &arena, NULL);
		EQ_U(r->harm_ns > 500000000, after);
		synth_free(c.s);
	}
}

/* Where requests wait is no home, however long and often it is waited there. */
TEST(functions_where_requests_wait_is_no_home)
{
	for (unsigned known = 0; known < 2; known++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct held_stack stacks[2] = {{.ns = 3e9}, {.idle_ns = 1e9}};
		struct held held = {.stacks = stacks, .stack_cnt = 2, .ns = 3e9, .all_ns = 3e9,
				    .idle_ns = 1e9};
		struct scene c;
		const struct functions_result *r;

		ROW(known);
		begin(&c);
		for (unsigned i = 0; i < 200; i++) {
			call(&c, NR_POLL, 0.1, LOOP);
			call(&c, NR_READ, 0.01, READ);
			call(&c, NR_READ, i % 20 == 7 ? 300 : 10,
			     "read@libc.so.6;ask;serve;loop;main");
			call(&c, NR_WRITE, 0.02, WRITE);
		}
		judge_scene(&c, &arena, NULL);
		stacks[0].stack = stack_of(synth_model(c.s), "ask", &arena);
		stacks[1].stack = stack_of(synth_model(c.s), "loop", &arena);
		r = functions_analyse(synth_model(c.s), NULL,
				      &(struct functions_opts){.held = known ? &held : NULL},
				      &arena);
		EQ_U(r->harm_ns > 2000000000, known);
		if (known)
			EQ_S(r->fns[0].evidence[0].kind == DEV_SLOWER ? r->fns[0].name : "", "ask");
		synth_free(c.s);
	}
}

/* A process that waits for its children is shown last, as what it is, with its age. */
TEST(functions_what_rests_is_shown_last)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;
	const struct unit_report *last;

	begin(&c);
	call(&c, NR_POLL, 9000, NULL)->tid = 10;
	c.calls[0].result = CALL_UNFINISHED;
	c.now = 0;
	for (unsigned i = 0; i < 200; i++)
		request(&c, 2, i == 100 ? 6 : 1);
	call(&c, NR_POLL, 7000, LOOP)->result = CALL_UNFINISHED;
	r = judge_scene(&c, &arena, NULL);
	OK(r->unit_report_cnt >= 2);
	OK(!(r->units[0].reasons & UNIT_RESTS));
	last = &r->units[r->unit_report_cnt - 1];
	OK(last->reasons & UNIT_RESTS);
	OK(last->harm_ns > r->units[0].harm_ns);
	EQ_U(last->devs[0].mean_ns, 9000000000);
	synth_free(c.s);
}

/*
 * All server programs have threads that wait for what never comes: no request
 * waits there.  One in the midst of what others do may have read its request
 * before the window.
 */
TEST(functions_a_hang_that_no_request_waits_for_is_a_rest)
{
	static const struct { const char *stack, *self; bool runs; double less_ms; } rows[] = {
		{"pthread_cond_wait@libc.so.6;watch;main", "look_up", false, 72},
		{"pthread_cond_wait@libc.so.6;watch;main", "look_up", true, 72},
		{"pthread_cond_wait@libc.so.6;watch;main", "watch", false, 0},
		{"pthread_cond_wait@libc.so.6;watch;serve;loop;main", "look_up", false, 0},
		{"pthread_cond_wait@libc.so.6;watch;price;main", "look_up", false, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct held_stack one = {.ns = 8e9, .runs = rows[i].runs};
		struct held held = {.stacks = &one, .stack_cnt = 1, .ns = 8e9, .all_ns = 8e9};
		struct scene c;
		uint64_t before_ns;

		ROW(i);
		begin(&c);
		call(&c, NR_FUTEX, 9000, rows[i].stack)->tid = 10;
		c.calls[0].result = CALL_UNFINISHED;
		c.now = 0;
		for (unsigned k = 0; k < 200; k++)
			request(&c, 2, 1);
		synth_sample(c.s, 11, synth_stack(c.s, 10, "round;price;loop;main"), c.now, 1);
		before_ns = judge_scene(&c, &arena, NULL)->harm_ns;
		one.stack = stack_of(synth_model(c.s), rows[i].self, &arena);
		/* of nine seconds a hundredth, and a five-hundredth */
		NEAR((double)(before_ns - functions_analyse(synth_model(c.s), NULL,
				&(struct functions_opts){.held = &held}, &arena)->harm_ns),
		     rows[i].less_ms * 1e6, 1e6);
		synth_free(c.s);
	}
}

/* A compiler or a collector in the background deviates as it likes: nobody waits for it. */
TEST(functions_work_that_no_request_waits_for_counts_less)
{
	static const struct { double held_s, worker_s; unsigned parts; } rows[] = {
		{8, 0, 10}, {8, 1, 100}, {0.1, 0, 55}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(arena_release) struct arena arena = {0};
		double thread_ns[2] = {0};
		struct held_stack one = {.ns = rows[i].held_s * 1e9};
		struct held held = {.stacks = &one, .stack_cnt = 1, .ns = one.ns, .all_ns = one.ns,
				    .thread_ns = thread_ns};
		struct scene c;
		const struct functions_result *r;
		double before_ns;

		ROW(i);
		begin(&c);
		for (unsigned k = 0; k < 200; k++)
			request(&c, 2, k % 20 == 7 ? 80 : 1);
		r = judge_scene(&c, &arena, NULL);
		before_ns = (double)r->harm_ns;
		thread_ns[model_thread_by_tid(r->m, 11)] = rows[i].worker_s * 1e9;
		one.stack = stack_of(r->m, "look_up", &arena);
		r = functions_analyse(r->m, NULL, &(struct functions_opts){.held = &held}, &arena);
		NEAR((double)r->harm_ns, before_ns * rows[i].parts / 100, before_ns / 100);
		EQ_U((r->units[0].reasons & UNIT_UNFELT) != 0, rows[i].parts < 100);
		synth_free(c.s);
	}
}
