/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "model/stack.h"
#include "stacks/stacks.h"
#include "stacks/tops.h"
#include "stacks/stack_tree.h"
#include "synth.h"
#include "unit.h"

#define LOCK_STACK "futex_wait@k;lock_wait@libc.so.6;take_page;read_row+find;serve;main"
#define UNLOCK_STACK "lock_wake@libc.so.6;release_page;flush;cleaner;start"

/*
 * A worker that waits 600 ms for a lock, half of it with a stack, sleeps for
 * work at home, and runs the rest; a cleaner that lets the lock go.
 */
static struct synth *scene(void)
{
	struct synth *s = synth_new(2000);
	struct ev_wait *w;

	synth_thread(s, 10, 10, "srv");
	synth_thread(s, 11, 10, "worker");
	synth_thread(s, 12, 10, "cleaner");
	synth_res(s, 7, RES_FUTEX, "big lock");
	synth_res(s, 8, RES_EPOLL, "epoll");
	w = synth_wait(s, 11, WAIT_FUTEX, 7, 100, 400, 410, 12);
	w->ustack = synth_stack(s, 10, LOCK_STACK);
	w->waker_stack = synth_stack(s, 10, UNLOCK_STACK);
	synth_wait(s, 11, WAIT_FUTEX, 7, 500, 800, 810, 12);
	w = synth_wait(s, 11, WAIT_EPOLL, 8, 900, 1400, 1400, 0);
	w->ustack = synth_stack(s, 10, "epoll_wait@libc.so.6;loop;main");
	synth_wait(s, 12, WAIT_TIMER, 0, 10, 20, 20, 0);
	for (int i = 0; i < 30; i++) {
		const char *stack = i % 3 ? "hash;serve;main" : "copy;serve;main";

		synth_sample(s, 11, synth_stack(s, 10, stack), 1400 + i * 10, 1);
	}
	return s;
}

static const char *path_text(const struct stacks_result *r, const struct stack_row *row,
			     struct buf *out)
{
	uint32_t fns[STACKS_PATH_MAX], cnt = stacks_path(r, row, fns, STACKS_PATH_MAX);

	buf_clear(out);
	for (uint32_t i = 0; i < cnt; i++)
		buf_printf(out, "%s%s", i ? ";" : "", r->fns[fns[i]].name);
	return buf_str(out);
}

static const struct stack_row *row_at(const struct stacks_result *r, unsigned mode, size_t i)
{
	OK(r->first_row[mode] + i < r->first_row[mode + 1]);
	return &r->rows[r->first_row[mode] + i];
}

TEST(stacks_names_of_frames_come_in_any_order)
{
	struct synth *s = synth_new(1000);
	struct ev_frame *ev;
	const struct model *m;
	const struct fn *fn;
	static const struct { uint32_t depth; const char *name; } rows[] = {
		{1, "mid"}, {0, "outer"}, {2, "old name"}, {2, "inner"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ev = synth_event(s, EV_FRAME, sizeof(*ev), 0);
		ev->frame = UINT64_C(1) << 48 | 0x50;
		ev->depth = rows[i].depth;
		ev->fn = synth_str(s, rows[i].name);
		ev->line = (uint32_t)i;
	}
	m = synth_model(s);
	fn = model_fn(m, UINT64_C(1) << 48 | 0x50, 77);
	OK(fn);
	EQ_S(fn->name, "inner");
	EQ_U(fn->line, 3);
	fn = model_fn_outer(m, fn);
	EQ_S(fn->name, "mid");
	fn = model_fn_outer(m, fn);
	EQ_S(fn->name, "outer");
	OK(!model_fn_outer(m, fn));
	OK(!model_fn(m, UINT64_C(1) << 48 | 0x51, 77));
	EQ_U(m->bad_event_cnt, 0);
	synth_free(s);
}

TEST(stacks_rows_stand_for_waits_without_a_stack)
{
	CLEANUP(arena_release) struct arena arena = {0};
	CLEANUP(buf_release) struct buf t = {0};
	struct synth *s = scene();
	const struct model *m = synth_model(s);
	const struct stacks_result *r = stacks_make(m, NULL, &arena);
	const struct stack_row *row = row_at(r, STACKS_OFF, 0);

	EQ_S(path_text(r, row, &t),
	     "srv;worker;main;serve;find;read_row;take_page;lock_wait;futex_wait;futex big lock");
	EQ_U(row->seen_ns, 300000000);
	EQ_U(row->ns, 600000000);
	EQ_U(row->cnt, 1);
	row = row_at(r, STACKS_OFF, 1);
	EQ_S(path_text(r, row, &t), "srv;worker;main;loop;epoll_wait;epoll");
	EQ_U(row->ns, 500000000);
	row = row_at(r, STACKS_OFF, 2); /* twice 10 ms in the queue, one with a stack */
	EQ_S(path_text(r, row, &t), "srv;worker;main;serve;find;read_row;take_page;lock_wait;"
	     "futex_wait;waiting for a CPU");
	EQ_U(row->ns, 20000000);
	row = row_at(r, STACKS_OFF, 3);
	EQ_S(path_text(r, row, &t), "srv;cleaner;[no stack taken];timer");
	EQ_U(r->sums[STACKS_OFF].total_ns, 1130000000);
	EQ_U(r->sums[STACKS_OFF].covered_ns, 810000000);
	EQ_U(r->sums[STACKS_OFF].scaled_ns, 1120000000);
	synth_free(s);
}

TEST(stacks_waker_follows_the_waiter)
{
	CLEANUP(arena_release) struct arena arena = {0};
	CLEANUP(buf_release) struct buf t = {0};
	struct synth *s = scene();
	const struct stacks_result *r = stacks_make(synth_model(s), NULL, &arena);
	const struct stack_row *row = row_at(r, STACKS_WAKER, 0);

	EQ_S(path_text(r, row, &t),
	     "srv;worker;main;serve;find;read_row;take_page;lock_wait;futex_wait;futex big lock;"
	     "-- woken by --;lock_wake;release_page;flush;cleaner;start;cleaner");
	EQ_U(row->ns, 600000000);
	EQ_U(r->first_row[STACKS_WAKER + 1] - r->first_row[STACKS_WAKER], 1);
	EQ_S(r->fns[r->paths[row->stack].fns[stacks_site(r, &r->paths[row->stack])]].name,
	     "take_page");
	synth_free(s);
}

TEST(stacks_samples_share_the_running_time)
{
	CLEANUP(arena_release) struct arena arena = {0};
	CLEANUP(buf_release) struct buf t = {0};
	struct synth *s = scene();
	const struct model *m = synth_model(s);
	const struct stacks_result *r = stacks_make(m, NULL, &arena);
	const struct stack_row *a = row_at(r, STACKS_ON, 0), *b = row_at(r, STACKS_ON, 1);
	uint64_t run_ns = 0;

	for (size_t i = 0; i < m->thread_cnt; i++)
		run_ns += m->threads[i].ns[ST_RUN];
	EQ_S(path_text(r, a, &t), "srv;worker;main;serve;hash");
	EQ_S(path_text(r, b, &t), "srv;worker;main;serve;copy");
	EQ_U(a->cnt, 20);
	OK(a->ns > b->ns * 2 - 4 && a->ns < b->ns * 2 + 4);
	EQ_U(r->sums[STACKS_ON].total_ns, run_ns);
	OK(run_ns - (a->ns + b->ns) < 4);
	EQ_U(r->sums[STACKS_ON].cnt, 30);
	synth_free(s);
}

TEST(stacks_waits_for_work_are_left_out)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct synth *s = scene();
	const struct model *m = synth_model(s);
	uint32_t home[16];
	struct stacks_opts opts = {.home_res = home};
	const struct stacks_result *r;

	for (size_t i = 0; i < m->thread_cnt; i++)
		home[i] = NO_IDX;
	home[model_thread_by_tid(m, 11)] = model_res_by_id(m, 8);
	r = stacks_make(m, &opts, &arena);
	EQ_U(r->sums[STACKS_OFF].idle_ns, 500000000);
	EQ_U(r->sums[STACKS_OFF].total_ns, 630000000);
	for (size_t i = 0; i < r->row_cnt; i++)
		OK(!r->rows[i].idle);
	opts.idle = true;
	r = stacks_make(m, &opts, &arena);
	EQ_U(r->sums[STACKS_OFF].idle_ns, 0);
	EQ_U(r->sums[STACKS_OFF].total_ns, 1130000000);
	OK(row_at(r, STACKS_OFF, 1)->idle);
	synth_free(s);
}

TEST(stacks_pending_wait_has_its_stack)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct synth *s = scene();
	struct ev_wait *w = synth_pending(s, 12, WAIT_FUTEX, 7, 200);
	const struct stacks_result *r;

	w->ustack = synth_stack(s, 10, "lock_wait@libc.so.6;flush;cleaner;start");
	r = stacks_make(synth_model(s), NULL, &arena);
	EQ_U(row_at(r, STACKS_OFF, 0)->ns, 1800000000);
	synth_model(s); /* once more: it is not in there twice */
	r = stacks_make(synth_model(s), NULL, &arena);
	EQ_U(row_at(r, STACKS_OFF, 0)->ns, 1800000000);
	synth_free(s);
}

TEST(stacks_frames_without_a_name_are_kept)
{
	CLEANUP(arena_release) struct arena arena = {0};
	CLEANUP(buf_release) struct buf t = {0};
	struct synth *s = synth_new(1000);
	const struct stacks_result *r;
	struct ev_sample *e;
	struct ev_stack *st;
	uint64_t *frames;

	synth_thread(s, 10, 10, "srv");
	synth_wait(s, 10, WAIT_TIMER, 0, 10, 20, 20, 0);
	synth_stack(s, 10, "known"); /* module 1 */
	st = synth_event(s, EV_STACK, sizeof(*st) + 5 * 8, 0);
	st->id = 90;
	st->tgid = 10;
	st->kernel_cnt = 1;
	st->user_cnt = 4;
	st->end = STACK_NO_RULE;
	frames = (uint64_t *)(st + 1);
	frames[0] = UINT64_C(0xffff) << 48 | 0x123;
	frames[1] = UINT64_C(1) << 48 | 0x777;
	frames[2] = UINT64_C(9) << 48 | 0x42;
	frames[3] = 0x5555;
	frames[4] = 0;
	e = synth_sample(s, 10, 90, 500, 3);
	e->cpu = 1;
	r = stacks_make(synth_model(s), NULL, &arena);
	EQ_S(path_text(r, row_at(r, STACKS_ON, 0), &t),
	     "srv;srv;[stack not whole];srv+0x0;srv+0x5555;module 9+0x42;prog+0x1777;kernel+0x123");
	OK(r->sums[STACKS_ON].cut_ns == row_at(r, STACKS_ON, 0)->ns);
	synth_free(s);
}

/* A thread each, all with a wait of so many ms in wait_set, called from caller. */
static void waits_in_set(struct synth *s, uint32_t tid, const char *caller, double ms)
{
	char text[128];

	synth_thread(s, tid, 10, tid == 10 ? "pg" : "backend");
	snprintf(text, sizeof(text), "epoll_wait@libc.so.6;wait_set;%s;main", caller);
	synth_wait(s, tid, WAIT_EPOLL, 7, 0, ms, ms, 0)->ustack = synth_stack(s, 10, text);
}

TEST(stacks_spot_names_the_callers_that_all_its_waits_share)
{
	static const char *const small[] = {"checkpointer", "bgwriter", "archiver"};
	CLEANUP(arena_release) struct arena arena = {0};
	struct synth *s = synth_new(2000);
	const struct stacks_result *r;
	const struct spot *spots;
	size_t cnt;

	synth_res(s, 7, RES_EPOLL, "set");
	for (uint32_t i = 0; i < 3; i++)
		waits_in_set(s, 20 + i, small[i], 30 - i);
	waits_in_set(s, 30, "sleep_for_lock", 700);
	waits_in_set(s, 31, "sleep_for_lock", 500);
	r = stacks_make(synth_model(s), NULL, &arena);
	spots = spots_make(r, STACKS_OFF, &arena, &cnt);
	EQ_U(cnt, 2);
	EQ_U(spots[0].ns, 1200000000);
	EQ_U(spots[0].fn_cnt, 3);
	EQ_S(r->fns[spots[0].fns[1]].name, "sleep_for_lock");
	EQ_U(spots[0].thread_cnt, 2);
	OK(!spots[0].forks);
	/* none of the others has a tenth: one row, and no caller of one of them stands for all */
	EQ_U(spots[1].ns, 87000000);
	EQ_U(spots[1].fn_cnt, 1);
	EQ_S(r->fns[spots[1].fns[0]].name, "wait_set");
	OK(spots[1].forks);
	EQ_U(spots[1].thread_cnt, 3);
	EQ_U(spots[1].res_cnt, 1);
	synth_free(s);
}

static const struct tree_node *node_named(const struct stack_tree *t, const char *name)
{
	for (size_t i = 0; i < t->node_cnt; i++)
		if (strcmp(t->fns[t->nodes[i].fn].name, name) == 0)
			return &t->nodes[i];
	OK(!"no such node");
	return NULL;
}

TEST(stacks_tree_has_the_state_of_most_time_below)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct synth *s = synth_new(2000);
	const struct stack_tree *t;

	synth_thread(s, 11, 10, "worker");
	for (uint64_t i = 0; i < 5; i++) {
		char text[64];

		snprintf(text, sizeof(text), "lock_wait@libc.so.6;take%d;serve;main", (int)i);
		synth_res(s, 20 + i, RES_FUTEX, NULL);
		synth_wait(s, 11, WAIT_FUTEX, 20 + i, (double)i * 200, (double)i * 200 + 100,
			   (double)i * 200 + 100, 0)->ustack = synth_stack(s, 10, text);
	}
	synth_wait(s, 11, WAIT_TIMER, 0, 1200, 1500, 1500, 0)->ustack =
		synth_stack(s, 10, "nanosleep@libc.so.6;pause;serve;main");
	t = tree_make(stacks_make(synth_model(s), NULL, &arena), NULL, STACKS_OFF, &arena);
	/* the longest single row is the timer's 300 ms, but 500 ms are of locks */
	EQ_U(node_named(t, "pause")->st, ST_WAIT + WAIT_TIMER);
	EQ_U(node_named(t, "take3")->st, ST_WAIT + WAIT_FUTEX);
	EQ_U(node_named(t, "serve")->st, ST_WAIT + WAIT_FUTEX);
	EQ_U(node_named(t, "worker")->st, ST_WAIT + WAIT_FUTEX);
	synth_free(s);
}

TEST(stacks_waits_for_a_lock_where_it_waits_for_work_are_no_idle_ones)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct synth *s = synth_new(1000);
	uint8_t idle[4] = {0};
	uint32_t home[4];
	const struct model *m;
	const struct stacks_result *r;
	const struct thread *t;

	synth_thread(s, 11, 10, "backend");
	synth_res(s, 8, RES_EPOLL, "latch");
	synth_wait(s, 11, WAIT_EPOLL, 8, 0, 300, 300, 0)->ustack =
		synth_stack(s, 10, "epoll_wait@libc.so.6;wait_set;read_command;main");
	synth_wait(s, 11, WAIT_EPOLL, 8, 400, 500, 500, 0)->ustack =
		synth_stack(s, 10, "epoll_wait@libc.so.6;wait_set;sleep_for_lock;main");
	m = synth_model(s);
	t = &m->threads[model_thread_by_tid(m, 11)];
	EQ_U(t->wait_len, 2);
	for (size_t i = 0; i < 4; i++)
		home[i] = model_res_by_id(m, 8);
	idle[t->first_wait] = 1;
	r = stacks_make(m, &(struct stacks_opts){.home_res = home, .wait_idle = idle}, &arena);
	EQ_U(r->sums[STACKS_OFF].idle_ns, 300000000);
	EQ_U(r->sums[STACKS_OFF].total_ns, 100000000);
	EQ_U(row_at(r, STACKS_OFF, 0)->ns, 100000000);
	OK(!row_at(r, STACKS_OFF, 0)->idle);
	EQ_U(r->first_row[STACKS_OFF + 1] - r->first_row[STACKS_OFF], 1);
	synth_free(s);
}
