/* SPDX-License-Identifier: Apache-2.0 */
/* The waits engine and the verdict on small worlds whose truth is plain. */
#include <stdio.h>
#include <string.h>

#include "judged.h"
#include "unit.h"
#include "waits/waits_int.h"

/* A lock that tid 11 holds 200 of each 250 ms asleep; 12 and 13 wait for it. */
static struct synth *lock_world(void)
{
	struct synth *s = synth_new(1000);

	synth_thread(s, 11, 11, "srv");
	synth_thread(s, 12, 11, "w1");
	synth_thread(s, 13, 11, "w2");
	synth_res(s, 7, RES_FUTEX, "the lock");
	for (int i = 0; i < 4; i++) {
		double b = i * 250;

		synth_irq_wait(s, 11, WAIT_TIMER, 0, b + 1, b + 200, b + 200, WAKER_TIMER);
		synth_wait(s, 12, WAIT_FUTEX, 7, b + 2, b + 201, b + 201, 11)->owner_tid = 11;
		synth_wait(s, 13, WAIT_FUTEX, 7, b + 3, b + 220, b + 220, 12)->owner_tid = 12;
	}
	return s;
}

TEST(verdict_names_lock_and_holder)
{
	struct judged j;

	judge(&j, lock_world());
	EQ_S(finding_name(j.v->findings[0].cls), "lock-held");
	EQ_U(j.v->findings[0].culprit.tid, 11);
	EQ_S(j.v->findings[0].resource, "the lock");
	EQ_U(j.w->lock_cnt, 1);
	EQ_U(j.w->locks[0].cls, LOCK_LOCK);
	/* what one who comes meets is the long hold, not the mean with the quick hand-over */
	OK(j.w->locks[0].hold_ns > 150000000);
	judged_release(&j);
}

TEST(waits_demand_adds_up)
{
	struct judged j;
	uint64_t sum = 0;

	judge(&j, lock_world());
	for (size_t i = 0; i < j.w->cause_cnt; i++)
		sum += j.w->causes[i].ns;
	/* three lives of a second, none idle, each nanosecond on one cause */
	OK(sum > 2990000000 && sum < 3010000000);
	EQ_U(j.w->demand_ns, sum);
	judged_release(&j);
}

TEST(verdict_finds_circle)
{
	struct synth *s = synth_new(1000);
	struct judged j;

	synth_thread(s, 31, 31, "a");
	synth_thread(s, 32, 31, "b");
	synth_res(s, 7, RES_FUTEX, "m1");
	synth_res(s, 8, RES_FUTEX, "m2");
	synth_pending(s, 31, WAIT_FUTEX, 7, 1)->owner_tid = 32;
	synth_pending(s, 32, WAIT_FUTEX, 8, 1)->owner_tid = 31;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "deadlock");
	EQ_U(j.w->cycle_cnt, 1);
	EQ_U(j.w->cycles[0].len, 2);
	EQ_U(j.v->finding_cnt, 1);
	judged_release(&j);
}

/* One thread with n requests open sleeps in epoll until the upstream answers. */
static struct synth *loop_world(double upstream_ms) /* summed over requests */
{
	struct synth *s = synth_new(1000);
	struct ev_proc *p;

	synth_thread(s, 20, 20, "loop");
	synth_res(s, 6, RES_EPOLL, NULL);
	synth_sock(s, 5, ROLE_CLIENT, 0x0a000001, 9000);
	synth_sock(s, 8, ROLE_SERVER, 0x7f000001, 80);
	synth_sock(s, 9, ROLE_SERVER, 0x7f000001, 80);
	for (int i = 0; i < 2; i++) {
		struct ev_sock *k = synth_event(s, EV_SOCK, sizeof(*k), 999);

		k->res = 8 + i;
		k->tgid = k->last_tid = 20;
		k->role = ROLE_SERVER;
		k->last_rx_ns = synth_ns(s, 990);
	}
	for (int i = 0; i < 10; i++) {
		struct ev_wait *w = synth_irq_wait(s, 20, WAIT_EPOLL, 6, i * 100 + 1, i * 100 + 99,
						   i * 100 + 99, WAKER_NET);

		w->own_open = w->proc_open = 4;
	}
	synth_end(s, 20, ROLE_SERVER, 80, 40, 100);
	synth_end(s, 20, ROLE_CLIENT, 9000, 40, upstream_ms);
	p = synth_proc(s, 20);
	p->open_ns = 4000000000ULL;
	p->open = 4;
	return s;
}

/* Requests of several clients open at once, though nearly all come from one of them. */
TEST(waits_loop_with_one_busy_client)
{
	struct synth *s = loop_world(0);
	struct judged j;

	for (int i = 0; i < 40; i++) {
		struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), i * 20 + 5);

		t->res = 8;
		t->role = ROLE_SERVER;
		t->h.tid = t->first_tid = 20;
	}
	judge(&j, s);
	EQ_S(role_name(j.w->threads[0].role), "event loop");
	judged_release(&j);
}

TEST(verdict_loop_waits_for_upstream)
{
	struct judged j;

	judge(&j, loop_world(3800));
	EQ_S(role_name(j.w->threads[0].role), "event loop");
	EQ_S(finding_name(j.v->findings[0].cls), "external");
	OK(j.v->findings[0].share > 0.9);
	judged_release(&j);
}

/* Whoever listens does nothing; its child, which accepts, sleeps in each request. */
static struct synth *child_world(double works_ms)
{
	struct synth *s = loop_world(3800);

	for (int i = 0; i < 2; i++) {
		struct ev_end *n = synth_end(s, 20, ROLE_CLIENT, 9000, 40, 3800);

		n->peer_tgid = 41;
	}
	synth_task(s, 41, 41, "master", TASKF_PEER);
	synth_task(s, 42, 42, "child", TASKF_PEER)->ppid = 41;
	synth_wait(s, 41, WAIT_OTHER, 0, 200, 300, 300, 0);
	synth_end(s, 42, ROLE_SERVER, 9000, 10, works_ms)->conns = 4;
	synth_proc(s, 42)->open_ns = 950000000;
	synth_sock(s, 11, ROLE_SERVER, 0x0a000001, 9000)->tgid = 42;
	for (int i = 0; i < 10; i++) {
		struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), i * 100 + 99);

		t->res = 11;
		t->tgid = 42;
		t->role = ROLE_SERVER;
		t->h.tid = t->first_tid = 42;
		synth_irq_wait(s, 42, WAIT_TIMER, 0, i * 100 + 2, i * 100 + 97, i * 100 + 97,
			       WAKER_TIMER)->own_open = 1;
	}
	return s;
}

static bool says(const struct finding *f, const char *text)
{
	for (size_t i = 0; i < f->evidence_cnt; i++) {
		if (strstr(f->evidence[i], text))
			return true;
	}
	return false;
}

/* It may work on a request as long as that is open to us, or have it late. */
TEST(verdict_peer_is_a_child_of_the_listener)
{
	for (int late = 0; late < 2; late++) {
		struct judged j;

		judge(&j, child_world(late ? 200 : 950));
		EQ_S(finding_name(j.v->findings[0].cls), "peer");
		OK(says(&j.v->findings[0], "held up: sleeping on timers"));
		EQ_U(says(&j.v->findings[0], "nobody there takes it"), late);
		judged_release(&j);
	}
}

/* Two that wake each other from epoll by turns: no lock lies between them. */
TEST(verdict_of_a_circle_without_a_lock)
{
	struct synth *s = synth_new(1000);
	struct judged j;

	synth_thread(s, 31, 31, "s1");
	synth_thread(s, 32, 31, "s2");
	synth_res(s, 7, RES_EPOLL, "epoll of vm");
	for (int i = 0; i < 4; i++) {
		synth_wait(s, 31, WAIT_EPOLL, 7, i * 240 + 1, i * 240 + 200, i * 240 + 201, 32);
		synth_wait(s, 32, WAIT_EPOLL, 7, i * 240 + 2, i * 240 + 201, i * 240 + 202, 31);
		synth_wait(s, 31, WAIT_FUTEX, 8, i * 240 + 205, i * 240 + 235, i * 240 + 235, 32);
		synth_wait(s, 31, WAIT_FUTEX, 8, i * 240 + 236, i * 240 + 237, i * 240 + 237, 32);
		synth_wait(s, 32, WAIT_FUTEX, 8, i * 240 + 206, i * 240 + 234, i * 240 + 234, 31);
		synth_wait(s, 32, WAIT_FUTEX, 8, i * 240 + 236, i * 240 + 238, i * 240 + 238, 31);
	}
	judge(&j, s);
	for (size_t i = 0; i < j.w->cause_cnt; i++) {
		const struct cause *c = &j.w->causes[i];

		if (c->kind == CAUSE_CYCLE && c->res != NO_IDX &&
		    j.m->res[c->res].kind == RES_EPOLL)
			OK(j.v->findings[0].cls != FIND_LOCK_HELD);
	}
	judged_release(&j);
}

/* All it computes for is to free memory; a little of it would be no hold-up. */
TEST(verdict_direct_reclaim_is_no_load)
{
	for (int much = 0; much < 2; much++) {
		struct synth *s = synth_new(1000);
		struct ev_thread *t;
		struct judged j;

		synth_thread(s, 20, 20, "srv");
		synth_irq_wait(s, 20, WAIT_TIMER, 0, 990, 995, 995, WAKER_TIMER);
		t = synth_snap(s, 20);
		t->run_ns = 995000000;
		t->wait_ns[WAIT_TIMER] = 5000000;
		t->reclaim_ns = much ? 900000000 : 50000000;
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), much ? "memory" : "cpu-own");
		judged_release(&j);
	}
}

/* Stopped a third of the time, with a request open: by whom, though most of its life it is not. */
TEST(verdict_stopped_by_turns)
{
	struct synth *s = synth_new(1000);
	struct judged j;

	synth_thread(s, 20, 20, "srv");
	synth_task(s, 60, 60, "limiter", 0);
	synth_sock(s, 8, ROLE_SERVER, 0x7f000001, 80);
	for (int i = 0; i < 10; i++) {
		struct ev_wait *w = synth_wait(s, 20, WAIT_STOPPED, 0, i * 100 + 1, i * 100 + 36,
					       i * 100 + 36, 60);
		struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), i * 100 + 37);

		w->own_open = w->proc_open = 1;
		t->res = 8;
		t->role = ROLE_SERVER;
		t->h.tid = t->first_tid = 20;
		synth_irq_wait(s, 20, WAIT_SOCKET, 8, i * 100 + 38, i * 100 + 98, i * 100 + 98,
			       WAKER_NET);
	}
	synth_end(s, 20, ROLE_SERVER, 80, 10, 360);
	synth_proc(s, 20)->open_ns = 360000000;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "stopped");
	EQ_S(j.v->findings[0].culprit.comm, "limiter");
	HAS(j.v->findings[0].summary, "10 times a second");
	judged_release(&j);
}

TEST(verdict_tells_what_is_stopped)
{
	struct judged j;
	struct synth *s = synth_new(6000);

	synth_thread(s, 31, 31, "a");
	synth_thread(s, 32, 31, "b");
	synth_pending(s, 31, WAIT_STOPPED, 0, 100);
	synth_pending(s, 32, WAIT_STOPPED, 0, 200);
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "stopped");
	EQ_I(j.v->findings[0].conf, CONF_MEDIUM);
	EQ_S(j.v->findings[0].doubts[0], "who stops it was not seen");
	OK(j.v->findings[0].share > 0.8);
	judged_release(&j);

	/* a debugger that took a look */
	s = synth_new(1000);
	synth_thread(s, 31, 31, "a");
	synth_wait(s, 31, WAIT_STOPPED, 0, 100, 300, 300, 0);
	judge(&j, s);
	OK(j.v->findings[0].cls != FIND_STOPPED);
	judged_release(&j);
}

/* More combinations of threads than are kept: none of the time is lost. */
TEST(waits_causes_are_bounded)
{
	const uint32_t cnt = 1000;
	struct waits_result r = { 0 };
	struct arena arena = { 0 };
	struct engine e = { .r = &r, .arena = &arena };
	struct causes *c = causes_new(&e);
	double ns = 0;

	for (uint32_t i = 0; i < cnt * cnt; i++) {
		struct place at = { .entry = i % cnt, .via = i / cnt, .via_res = 3, .lock = 4,
				    .end = NO_IDX };

		causes_add(c, CAUSE_RUN, i % 7, NO_IDX, &at, 10);
	}
	causes_finish(c, &e);
	for (size_t i = 0; i < r.cause_cnt; i++)
		ns += r.causes[i].ns;
	EQ_U((uint64_t)ns, 10u * cnt * cnt);
	OK(r.cause_cnt < 200000);
	OK(r.folded_cnt > 0);
	causes_free(c);
	arena_release(&arena);
}

/* Two threads that write to one disk are one process in the evidence. */
TEST(verdict_sums_disk_use_of_a_process)
{
	struct synth *s = synth_new(1000);
	uint32_t told = 0;
	struct judged j;

	synth_thread(s, 31, 31, "srv");
	synth_thread(s, 32, 31, "srv");
	synth_res(s, 7, RES_FILE, "/data/log");
	for (int i = 0; i < 9; i++) {
		synth_irq_wait(s, 31, WAIT_FSYNC, 7, i * 100 + 1, i * 100 + 95, i * 100 + 95,
			       WAKER_BLOCK);
		synth_irq_wait(s, 32, WAIT_FSYNC, 7, i * 100 + 1, i * 100 + 95, i * 100 + 95,
			       WAKER_BLOCK);
	}
	synth_dev(s, 8 << 20, "sda", 900, 900);
	synth_disk(s, 8 << 20, 31, 1, "srv", 2000)->h.tid = 31;
	synth_disk(s, 8 << 20, 31, 1, "srv", 1000)->h.tid = 32;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "fsync");
	for (size_t i = 0; i < j.v->findings[0].evidence_cnt; i++) {
		const char *line = j.v->findings[0].evidence[i];

		if (!strstr(line, "srv (pid 31)") || !strstr(line, "writes/s"))
			continue;
		told++;
		HAS(line, "1.5 MB/s");
	}
	EQ_U(told, 1);
	judged_release(&j);
}

TEST(waits_quantile_is_at_most_the_longest)
{
	uint64_t hist[EVENT_HIST_CNT] = {[20] = 3};

	OK(hist_quantile_ns(hist, 0.5, UINT64_MAX) > 1100000);
	EQ_U(hist_quantile_ns(hist, 0.5, 1100000), 1100000);
}

TEST(verdict_loop_limits_itself)
{
	struct judged j;

	/* 4 requests open all the time, a tenth of one of them at the upstream: the rest queues */
	judge(&j, loop_world(100));
	EQ_S(finding_name(j.v->findings[0].cls), "conn-limit");
	judged_release(&j);
}

TEST(verdict_idle_pool_is_healthy)
{
	struct synth *s = synth_new(1000);
	struct judged j;

	synth_thread(s, 40, 40, "main");
	synth_res(s, 7, RES_FUTEX, "work");
	for (uint32_t t = 41; t < 45; t++) {
		synth_thread(s, t, 40, "pool");
		synth_wait(s, t, WAIT_FUTEX, 7, 1, 500 + t, 500 + t, 40);
		synth_pending(s, t, WAIT_FUTEX, 7, 510 + t);
	}
	synth_irq_wait(s, 40, WAIT_TIMER, 0, 1, 499, 499, WAKER_TIMER);
	synth_irq_wait(s, 40, WAIT_TIMER, 0, 548, 999, 999, WAKER_TIMER);
	judge(&j, s);
	for (uint32_t t = 0; t < j.m->thread_cnt; t++) {
		if (j.m->threads[t].tid > 40)
			OK(j.w->threads[t].idle_ns > 900000000);
	}
	judged_release(&j);
}

/* Schedulers of a virtual machine that look at the clock and wake each other. */
static struct synth *idle_vm(bool listens)
{
	struct synth *s = synth_new(1000);

	synth_thread(s, 40, 40, "vm");
	synth_thread(s, 41, 40, "sched1");
	synth_thread(s, 42, 40, "sched2");
	synth_res(s, 7, RES_FUTEX, "sched1");
	synth_res(s, 8, RES_EPOLL, "poll");
	synth_res(s, 9, RES_FUTEX, "sched2");
	/* one looks at the clock, the other sleeps; then the other way round */
	synth_wait(s, 42, WAIT_FUTEX, 9, 1, 520, 520, 41);
	synth_wait(s, 41, WAIT_FUTEX, 7, 525, 990, 990, 42);
	for (int i = 0; i < 9; i++) {
		double at = i * 100 + (i < 5 ? 1 : 30);

		synth_irq_wait(s, i < 5 ? 41 : 42, WAIT_EPOLL, 8, at, at + 96, at + 96,
			       WAKER_TIMER);
	}
	if (listens) {
		struct ev_listen *l = synth_event(s, EV_LISTEN, sizeof(*l), 500);

		l->tgid = 40;
	}
	return s;
}

TEST(verdict_server_that_nobody_asks)
{
	for (int listens = 0; listens < 2; listens++) {
		struct judged j;

		ROW(listens);
		judge(&j, idle_vm(listens));
		EQ_S(finding_name(j.v->findings[0].cls), listens ? "healthy" : "timer");
		EQ_U(j.v->finding_cnt, 1);
		if (listens)
			HAS(j.v->findings[0].summary, "nobody asked");
		judged_release(&j);
	}
}

TEST(verdict_names_the_parent_though_numbers_wrapped)
{
	struct synth *s = synth_new(1000);
	struct judged j;

	synth_thread(s, 7, 7, "child")->ppid = 30000;
	synth_thread(s, 30000, 30000, "server")->ppid = 1;
	judge(&j, s);
	HAS(j.v->subject, "server (pid 30000) and 1 more process");
	judged_release(&j);
}

/* A request thread that wants the CPU 80 of each 100 ms while another process has it. */
static struct synth *runq_world(uint32_t culprit, const char *comm)
{
	struct synth *s = synth_new(1000);

	synth_thread(s, 50, 50, "srv");
	for (int i = 0; i < 10; i++)
		synth_preempted(s, 50, i * 100 + 10, i * 100 + 90);
	synth_culprit(s, 50, culprit, comm, 800);
	return s;
}

TEST(verdict_names_cpu_neighbour)
{
	struct judged j;

	judge(&j, runq_world(99, "noisy"));
	EQ_S(finding_name(j.v->findings[0].cls), "cpu-neighbour");
	EQ_U(j.v->findings[0].culprit.pid, 99);
	EQ_S(j.v->findings[0].culprit.comm, "noisy");
	judged_release(&j);
}

/* heldup has the CPU longest, whoever started it: it is no neighbour. */
TEST(verdict_never_names_heldup)
{
	struct synth *s = runq_world(99, "noisy");
	struct judged j;

	synth_task(s, 98, 98, "heldup", TASKF_WATCHER);
	synth_culprit(s, 50, 98, "heldup", 5000);
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "cpu-neighbour");
	EQ_S(j.v->findings[0].culprit.comm, "noisy");
	OK(!says(&j.v->findings[0], "heldup"));
	judged_release(&j);
}

TEST(verdict_names_quota)
{
	struct synth *s = runq_world(0, "");
	struct ev_cgroup *g = synth_cgroup(s, 0, "/box");
	struct judged j;

	g->nr_periods = 10;
	g->nr_throttled = 10;
	g->throttled_ns = 800000000;
	g->quota_us = 20000;
	g->period_us = 100000;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "cpu-quota");
	EQ_S(j.v->findings[0].resource, "/box");
	judged_release(&j);
}

TEST(verdict_own_load_is_no_neighbour)
{
	struct synth *s = synth_new(1000);
	struct judged j;

	/* two threads take turns on one CPU */
	synth_thread(s, 50, 50, "srv");
	synth_thread(s, 51, 50, "srv");
	for (int i = 0; i < 10; i++) {
		synth_preempted(s, 50, i * 100 + 1, i * 100 + 50);
		synth_preempted(s, 51, i * 100 + 50, i * 100 + 99);
	}
	synth_culprit(s, 50, 50, "srv", 980);
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "cpu-own");
	judged_release(&j);
}

/* Sessions that look again and again while one sleeps on. */
static struct synth *sessions_world(bool release)
{
	struct synth *s = synth_new(1000);

	for (uint32_t t = 60; t < 64; t++) {
		synth_thread(s, t, 60, "session");
		synth_res(s, t, RES_FUTEX, NULL);
	}
	for (uint32_t t = 60; t < 64; t++) {
		struct ev_wait *w;

		if (release && t > 60) {
			w = synth_wait(s, t, WAIT_FUTEX, t, 1, 4, 4, 60);
			w->own_open = w->proc_open = 1;
		}
		for (int i = 0; t > 60 && i < 9; i++) {
			w = synth_irq_wait(s, t, WAIT_FUTEX, t, t - 50 + i * 100, t + 49 + i * 100,
					   t + 49 + i * 100, WAKER_TIMER);
			w->own_open = w->proc_open = 1;
			w->flags |= WAITF_TIMEOUT_ARG;
		}
		w = synth_pending(s, t, WAIT_FUTEX, t, t > 60 ? t + 850 : 5);
		w->own_open = w->proc_open = 1;
		w->flags |= WAITF_TIMEOUT_ARG;
	}
	return s;
}

/* None of them is woken by another; or the one let go once, and took it again. */
TEST(verdict_presumes_holder)
{
	for (int release = 0; release < 2; release++) {
		struct judged j;

		judge(&j, sessions_world(release));
		EQ_S(finding_name(j.v->findings[0].cls), "lock-held");
		EQ_U(j.v->findings[0].culprit.tid, 60);
		OK(j.v->findings[0].conf < CONF_HIGH);
		judged_release(&j);
	}
}

/* Two sessions with requests open; each sleeps on a futex of its own until the other wakes it. */
TEST(waits_find_virtual_lock)
{
	struct synth *s = synth_new(1000);
	struct judged j;

	for (uint32_t t = 60; t < 63; t++)
		synth_thread(s, t, 60, "session");
	for (uint32_t t = 60; t < 63; t++)
		synth_res(s, t, RES_FUTEX, NULL);
	for (int i = 0; i < 9; i++) {
		uint32_t t = 60 + i % 3, waker = 60 + (i + 2) % 3;
		struct ev_wait *w = synth_wait(s, t, WAIT_FUTEX, t, i * 100 + 1, i * 100 + 95,
					       i * 100 + 95, waker);

		w->own_open = 1;
		w->proc_open = 3;
	}
	judge(&j, s);
	OK(j.w->lock_cnt > 3);
	OK(j.w->locks[3].virt);
	EQ_U(j.w->locks[3].cls, LOCK_LOCK);
	EQ_U(j.w->locks[3].waiter_cnt, 3);
	judged_release(&j);
}

/*
 * Threads of a runtime read a request, which another of them answers, and park on a
 * futex of their own until they are handed something: seldom, but then for long, with
 * that request counted as theirs.
 */
static struct synth *runtime_world(void)
{
	struct synth *s = synth_new(1000);

	for (uint32_t t = 80; t < 84; t++) {
		synth_thread(s, t, 80, "srv");
		synth_res(s, t, RES_FUTEX, NULL);
	}
	for (uint32_t t = 80; t < 84; t++) {
		struct ev_wait *w;

		for (int i = 0; i < 20; i++)
			synth_wait(s, t, WAIT_FUTEX, t, 1 + i * 20, 18 + i * 20, 18 + i * 20,
				   80 + (t + 1) % 4);
		w = synth_wait(s, t, WAIT_FUTEX, t, 402, 940, 940, 80 + (t + 1) % 4);
		w->own_open = w->proc_open = 1;
	}
	synth_end(s, 80, ROLE_SERVER, 80, 4000, 400);
	return s;
}

TEST(verdict_parked_threads_are_no_victims)
{
	struct judged j;

	judge(&j, runtime_world());
	for (size_t i = 0; i < j.w->lock_cnt; i++)
		OK(j.w->locks[i].cls != LOCK_LOCK);
	EQ_S(finding_name(j.v->findings[0].cls), "healthy");
	judged_release(&j);
}

static void session_waits(struct synth *s, uint32_t t, double off_ms, uint32_t waker)
{
	struct ev_wait *w = synth_wait(s, t, WAIT_FUTEX, t, off_ms + 1, off_ms + 95, off_ms + 95,
				       waker);

	w->own_open = 1;
	w->proc_open = 3;
}

/* Who let whom in while detail was left out was not seen: one holds it as before. */
TEST(waits_count_no_holder_over_a_gap)
{
	struct judged j;
	double avg[2];

	for (int gap = 0; gap < 2; gap++) {
		struct synth *s = synth_new(3000);
		struct ev_wait *w;

		for (uint32_t t = 60; t < 64; t++)
			synth_thread(s, t, 60, "session");
		for (uint32_t t = 60; t < 64; t++)
			synth_res(s, t, RES_FUTEX, NULL);
		for (uint32_t i = 0; i < 9; i++)
			session_waits(s, 60 + i % 3, i * 100, 60 + (i + 2) % 3);
		for (uint32_t t = 60; t < 63; t++)
			session_waits(s, t, 905, 0);
		w = synth_wait(s, 63, WAIT_FUTEX, 63, 1002, 1999, 1999, 61);
		w->own_open = 1;
		w->proc_open = 3;
		for (uint32_t i = 0; i < 9; i++)
			session_waits(s, 63, 2000 + i * 100, 60 + i % 3);
		if (gap)
			synth_coarse(s, 1001, 2000, SHED_SHORT);
		judge(&j, s);
		OK(j.w->locks[4].virt);
		avg[gap] = j.w->locks[4].holders_avg;
		judged_release(&j);
	}
	OK(avg[0] > 0.6); /* as without the gap */
	OK(avg[1] < 0.3);
}

/*
 * Threads that take turns in computing, each asleep on a futex of its own
 * until another lets it; while asleep a second time, as one that gave
 * its turn up and comes back, they are woken by something else.
 */
static struct synth *turns_world(void)
{
	struct synth *s = synth_new(1000);

	for (uint32_t t = 70; t < 74; t++) {
		synth_thread(s, t, 70, "worker");
		synth_res(s, t, RES_FUTEX, NULL);
		synth_res(s, 100 + t, RES_FUTEX, NULL);
	}
	for (int i = 0; i < 20; i++) {
		double at = 1 + i * 48;

		for (uint32_t k = 0; k < 4; k++) { /* 12 ms later each, woken by the last but one */
			uint32_t t = 70 + k, before = 70 + (k + 2) % 4;
			double in = at + k * 12;
			struct ev_wait *w;

			if (i) {
				w = synth_wait(s, t, WAIT_FUTEX, t, in - 20, in, in, before);
				w->own_open = w->proc_open = 1;
			}
			w = synth_irq_wait(s, t, WAIT_FUTEX, 100 + t, in + 1, in + 23.5, in + 23.5,
					   WAKER_TIMER);
			w->own_open = w->proc_open = 1;
		}
	}
	return s;
}

TEST(waits_asleep_is_not_past_a_lock)
{
	struct judged j;
	bool virt = false;

	judge(&j, turns_world());
	for (size_t i = 0; i < j.w->lock_cnt; i++) {
		virt |= j.w->locks[i].virt;
		OK(j.w->locks[i].holders_avg < 1);
	}
	OK(virt);
	judged_release(&j);
}

/* A lock waited for in pieces of 5 ms, each ended by a timer, the last by who lets go. */
static struct synth *pieces_world(void)
{
	struct synth *s = synth_new(1000);
	double at = 1;

	for (uint32_t t = 70; t < 73; t++)
		synth_thread(s, t, 70, "worker");
	synth_res(s, 7, RES_FUTEX, "the lock");
	for (int i = 0; i < 30; i++) { /* each has it 32 ms; the others wait, longest the next */
		uint32_t holder = 70 + i % 3;
		struct ev_wait *w;

		for (int k = 0; k < 6; k++) {
			for (uint32_t t = 70; t < 73; t++) {
				if (t == holder)
					continue;
				w = synth_irq_wait(s, t, WAIT_FUTEX, 7, at + k * 5 + 0.1,
						   at + k * 5 + 5, at + k * 5 + 5, WAKER_TIMER);
				w->flags |= WAITF_TIMEOUT_ARG;
				w->own_open = w->proc_open = 1;
			}
		}
		w = synth_wait(s, 70 + (i + 1) % 3, WAIT_FUTEX, 7, at + 30.1, at + 32, at + 32,
			       holder);
		w->flags |= WAITF_TIMEOUT_ARG;
		w->own_open = w->proc_open = 1;
		at += 32.1;
	}
	return s;
}

TEST(waits_join_pieces)
{
	struct judged j;

	judge(&j, pieces_world());
	EQ_U(j.w->lock_cnt, 1);
	EQ_U(j.w->locks[0].cls, LOCK_LOCK);
	OK(j.w->locks[0].holders_avg < 1.2); /* nobody had it after a piece that ran out */
	OK(j.w->locks[0].wait_cnt < 65);
	EQ_S(j.v->findings[0].resource, "the lock");
	for (size_t i = 0; i < j.w->cause_cnt; i++)
		OK(j.w->causes[i].kind != CAUSE_TIMER || j.w->causes[i].ns < 200000000);
	judged_release(&j);
}
