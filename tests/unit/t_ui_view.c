/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "unit.h"

#include "synth.h"
#include "ui/so_far.h"
#include "ui/ticks.h"
#include "ui/view.h"

#define MS 1000000ULL

enum { LOCK = 7, EPOLL = 8, GONE = 9 };

/*
 * Two ticks of 1 s.  11 waits for the lock from 500 to 1500 (woken by 12) and
 * from 1800 on; 12 sleeps in epoll but for what it runs; 13 waits only in the
 * first tick.
 */
static struct synth *scene(void)
{
	struct synth *s = synth_new(2000);

	synth_thread(s, 10, 10, "server");
	synth_thread(s, 11, 10, "worker");
	synth_thread(s, 12, 10, "holder");
	synth_thread(s, 13, 10, "early");
	synth_res(s, LOCK, RES_FUTEX, "lock");
	synth_res(s, EPOLL, RES_EPOLL, "loop");
	synth_res(s, GONE, RES_FUTEX, "gone");
	synth_wait(s, 11, WAIT_FUTEX, LOCK, 500, 1500, 1510, 12);
	synth_pending(s, 11, WAIT_FUTEX, LOCK, 1800);
	synth_irq_wait(s, 12, WAIT_EPOLL, EPOLL, 100, 1490, 1490, WAKER_NET);
	synth_pending(s, 12, WAIT_EPOLL, EPOLL, 1500);
	synth_wait(s, 13, WAIT_FUTEX, GONE, 100, 600, 600, 12);
	return s;
}

static struct view *view_of(struct synth *s, double from_ms, double to_ms)
{
	struct view *v = view_new();

	view_build(v, synth_model(s), NULL, synth_ns(s, from_ms), synth_ns(s, to_ms));
	return v;
}

TEST(ui_view_splits_a_wait_at_the_tick)
{
	struct synth *s = scene();
	struct view *v = view_of(s, 1000, 2000);
	uint32_t row = view_thread_by_tid(v, 11);
	const struct view_thread *t = &v->threads.items[row];

	OK(row != NO_IDX);
	EQ_U(t->life_ns, 1000 * MS);
	EQ_U(t->ns[ST_WAIT + WAIT_FUTEX], 700 * MS);
	EQ_U(t->group_ns[VG_LOCK], 700 * MS);
	EQ_U(t->ns[ST_RUNQ], 10 * MS);
	EQ_U(t->ns[ST_RUN], 290 * MS);
	OK(t->waiting);
	view_free(v);
	synth_free(s);
}

TEST(ui_view_groups_add_up)
{
	struct synth *s = scene();
	struct view *v = view_of(s, 1000, 2000);

	VEC_FOREACH(&v->threads, t) {
		uint64_t sum = 0;

		ROW(t->tid);
		for (unsigned g = 0; g < VG_CNT; g++)
			sum += t->group_ns[g];
		EQ_U(sum, t->life_ns);
	}
	view_free(v);
	synth_free(s);
}

TEST(ui_view_tells_resource_and_waker)
{
	struct synth *s = scene();
	struct view *v = view_of(s, 1000, 2000);
	const struct view_thread *t = &v->threads.items[view_thread_by_tid(v, 11)];
	const struct view_res *r = &v->res.items[view_res_by_id(v, LOCK)];

	EQ_S(v->res.items[t->top_res].name, "lock");
	EQ_U(t->waker.tid, 12);
	EQ_S(t->waker.comm, "holder");
	EQ_U(r->wait_ns, 700 * MS);
	EQ_U(r->waiter_cnt, 1);
	EQ_U(r->waiting_cnt, 1);
	EQ_U(r->waker_cnt, 1);
	EQ_U(r->max_ns, 1000 * MS);
	EQ_S(view_waker_text(&r->waker), "holder");
	t = &v->threads.items[view_thread_by_tid(v, 12)];
	EQ_S(view_waker_text(&t->waker), "[network]");
	view_free(v);
	synth_free(s);
}

/* One holds the lock for long; the waiters then hand it on quickly, from one to the next. */
TEST(ui_view_blames_the_holder_of_a_convoy)
{
	struct synth *s = synth_new(1000);
	const struct view_thread *t;
	const struct view_res *r;
	struct view *v;

	synth_thread(s, 10, 10, "server");
	synth_thread(s, 20, 10, "holder");
	synth_res(s, LOCK, RES_FUTEX, "lock");
	synth_wait(s, 20, WAIT_TIMER, 0, 5, 795, 795, 0);
	for (uint32_t i = 0; i < 8; i++) {
		synth_thread(s, 30 + i, 10, "waiter");
		synth_wait(s, 30 + i, WAIT_FUTEX, LOCK, 10, 800 + 10 * i, 800 + 10 * i,
			   i ? 29 + i : 20);
	}
	v = view_of(s, 0, 1000);
	r = &v->res.items[view_res_by_id(v, LOCK)];
	EQ_U(r->waker.tid, 20);
	EQ_S(r->waker.comm, "holder");
	EQ_U(r->waker_ns, 8 * 790 * MS);
	EQ_U(r->waker_cnt, 8);
	t = &v->threads.items[view_thread_by_tid(v, 37)];
	EQ_U(t->waker.tid, 20);
	view_free(v);
	synth_free(s);
}

TEST(ui_view_leaves_out_other_ticks)
{
	struct synth *s = scene();
	struct view *v = view_of(s, 1000, 2000);

	EQ_U(view_res_by_id(v, GONE), NO_IDX);
	view_free(v);
	v = view_of(s, 0, 1000);
	OK(view_res_by_id(v, GONE) != NO_IDX);
	EQ_U(v->threads.items[view_thread_by_tid(v, 13)].wait_cnt, 1);
	EQ_U(v->threads.items[view_thread_by_tid(v, 11)].wait_cnt, 0);
	view_free(v);
	synth_free(s);
}

TEST(ui_view_survives_its_model)
{
	struct synth *s = scene();
	struct view *v = view_of(s, 1000, 2000);

	synth_free(s);
	EQ_S(v->threads.items[view_thread_by_tid(v, 11)].comm, "worker");
	EQ_U(v->procs.cnt, 1);
	EQ_U(v->procs.items[0].thread_cnt, v->threads.cnt);
	view_free(v);
}

static void add(struct ticks *t, const void *ev)
{
	ticks_add(t, ev);
}

TEST(ui_ticks_give_what_each_tick_added)
{
	struct ticks *t = ticks_new(2);
	struct ev_meta meta = {.h = {sizeof(meta), EV_META, 0, 0, 1000}};

	add(t, &meta);
	for (unsigned i = 1; i <= 4; i++) {
		struct ev_end e = {.h = {sizeof(e), EV_END, 0, 0, 1000 * i}, .tgid = 10,
				   .role = ROLE_SERVER, .turns = 100 * i * i};
		struct ev_loss l = {.h = {sizeof(l), EV_LOSS, 0, 0, 1000 * i}};
		struct ev_tick k = {.h = {sizeof(k), EV_TICK, 0, 0, 1000 + 1000 * i}};

		l.cnt[LOSS_RING] = 5 * i;
		add(t, &e);
		add(t, &l);
		add(t, &k);
	}
	EQ_U(ticks_cnt(t), 4);
	EQ_U(ticks_first(t), 2);
	OK(!ticks_at(t, 1));
	EQ_U(ticks_at(t, 3)->begin_ns, 4000);
	EQ_U(ticks_at(t, 3)->end_ns, 5000);
	EQ_U(ticks_at(t, 3)->procs[0].turns, 1600 - 900);
	EQ_U(ticks_at(t, 3)->lost, 5);
	EQ_U(ticks_at(t, 3)->lost_all, 20);
	OK(ticks_ending(t, 4000) == ticks_at(t, 2));
	OK(!ticks_ending(t, 4001));
	ticks_free(t);
}

TEST(ui_ticks_count_no_start_into_the_first_tick)
{
	struct ticks *t = ticks_new(4);
	struct ev_meta meta = {.h = {sizeof(meta), EV_META, 0, 0, 1000}};
	struct ev_self self = {.h = {sizeof(self), EV_SELF, 0, 0, 1000}, .cpu_ns = 800 * MS};
	struct ev_tick k = {.h = {sizeof(k), EV_TICK, 0, 0, 2000}};

	add(t, &meta);
	add(t, &self);
	self.cpu_ns += 7 * MS;
	self.events = 30;
	add(t, &self);
	add(t, &k);
	EQ_U(ticks_at(t, 0)->self_cpu_ns, 7 * MS);
	EQ_U(ticks_at(t, 0)->self_events, 30);
	ticks_free(t);
}

/* A pool's thread waits for work on a futex, a worker for a lock; a third does both. */
TEST(ui_so_far_shows_no_idle_thread_at_a_lock)
{
	struct synth *s = synth_new(2000);
	struct so_far *so_far = so_far_new();
	struct view *v;
	const struct view_thread *pool, *worker;

	synth_thread(s, 10, 10, "server");
	synth_thread(s, 11, 10, "worker");
	synth_thread(s, 12, 10, "holder");
	synth_thread(s, 20, 10, "pool");
	synth_res(s, LOCK, RES_FUTEX, "lock");
	synth_res(s, GONE, RES_FUTEX, "queue");
	synth_pending(s, 20, WAIT_FUTEX, GONE, 0);
	for (int i = 0; i < 4; i++) {
		synth_wait(s, 11, WAIT_FUTEX, LOCK, i * 500 + 5, i * 500 + 400, i * 500 + 401,
			   12)->owner_tid = 12;
		synth_irq_wait(s, 12, WAIT_TIMER, 0, i * 500 + 1, i * 500 + 399, i * 500 + 399,
			       WAKER_TIMER);
	}
	v = view_of(s, 1000, 2000);
	EQ_S(v->so_far, "");
	so_far_judge(so_far, synth_model(s), true);
	so_far_to_view(so_far, v);
	pool = &v->threads.items[view_thread_by_tid(v, 20)];
	worker = &v->threads.items[view_thread_by_tid(v, 11)];
	EQ_U(pool->group_ns[VG_LOCK], 0);
	EQ_U(pool->group_ns[VG_IDLE], 1000 * MS);
	OK(worker->group_ns[VG_LOCK] > 700 * MS);
	EQ_U(worker->group_ns[VG_IDLE], 0);
	EQ_U(v->res.items[view_res_by_id(v, GONE)].wait_ns, 0);
	OK(strstr(v->so_far, "confidence"));
	view_free(v);
	so_far_free(so_far);
	synth_free(s);
}
