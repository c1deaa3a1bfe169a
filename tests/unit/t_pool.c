/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait before threads: for the threads, for what fills them, or for a CPU. */
#include <string.h>
#include <sys/socket.h>

#include "judged.h"
#include "unit.h"

enum { SRV = 20, THREADS = 2 };

static const struct finding *of_class(const struct verdict *v, unsigned cls)
{
	for (size_t i = 0; i < v->finding_cnt; i++) {
		if (v->findings[i].cls == cls)
			return &v->findings[i];
	}
	return NULL;
}

static bool says(const struct finding *f, const char *text)
{
	for (size_t i = 0; i < f->evidence_cnt; i++) {
		if (strstr(f->evidence[i], text))
			return true;
	}
	return false;
}

static void unaccepted(struct synth *s, uint32_t backlog)
{
	for (int at = 0; at < 1000 && backlog; at += 300) {
		struct ev_listen *l = synth_event(s, EV_LISTEN, sizeof(*l), at);

		l->tgid = SRV;
		l->lport = 80;
		l->backlog = backlog;
		l->backlog_max = 128;
	}
}

/* Two threads that answer ten requests each; connections lie in the backlog. */
static struct synth *pool(double service_ms, uint32_t backlog)
{
	struct synth *s = synth_new(1000);

	for (uint32_t t = SRV; t < SRV + THREADS; t++) {
		synth_thread(s, t, SRV, "srv");
		synth_sock(s, 100 + t, ROLE_SERVER, 0x7f000001, 80);
		for (int i = 0; i < 10; i++) {
			struct ev_turn *turn = synth_event(s, EV_TURN, sizeof(*turn), i * 100 + 99);

			turn->res = 100 + t;
			turn->role = ROLE_SERVER;
			turn->h.tid = turn->first_tid = t;
		}
	}
	unaccepted(s, backlog);
	synth_end(s, SRV, ROLE_SERVER, 80, 20, service_ms);
	synth_proc(s, SRV)->open_ns = (uint64_t)(service_ms * 1e6);
	return s;
}

/* A backend whose threads sleep, or wait for one that has their lock: then no more get through. */
static struct synth *asks_backend(bool locked)
{
	struct synth *s = pool(1900, 8);

	synth_sock(s, 5, ROLE_CLIENT, 0x7f000001, 9000)->tgid = SRV;
	synth_res(s, 7, RES_FUTEX, "the lock");
	for (uint32_t b = 60; b < 63; b++)
		synth_task(s, b, 60, "backend", TASKF_PEER);
	for (int i = 0; i < 10; i++) {
		for (uint32_t t = SRV; t < SRV + THREADS; t++)
			synth_wait(s, t, WAIT_SOCKET, 5, i * 100 + 1, i * 100 + 97, i * 100 + 97,
				   t + 40)->own_open = 1;
		for (uint32_t b = 60; b < 63; b++) {
			if (locked && b < 62)
				synth_wait(s, b, WAIT_FUTEX, 7, i * 100 + 1, i * 100 + 95.5,
					   i * 100 + 95.5, 62)->owner_tid = 62;
			else
				synth_irq_wait(s, b, WAIT_TIMER, 0, i * 100 + 1, i * 100 + 95,
					       i * 100 + 95, WAKER_TIMER);
		}
	}
	synth_end(s, SRV, ROLE_CLIENT, 9000, 20, 1900)->peer_tgid = 60;
	return s;
}

TEST(pool_is_named_beside_what_fills_it)
{
	const struct finding *workers;
	struct judged j;

	judge(&j, asks_backend(false));
	EQ_S(finding_name(j.v->findings[0].cls), "peer");
	OK(says(&j.v->findings[0], "8.0 of 10.0 requests on average wait for one of the 2"));
	HAS(j.v->findings[0].next_step, "run more workers (srv): 8 of 10 requests wait for one");
	workers = of_class(j.v, FIND_WORKERS);
	OK(workers && workers->share > 0.75 && workers->share < 0.85);
	OK(j.v->findings[0].share > 0.9); /* part of that */
	judged_release(&j);
	judge(&j, asks_backend(true));
	OK(!of_class(j.v, FIND_WORKERS));
	judged_release(&j);
}

/*
 * Requests lie unread while all threads only want a CPU, or while CPUs are to be had,
 * or others have them all but the threads rest; or many do, each for 650 us; or 13 do for
 * all of the time among many that do not.
 */
enum { WANTED, TO_BE_HAD, RESTING, BRIEFLY, A_FEW };

static struct synth *unread(int what)
{
	struct synth *s = pool(400, 0);
	struct ev_host *h = synth_host(s);
	struct ev_end *end;

	for (uint32_t t = SRV; t < SRV + THREADS; t++) {
		for (int i = 0; i < 10; i++) {
			if (what == WANTED)
				synth_preempted(s, t, i * 100 + 20, i * 100 + 80);
			synth_irq_wait(s, t, WAIT_SOCKET, 100 + t,
				       i * 100 + (what == WANTED ? 85 : 5), i * 100 + 99,
				       i * 100 + 99, WAKER_NET);
		}
	}
	synth_proc(s, SRV)->unread_ns = 13000000000ULL;
	synth_culprit(s, SRV, SRV, "srv", 1000);
	end = synth_end(s, SRV, ROLE_SERVER, 80, what >= BRIEFLY ? 20000 : 20, 400);
	end->conns = 32;
	if (what == A_FEW)
		end->hist[40] = 13; /* 1.05 s each */
	h->cpu_busy_ns = what != TO_BE_HAD ? 1980000000 : 200000000;
	h->cpu_idle_ns = what != TO_BE_HAD ? 20000000 : 1800000000;
	return s;
}

TEST(pool_of_saturated_cpus_is_no_limit)
{
	for (int what = WANTED; what <= RESTING; what++) {
		struct judged j;

		judge(&j, unread(what));
		ROW(what);
		EQ_S(finding_name(j.v->findings[0].cls), what == WANTED ? "cpu-own" : "conn-limit");
		OK(what != WANTED || !of_class(j.v, FIND_CONN_LIMIT));
		if (what != WANTED)
			HAS(j.v->findings[0].summary, "13.0 requests on average lie unread");
		judged_release(&j);
	}
}

TEST(pool_that_leaves_requests_unread_briefly_is_no_limit)
{
	struct judged j;

	judge(&j, unread(BRIEFLY));
	OK(!of_class(j.v, FIND_CONN_LIMIT));
	judged_release(&j);
	judge(&j, unread(A_FEW));
	EQ_S(finding_name(j.v->findings[0].cls), "conn-limit");
	judged_release(&j);
}

/* Threads that rest a little before connections that wait; who has their lock, never rests. */
TEST(pool_is_not_the_helper_that_has_its_lock)
{
	struct synth *s = pool(800, 8);
	struct judged j;

	synth_thread(s, 40, SRV, "janitor");
	synth_res(s, 7, RES_FUTEX, "the lock");
	for (int i = 0; i < 10; i++) {
		for (uint32_t t = SRV; t < SRV + THREADS; t++) {
			struct ev_wait *w = synth_wait(s, t, WAIT_FUTEX, 7, i * 100 + 15,
						       i * 100 + 97, i * 100 + 97, 40);

			w->own_open = 1;
			w->owner_tid = 40;
			synth_irq_wait(s, t, WAIT_SOCKET, 100 + t, i * 100, i * 100 + 14,
				       i * 100 + 14, WAKER_NET);
		}
		synth_irq_wait(s, 40, WAIT_TIMER, 0, i * 100, i * 100 + 96, i * 100 + 96,
			       WAKER_TIMER);
	}
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "lock-held");
	judged_release(&j);
}

/* Three times one thread accepts, asks a name server who that is, reads and answers. */
TEST(pool_of_one_that_asks_who_calls)
{
	struct synth *s = synth_new(1000);
	struct judged j;

	synth_thread(s, SRV, SRV, "srv");
	synth_sock(s, 100, ROLE_SERVER, 0x7f000001, 80);
	synth_sock(s, 5, ROLE_CLIENT, 0x0a000001, 53)->tgid = SRV;
	unaccepted(s, 2);
	for (int i = 0; i < 3; i++) {
		struct ev_turn *turn;

		synth_irq_wait(s, SRV, WAIT_POLL, 5, i * 330, i * 330 + 325, i * 330 + 325,
			       WAKER_TIMER);
		turn = synth_event(s, EV_TURN, sizeof(*turn), i * 330 + 326);
		turn->res = 100;
		turn->role = ROLE_SERVER;
		turn->h.tid = turn->first_tid = SRV;
	}
	synth_end(s, SRV, ROLE_SERVER, 80, 3, 1);
	synth_proc(s, SRV)->open_ns = 1000000;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "external");
	judged_release(&j);
}

/* Six requests are open in a loop that sleeps; each second its timer ends all, or one of them. */
static struct synth *polled(bool all)
{
	struct synth *s = synth_new(10000);

	synth_thread(s, SRV, SRV, "loop");
	synth_res(s, 6, RES_EPOLL, "clients");
	for (uint32_t c = 0; c < 6; c++) {
		struct ev_sock *k = synth_event(s, EV_SOCK, sizeof(*k), 9999);

		synth_sock(s, 100 + c, ROLE_SERVER, 0x7f000001, 80)->tgid = SRV;
		k->res = 100 + c;
		k->tgid = k->last_tid = SRV;
		k->role = ROLE_SERVER;
	}
	for (uint32_t i = 0; i < 10; i++) {
		struct ev_wait *w = synth_irq_wait(s, SRV, WAIT_EPOLL, 6, i * 1000 + 2,
						   i * 1000 + 999, i * 1000 + 999, WAKER_TIMER);

		w->own_open = w->proc_open = 6;
		for (uint32_t c = 0; c < 6; c++) {
			struct ev_turn *turn;

			if (!all && c != i % 6)
				continue;
			turn = synth_event(s, EV_TURN, sizeof(*turn), i * 1000 + 999.5);
			turn->res = 100 + c;
			turn->tgid = SRV;
			turn->role = ROLE_SERVER;
			turn->h.tid = turn->first_tid = SRV;
			turn->service_ns = (all ? 998 : i < 6 ? 1000 * i + 998 : 5998) * 1000000ull;
		}
	}
	synth_end(s, SRV, ROLE_SERVER, 80, all ? 60 : 10, all ? 59880 : 45000)->conns = 6;
	synth_proc(s, SRV)->open_ns = 59800000000ull;
	return s;
}

TEST(pool_of_requests_that_wait_for_news_is_no_limit)
{
	struct judged j;

	judge(&j, polled(true));
	OK(!of_class(j.v, FIND_CONN_LIMIT));
	EQ_U(j.v->findings[0].conf, CONF_LOW); /* it may as well make them wait */
	judged_release(&j);
	judge(&j, polled(false));
	OK(of_class(j.v, FIND_CONN_LIMIT));
	judged_release(&j);
}

/*
 * One thread takes all requests and computes, while four lie unread.  Four of its name never
 * rest either, as those of a collector.
 */
static struct synth *one_that_computes(void)
{
	struct synth *s = synth_new(1000);
	struct ev_proc *proc;
	struct ev_host *h;

	synth_thread(s, SRV, SRV, "srv");
	synth_sock(s, 120, ROLE_SERVER, 0x7f000001, 80);
	synth_res(s, 7, RES_PIPE, "marked");
	for (uint32_t t = 40; t < 44; t++)
		synth_thread(s, t, SRV, "srv");
	for (int i = 0; i < 10; i++) {
		struct ev_turn *turn = synth_event(s, EV_TURN, sizeof(*turn), i * 100 + 94);

		turn->res = 120;
		turn->role = ROLE_SERVER;
		turn->h.tid = turn->first_tid = SRV;
		synth_irq_wait(s, SRV, WAIT_SOCKET, 120, i * 100 + 95, i * 100 + 99, i * 100 + 99,
			       WAKER_NET);
		for (uint32_t t = 40; t < 44; t++)
			synth_irq_wait(s, t, WAIT_TIMER, 0, i * 100 + 24, i * 100 + 119,
				       i * 100 + 119, WAKER_TIMER);
		synth_wait(s, SRV, WAIT_PIPE, 7, i * 100 + 20, i * 100 + 23, i * 100 + 23,
			   40 + (uint32_t)i % 4)->own_open = 1;
	}
	proc = synth_proc(s, SRV);
	proc->unread_ns = 4000000000ULL;
	proc->open_ns = 940000000;
	synth_end(s, SRV, ROLE_SERVER, 80, 10, 940)->conns = 5;
	h = synth_host(s);
	h->cpu_busy_ns = 1000000000;
	h->cpu_idle_ns = 1000000000;
	return s;
}

TEST(pool_of_one_thread_that_computes_has_no_more_cpu)
{
	struct judged j;

	judge(&j, one_that_computes());
	EQ_S(finding_name(j.v->findings[0].cls), "cpu-own");
	EQ_U(j.v->findings[0].culprit.tid, SRV);
	OK(!of_class(j.v, FIND_WORKERS) && !of_class(j.v, FIND_CONN_LIMIT));
	judged_release(&j);
}

/*
 * Two threads that take datagrams from anybody, and have one open each whenever they lie
 * down for the next: what for was not seen, so that they are busy is a guess.
 */
TEST(pool_of_what_was_not_seen_is_a_guess)
{
	struct synth *s = synth_new(1000);
	struct judged j;

	for (uint32_t t = SRV; t < SRV + THREADS; t++) {
		struct ev_res *r = synth_sock(s, 100 + t, ROLE_SERVER, 0, 0);

		r->sotype = SOCK_DGRAM;
		r->lport = 53;
		synth_thread(s, t, SRV, "srv");
		for (int i = 0; i < 10; i++) {
			struct ev_wait *w = synth_irq_wait(s, t, WAIT_SOCKET, 100 + t, i * 100 + 1,
							   i * 100 + 99, i * 100 + 99, WAKER_NET);
			struct ev_turn *turn = synth_event(s, EV_TURN, sizeof(*turn), i * 100 + 99);

			w->op = WAIT_OP_READ;
			w->own_open = 1;
			w->proc_open = 2;
			turn->res = 100 + t;
			turn->role = ROLE_SERVER;
			turn->h.tid = turn->first_tid = t;
		}
	}
	synth_end(s, SRV, ROLE_SERVER, 53, 20, 1980);
	synth_proc(s, SRV)->open_ns = 1980000000;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "workers");
	EQ_U(j.v->findings[0].conf, CONF_LOW);
	judged_release(&j);
}

/* The server runs a program for each connection, two at a time, and has answered nothing itself. */
TEST(pool_of_programs_that_do_not_listen_is_a_limit)
{
	struct synth *s = synth_new(1000);
	struct judged j;

	synth_host(s)->cpu_idle_ns = 2000000000;
	synth_thread(s, SRV, SRV, "super");
	synth_pending(s, SRV, WAIT_CHILD, 0, 1);
	for (uint32_t pid = 40; pid < 42; pid++) {
		synth_thread(s, pid, pid, "program");
		for (uint32_t i = 0; i < 8; i++) {
			uint32_t runs = pid + 10 * (i + 1);
			double at = i * 125;
			struct ev_task *ev;

			ev = synth_event(s, EV_TASK, sizeof(*ev), at + 0.9);
			ev->h.tid = ev->tgid = runs;
			ev->op = TASK_FORK;
			ev->flags = TASKF_TARGET;
			ev->comm = synth_str(s, "sleep");
			synth_irq_wait(s, runs, WAIT_TIMER, 0, at + 1, at + 120, at + 120,
				       WAKER_TIMER);
			synth_exit(s, runs, at + 121);
			synth_wait(s, pid, WAIT_CHILD, 0, at + 1, at + 121, at + 121, runs);
		}
	}
	unaccepted(s, 4);
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "conn-limit");
	EQ_S(j.v->findings[0].culprit.comm, "super");
	judged_release(&j);
}
