/* SPDX-License-Identifier: Apache-2.0 */
/* Servers whose threads take turns, ask others or hand work on: what each wait is for. */
#include <string.h>
#include <sys/socket.h>

#include "base/alike.h"
#include "judged.h"
#include "base/alike.h"
#include "unit.h"

#define CLIENTS 4

/* Threads 20.. of process 20 that each serve a client of their own, on sockets 200.. */
static struct synth *pool_world(uint32_t threads, double open_ms)
{
	struct synth *s = synth_new(1000);
	struct ev_proc *p;

	for (uint32_t t = 20; t < 20 + threads; t++) {
		synth_thread(s, t, 20, "worker");
		synth_sock(s, 180 + t, ROLE_SERVER, 0x7f000001, 80);
		for (int i = 0; i < 10; i++) {
			struct ev_turn *k = synth_event(s, EV_TURN, sizeof(*k), i * 100 + 99);

			k->res = 180 + t;
			k->role = ROLE_SERVER;
			k->h.tid = k->first_tid = t;
		}
	}
	synth_end(s, 20, ROLE_SERVER, 80, 10 * threads, open_ms);
	p = synth_proc(s, 20);
	p->open_ns = (uint64_t)(open_ms * 1e6);
	p->open = 1;
	return s;
}

static void open_one(struct ev_wait *w)
{
	w->own_open = w->proc_open = 1;
}

static double cause_ms(const struct judged *j, unsigned kind)
{
	double ns = 0;

	for (size_t i = 0; i < j->w->cause_cnt; i++)
		ns += j->w->causes[i].kind == kind ? (double)j->w->causes[i].ns : 0;
	return ns / 1e6;
}

/* A service that never answers: each question ends at its limit of time, the last is open. */
TEST(verdict_no_answer_in_time_is_the_peers)
{
	struct synth *s = pool_world(2, 1900);
	struct judged j;

	synth_sock(s, 9, ROLE_CLIENT, 0x0a000001, 53)->sotype = 2;
	for (uint32_t t = 20; t < 22; t++) {
		for (int i = 0; i < 9; i++) {
			struct ev_wait *w = synth_irq_wait(s, t, i & 1 ? WAIT_POLL : WAIT_SOCKET, 9,
							   i * 100 + 1, i * 100 + 98,
							   i * 100 + 98, WAKER_TIMER);

			open_one(w);
			w->flags |= WAITF_TIMEOUT_ARG;
		}
		open_one(synth_pending(s, t, WAIT_POLL, 9, 901));
	}
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "external");
	OK(j.v->findings[0].share > 0.9);
	EQ_S(j.v->findings[0].resource, "udp 10.0.0.1:53");
	OK(cause_ms(&j, CAUSE_TIMER) < 1);
	judged_release(&j);
}

enum { FROM_ONE, FROM_MANY, ASKED };	/* clients of each thread; asked: while it waits */

/* Who has nothing to do sleeps under a lock, and the others queue behind for their turn. */
static struct synth *accept_world(int kind)
{
	struct synth *s = pool_world(2, 20);

	synth_res(s, 7, RES_FUTEX, "accept lock");
	synth_res(s, 8, RES_EPOLL, NULL);
	for (int i = 0; i < 10; i++) {
		uint32_t t = 20 + i % 2, other = 20 + (i + 1) % 2;
		struct ev_wait *w;

		synth_irq_wait(s, t, WAIT_EPOLL, 8, i * 100 + 2, i * 100 + 97, i * 100 + 97,
			       WAKER_NET)->first_io = 180 + t;
		w = synth_wait(s, other, WAIT_FUTEX, 7, i * 100 + 3, i * 100 + 98, i * 100 + 98, t);
		if (kind == ASKED)
			open_one(w);
		if (kind == FROM_MANY) {
			struct ev_turn *k = synth_event(s, EV_TURN, sizeof(*k), i * 100 + 98);

			synth_sock(s, 300 + i, ROLE_SERVER, 0x7f000001, 80);
			k->res = 300 + i;
			k->role = ROLE_SERVER;
			k->h.tid = k->first_tid = t;
		}
	}
	return s;
}

TEST(waits_turns_at_accepting_hold_nobody_up)
{
	for (int kind = FROM_ONE; kind <= ASKED; kind++) {
		struct judged j;

		judge(&j, accept_world(kind));
		EQ_S(role_name(j.w->threads[0].role),
		     kind == FROM_MANY ? "event loop" : "request thread");
		EQ_S(finding_name(j.v->findings[0].cls), kind == ASKED ? "lock-held" : "healthy");
		judged_release(&j);
	}
}

/*
 * At saturation nobody has to wait for work under the lock: who gets it reads a
 * request at once, and works on it a while.  To stand in that line is to be idle.
 * Not where he sleeps for one next, since he is done with the last; not where one
 * lay there meanwhile; not where he waits for each piece of an answer.
 */
enum { BEHIND, BEFORE, UNREAD, PIECES };

static struct synth *gate_world(int kind)
{
	struct synth *s = synth_new(1000);
	struct ev_proc *p;

	synth_res(s, 7, RES_FUTEX, "accept lock");
	for (uint32_t t = 20; t < 20 + CLIENTS; t++) {
		synth_thread(s, t, 20, "worker");
		synth_sock(s, 180 + t, ROLE_SERVER, 0x7f000001, 80);
		for (int i = 0; i < 10; i++) {
			struct ev_turn *k = synth_event(s, EV_TURN, sizeof(*k), i * 100 + 99);

			k->res = 180 + t;
			k->role = ROLE_SERVER;
			k->h.tid = k->first_tid = t;
			synth_wait(s, t, WAIT_FUTEX, 7, i * 100 + 1, i * 100 + 58, i * 100 + 58,
				   20 + (t - 19) % CLIENTS);
			if (kind == BEFORE)
				synth_irq_wait(s, t, WAIT_SOCKET, 180 + t, i * 100 + 59,
					       i * 100 + 60, i * 100 + 60, WAKER_NET);
			open_one(synth_irq_wait(s, t, WAIT_TIMER, 0, i * 100 + 61, i * 100 + 97,
						i * 100 + 97, WAKER_TIMER));
		}
	}
	synth_end(s, 20, ROLE_SERVER, 80, kind == PIECES ? CLIENTS : 10 * CLIENTS, 1600);
	p = synth_proc(s, 20);
	p->open_ns = 1600000000;
	p->unread_ns = kind == UNREAD ? 2200000000 : 0;
	return s;
}

TEST(waits_in_line_for_work_are_idle)
{
	for (int kind = BEHIND; kind <= PIECES; kind++) {
		double lock = 0;
		struct judged j;

		ROW(kind);
		judge(&j, gate_world(kind));
		EQ_U(j.w->locks[0].gate, kind == BEHIND);
		for (size_t i = 0; i < j.w->cause_cnt; i++)
			lock += j.w->causes[i].lock != NO_IDX ? (double)j.w->causes[i].ns : 0;
		EQ_U(lock > 0, kind != BEHIND);
		EQ_S(finding_name(j.v->findings[0].cls), kind == BEHIND ? "timer" : "lock-held");
		judged_release(&j);
	}
}

/*
 * With little to do the one who has the lock sleeps under it till a request comes,
 * and the others stand behind him: they are idle as he is.  Not where requests lie
 * there unread meanwhile.
 */
static struct synth *front_world(bool idle)
{
	enum { ALL = 4, TURN = 25 };
	struct synth *s = synth_new(1000);
	struct ev_proc *p;

	synth_res(s, 7, RES_FUTEX, "accept lock");
	for (uint32_t t = 0; t < ALL; t++) {
		synth_thread(s, 20 + t, 20, "worker");
		synth_sock(s, 200 + t, ROLE_SERVER, 0x7f000001, 80);
		for (uint32_t at = t * TURN; at < 1000; at += ALL * TURN) {
			struct ev_turn *k = synth_event(s, EV_TURN, sizeof(*k), at + 23);

			synth_irq_wait(s, 20 + t, WAIT_SOCKET, 200 + t, at + 1, at + 20, at + 20,
				       WAKER_NET);
			k->res = 200 + t;
			k->role = ROLE_SERVER;
			k->h.tid = k->first_tid = 20 + t;
			open_one(synth_irq_wait(s, 20 + t, WAIT_TIMER, 0, at + 21, at + 22, at + 22,
						WAKER_TIMER));
			if (at + ALL * TURN < 1000)
				synth_wait(s, 20 + t, WAIT_FUTEX, 7, at + 24, at + ALL * TURN,
					   at + ALL * TURN, 20 + (t + ALL - 1) % ALL);
		}
	}
	synth_end(s, 20, ROLE_SERVER, 80, 40, 100);
	p = synth_proc(s, 20);
	p->open_ns = 40000000;
	p->unread_ns = idle ? 0 : 2500000000;
	return s;
}

TEST(waits_behind_one_who_waits_for_work_are_idle)
{
	for (int idle = 0; idle < 2; idle++) {
		struct judged j;

		ROW(idle);
		judge(&j, front_world(idle));
		EQ_U(j.w->locks[0].gate, idle);
		EQ_U(strcmp(finding_name(j.v->findings[0].cls), "lock-held") == 0, !idle);
		judged_release(&j);
	}
}

/*
 * Sessions wait for a row that one of them keeps 900 ms, and look after 400 whether
 * that is a circle: the rest of the wait tells whom they wait for.  One that sleeps
 * and sleeps again is nobody's waiter.
 */
TEST(waits_a_look_for_deadlocks_ends_no_wait)
{
	for (int lock = 0; lock < 2; lock++) {
		struct synth *s = pool_world(CLIENTS, 900 * CLIENTS);
		struct judged j;

		for (uint32_t t = 20; t < 20 + CLIENTS; t++)
			synth_res(s, 300 + t, RES_EPOLL, NULL);
		open_one(synth_irq_wait(s, 20, WAIT_SOCKET, 200, 1, 900, 900, WAKER_NET));
		for (uint32_t t = 21; t < 20 + CLIENTS; t++) {
			open_one(synth_irq_wait(s, t, WAIT_EPOLL, 300 + t, 2, 402, 402,
						WAKER_TIMER));
			if (lock)
				open_one(synth_wait(s, t, WAIT_EPOLL, 300 + t, 403, 901 + t - 20,
						    901 + t - 20, t - 1));
			else
				open_one(synth_irq_wait(s, t, WAIT_EPOLL, 300 + t, 403, 901, 901,
							WAKER_TIMER));
		}
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), lock ? "lock-held" : "timer");
		EQ_U(cause_ms(&j, CAUSE_TIMER) > 1, !lock);
		judged_release(&j);
	}
}

/*
 * All wait for one that has the lock, and that for a collector which computes and has no
 * requests; it rests half of the time or never.
 */
TEST(verdict_lock_before_one_that_computes)
{
	for (int rests = 0; rests < 2; rests++) {
		struct synth *s = pool_world(CLIENTS, 900 * CLIENTS);
		struct judged j;

		synth_thread(s, 50, 20, "collector");
		for (uint64_t r = 6; r < 9; r++)
			synth_res(s, r, RES_FUTEX, NULL)->ino = r * 4096;
		for (int i = 0; i < 10; i++) {
			uint32_t first = 20 + i % CLIENTS;
			double at = i * 100;

			open_one(synth_wait(s, first, WAIT_FUTEX, 8, at + 2, at + 96, at + 96, 50));
			for (uint32_t t = 20; t < 20 + CLIENTS; t++) {
				if (t != first)
					open_one(synth_wait(s, t, WAIT_FUTEX, 7, at + 3, at + 97,
							    at + 97, first));
			}
			if (rests)
				synth_irq_wait(s, 50, WAIT_TIMER, 0, at + 5, at + 50, at + 50,
					       WAKER_TIMER);
			else
				synth_irq_wait(s, 50, WAIT_TIMER, 0, at + 97, at + 98, at + 98,
					       WAKER_TIMER);
		}
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), rests ? "lock-held" : "cpu-own");
		if (!rests) {
			const struct finding *f = &j.v->findings[0];

			EQ_S(f->culprit.comm, "collector");
			EQ_S(f->chain[f->chain_len - 1].who.comm, "collector");
		}
		judged_release(&j);
	}
}

/* A handler starts a child and waits for its end in a set of its own: the loop does not turn. */
TEST(verdict_loop_that_waits_for_a_child)
{
	struct synth *s = synth_new(1000);
	const struct finding *f;
	struct ev_proc *p;
	struct judged j;

	synth_thread(s, 20, 20, "loop");
	synth_res(s, 6, RES_EPOLL, NULL);
	synth_res(s, 7, RES_EPOLL, NULL);
	for (int i = 0; i < 2; i++)
		synth_sock(s, 8 + i, ROLE_SERVER, 0x7f000001, 80);
	for (int i = 0; i < 4; i++) {
		uint32_t child = 40 + i;
		double at = i * 250;
		struct ev_wait *w;

		synth_irq_wait(s, 20, WAIT_EPOLL, 6, at + 1, at + 40, at + 40,
			       WAKER_NET)->first_io = 8;
		synth_thread(s, child, child, "sleep")->ppid = 20;
		synth_irq_wait(s, child, WAIT_TIMER, 0, at + 42, at + 240, at + 240, WAKER_TIMER);
		w = synth_wait(s, 20, WAIT_EPOLL, 7, at + 41, at + 241, at + 241, child);
		w->own_open = w->proc_open = 2;
		w->first_io = 9;
	}
	synth_end(s, 20, ROLE_SERVER, 80, 40, 1600);
	p = synth_proc(s, 20);
	p->open_ns = 1600000000;
	judge(&j, s);
	f = &j.v->findings[0];
	EQ_S(finding_name(f->cls), "loop-blocked");
	EQ_U(f->culprit.tid, 20);
	/* each child has a little of it, the loop's own computing is more than any one of that */
	EQ_S(f->chain[f->chain_len - 1].who.comm, "sleep");
	judged_release(&j);
}

/* The answer is waited for on its socket, or in the set where the loop waits for all. */
TEST(verdict_loop_that_asks_and_waits)
{
	for (int blocks = 0; blocks < 2; blocks++) {
		struct synth *s = synth_new(1000);
		bool said = false;
		struct judged j;

		synth_thread(s, 20, 20, "loop");
		synth_res(s, 6, RES_EPOLL, NULL);
		synth_sock(s, 5, ROLE_CLIENT, 0x0a000001, 9000)->tgid = 20;
		for (int i = 0; i < 2; i++)
			synth_sock(s, 8 + i, ROLE_SERVER, 0x7f000001, 80);
		for (int i = 0; i < 10; i++) {
			struct ev_wait *w;

			synth_irq_wait(s, 20, WAIT_EPOLL, 6, i * 100 + 1, i * 100 + 10,
				       i * 100 + 10, WAKER_NET)->first_io = 8 + i % 2;
			w = synth_irq_wait(s, 20, blocks ? WAIT_SOCKET : WAIT_EPOLL, blocks ? 5 : 6,
					   i * 100 + 11, i * 100 + 98, i * 100 + 98, WAKER_NET);
			w->own_open = w->proc_open = 2;
		}
		synth_end(s, 20, ROLE_SERVER, 80, 20, 1740);
		synth_end(s, 20, ROLE_CLIENT, 9000, 20, 1740);
		synth_proc(s, 20)->open_ns = 1740000000;
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), "external");
		for (size_t i = 0; i < j.v->findings[0].evidence_cnt; i++)
			said |= strstr(j.v->findings[0].evidence[i], "serves nobody") != NULL;
		EQ_U(said, blocks);
		judged_release(&j);
	}
}

/* A condition variable has two words: who comes in by the one goes out by the other. */
TEST(waits_words_of_a_condition_are_one_lock)
{
	for (int apart = 0; apart < 2; apart++) { /* the same, but other threads on each word */
		struct synth *s = synth_new(1000);
		struct judged j;

		for (uint32_t t = 20; t < 24; t++)
			synth_thread(s, t, 20, "worker");
		synth_res(s, 7, RES_FUTEX, "word 0")->ino = 0x1000;
		synth_res(s, 8, RES_FUTEX, "word 1")->ino = 0x1004;
		for (int i = 0; i < 90; i++) {
			uint32_t t = apart ? 20 + i / 2 % 2 + 2 * (i % 2) : 20 + i % 4;
			uint32_t holder = apart ? 20 + (i / 2 + 1) % 2 + 2 * (i % 2) :
						  20 + (i + 3) % 4;

			synth_wait(s, t, WAIT_FUTEX, apart ? 7 + i % 2 : 7 + i / 4 % 2, i * 11 + 1,
				   i * 11 + 11, i * 11 + 11, holder);
		}
		judge(&j, s);
		EQ_U(j.w->lock_cnt, 1 + apart);
		for (size_t i = 0; i < j.w->lock_cnt; i++) {
			EQ_U(j.w->locks[i].cls, LOCK_LOCK);
			OK(apart || j.w->locks[i].holders_avg < 1.2);
		}
		judged_release(&j);
	}
}

/* Connections always lie there, or only now and then, beside threads that rest. */
TEST(verdict_connections_that_idle_threads_do_not_take)
{
	for (int always = 0; always < 2; always++) {
		struct synth *s = pool_world(2, 20);
		struct judged j;

		for (uint32_t t = 20; t < 22; t++)
			synth_irq_wait(s, t, WAIT_SOCKET, 180 + t, 1, 985, 985, WAKER_NET);
		for (int at = 0; at < 1000; at += 300) {
			struct ev_listen *l = synth_event(s, EV_LISTEN, sizeof(*l), at);

			l->tgid = 20;
			l->lport = 80;
			l->backlog = always || at ? 8 : 0;
			l->backlog_max = 511;
		}
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), always ? "conn-limit" : "healthy");
		judged_release(&j);
	}
}

/*
 * The answers are out, but the line for the log is not: the pipe is full.  The
 * logger is a child that reads and sleeps by turns.
 */
TEST(verdict_full_pipe_is_the_readers)
{
	struct synth *s = pool_world(CLIENTS, 10);
	struct ev_listen *l;
	struct judged j;

	synth_thread(s, 40, 40, "logger")->ppid = 20;
	synth_res(s, 5, RES_PIPE, "pipe:[1]");
	for (int i = 0; i < 10; i++) {
		synth_irq_wait(s, 40, WAIT_TIMER, 0, i * 100 + 1, i * 100 + 96, i * 100 + 96,
			       WAKER_TIMER);
		for (uint32_t t = 20; t < 20 + CLIENTS; t++)
			synth_wait(s, t, WAIT_PIPE, 5, i * 100 + 2, i * 100 + 97, i * 100 + 97,
				   40)->op = WAIT_OP_WRITE;
	}
	for (int at = 0; at < 1000; at += 500) {
		l = synth_event(s, EV_LISTEN, sizeof(*l), at);
		l->tgid = 20;
		l->lport = 80;
		l->backlog = 8;
		l->backlog_max = 128;
	}
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "peer");
	EQ_S(j.v->findings[0].culprit.comm, "logger");
	EQ_U(j.v->findings[0].chain_len, 2);
	judged_release(&j);
}

/*
 * Two may pass at a time, each for 100 ms asleep, by a futex with a limit of
 * time.  Who gets in wakes the next, who finds no room and sleeps on.
 */
static struct synth *semaphore_world(bool vain)
{
	struct synth *s = pool_world(CLIENTS, 3900);

	for (uint32_t t = 20; t < 20 + CLIENTS; t++) {
		synth_res(s, t, RES_FUTEX, NULL);
		synth_res(s, 100 + t, RES_FUTEX, NULL);
	}
	for (int i = 0; i < 18; i++) { /* 50 ms apart: the one leaves that came in two before */
		uint32_t t = 20 + i % CLIENTS, next = 20 + (i + 1) % CLIENTS;
		uint32_t out = 20 + (i + 2) % CLIENTS;
		double at = i * 50 + 50;
		struct ev_wait *w;

		open_one(synth_wait(s, t, WAIT_FUTEX, t, at - (vain ? 49 : 95), at, at, out));
		if (vain)
			open_one(synth_wait(s, next, WAIT_FUTEX, next, at - 45, at + 0.5,
					    at + 0.5, t));
		w = synth_irq_wait(s, t, WAIT_FUTEX, 100 + t, at + 0.8, at + 99.5, at + 99.5,
				   WAKER_TIMER);
		open_one(w);
		w->flags |= WAITF_TIMEOUT_ARG;
	}
	return s;
}

TEST(waits_count_who_passes_a_semaphore)
{
	for (int vain = 0; vain < 2; vain++) {
		double most = 0;
		struct judged j;

		judge(&j, semaphore_world(vain));
		for (size_t i = 0; i < j.w->lock_cnt; i++) {
			if (j.w->locks[i].virt && j.w->locks[i].holders_avg > most)
				most = j.w->locks[i].holders_avg;
		}
		OK(most > 1.5);
		OK(most < 2.2);
		judged_release(&j);
	}
}

/* One thread asks for all; those that wait for it sleep on no socket themselves. */
TEST(verdict_names_where_another_thread_asked)
{
	struct synth *s = pool_world(2, 1900);
	struct judged j;

	synth_thread(s, 50, 20, "asker");
	synth_task(s, 60, 60, "backend", TASKF_PEER);
	synth_res(s, 6, RES_EPOLL, NULL);
	synth_res(s, 7, RES_FUTEX, NULL);
	for (int i = 0; i < 10; i++) {
		for (uint32_t t = 20; t < 22; t++)
			open_one(synth_wait(s, t, WAIT_FUTEX, 7, i * 100 + 1, i * 100 + 96,
					    i * 100 + 96, 50));
		synth_wait(s, 50, WAIT_EPOLL, 6, i * 100 + 2, i * 100 + 95, i * 100 + 95, 60);
		synth_irq_wait(s, 60, WAIT_TIMER, 0, i * 100 + 3, i * 100 + 94, i * 100 + 94,
			       WAKER_TIMER);
	}
	synth_end(s, 20, ROLE_CLIENT, 9000, 20, 1900)->peer_tgid = 60;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "peer");
	EQ_S(j.v->findings[0].culprit.comm, "backend");
	OK(strstr(j.v->findings[0].resource, ":9000"));
	judged_release(&j);
}

/* Answers that nobody takes lie in the send buffers all the while: few, or many bytes of them. */
TEST(verdict_clients_do_not_read)
{
	for (int many = 0; many < 2; many++) {
		struct synth *s = pool_world(2, 20);
		struct judged j;

		for (int end = 0; end < 2; end++) {
			struct ev_conn *c = synth_event(s, EV_CONN, sizeof(*c), end ? 1000 : 0);

			c->tgid = 20;
			c->lport = 80;
			c->role = ROLE_SERVER;
			c->conns = 8;
			c->unsent_conns = 4;
			c->unsent_bytes = many ? 4 << 20 : 4 << 10;
		}
		for (uint32_t t = 20; t < 22; t++)
			synth_irq_wait(s, t, WAIT_SOCKET, 180 + t, 1, 985, 985, WAKER_NET);
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), many ? "clients" : "healthy");
		judged_release(&j);
	}
}

/* Each answer in two small pieces, the second kept back until a client acknowledges the first. */
TEST(verdict_answers_kept_back)
{
	for (int held = 0; held < 2; held++) {
		struct synth *s = pool_world(2, 20);
		struct judged j;

		for (int end = 0; end < 2; end++) {
			struct ev_conn *c = synth_event(s, EV_CONN, sizeof(*c), end ? 1000 : 0);

			c->tgid = 20;
			c->lport = 80;
			c->role = ROLE_SERVER;
			c->conns = 8;
			c->unsent_conns = 7;
			c->unsent_bytes = 900;
			c->held_conns = held ? 7 - end : 0;
		}
		for (uint32_t t = 20; t < 22; t++)
			synth_irq_wait(s, t, WAIT_SOCKET, 180 + t, 1, 985, 985, WAKER_NET);
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), held ? "clients" : "healthy");
		EQ_U(strstr(j.v->findings[0].summary, "TCP_NODELAY") != NULL, held);
		judged_release(&j);
	}
}

/* The same of what is asked: the peer has it late, and answers at once. */
TEST(verdict_questions_kept_back)
{
	static const uint8_t addr[4] = { 10, 0, 0, 1 };

	for (int held = 0; held < 2; held++) {
		struct synth *s = pool_world(2, 1900);
		struct judged j;
		bool said = false;

		memcpy(synth_end(s, 20, ROLE_CLIENT, 9000, 20, 1900)->raddr, addr, 4);
		for (int end = 0; end < 2; end++) {
			struct ev_conn *c = synth_event(s, EV_CONN, sizeof(*c), end ? 1000 : 0);

			c->tgid = 20;
			c->rport = 9000;
			c->family = AF_INET;
			memcpy(c->raddr, addr, 4);
			c->role = ROLE_CLIENT;
			c->conns = c->unsent_conns = 2;
			c->held_conns = held ? 2 : 0;
		}
		synth_sock(s, 9, ROLE_CLIENT, 0x0a000001, 9000)->tgid = 20;
		for (int i = 0; i < 10; i++) {
			for (uint32_t t = 20; t < 22; t++)
				open_one(synth_irq_wait(s, t, WAIT_SOCKET, 9, i * 100 + 1,
							i * 100 + 96, i * 100 + 96, WAKER_NET));
		}
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), "external");
		for (size_t i = 0; i < j.v->findings[0].evidence_cnt; i++)
			said |= strstr(j.v->findings[0].evidence[i], "Nagle") != NULL;
		EQ_U(said, held);
		judged_release(&j);
	}
}

/* Threads of a pool that are numbered by name are one pool. */
TEST(waits_numbered_names_are_alike)
{
	static const struct { const char *a, *b; bool alike; } tab[] = {
		{ "pool-1-thread-1", "pool-1-thread-1", true },
		{ "pool-1-thread-3", "pool-1-thread-12", true },
		{ "pool-1-thread-3", "pool-2-thread-3", false },
		{ "worker", "worker7", false },
		{ "1", "2", false },
		{ "", "", true },
		{ "", "3", false },
	};

	for (size_t i = 0; i < sizeof(tab) / sizeof(*tab); i++)
		EQ_U(named_alike(tab[i].a, tab[i].b), tab[i].alike);
}

/* One asks a peer while it has a lock; the others are behind the lock, not behind the socket. */
TEST(verdict_chain_has_the_lock_and_what_its_holder_asks)
{
	struct synth *s = pool_world(CLIENTS, 3900);
	const struct finding *f;
	struct judged j;

	synth_task(s, 60, 60, "backend", TASKF_PEER);
	synth_res(s, 7, RES_FUTEX, "the lock");
	synth_sock(s, 9, ROLE_CLIENT, 0x7f000001, 9000);
	for (int i = 0; i < 10; i++) {
		synth_irq_wait(s, 60, WAIT_TIMER, 0, i * 100 + 1, i * 100 + 95, i * 100 + 95,
			       WAKER_TIMER);
		open_one(synth_wait(s, 20, WAIT_SOCKET, 9, i * 100 + 2, i * 100 + 96, i * 100 + 96,
				    60));
		for (uint32_t t = 21; t < 20 + CLIENTS; t++) {
			struct ev_wait *w = synth_wait(s, t, WAIT_FUTEX, 7, i * 100 + 3,
						       i * 100 + 97, i * 100 + 97, 20);

			w->owner_tid = 20;
			open_one(w);
		}
	}
	judge(&j, s);
	f = &j.v->findings[0];
	EQ_S(finding_name(f->cls), "lock-held");
	EQ_U(f->chain_len, 3);
	EQ_S(f->chain[0].resource, "the lock");
	OK(f->chain[0].who.tid != 20);
	EQ_U(f->chain[1].who.tid, 20);
	EQ_S(f->chain[1].res_kind, "socket");
	EQ_S(f->chain[2].who.comm, "backend");
	judged_release(&j);
}

/* Loops that bring answers from afar to those that asked for them hold no lock. */
TEST(waits_results_are_no_lock)
{
	for (int serves = 0; serves < 2; serves++) {
		struct synth *s = pool_world(2, 1900);
		struct judged j;
		bool virt = false;

		synth_thread(s, 50, 20, "fetcher");
		synth_res(s, 6, RES_EPOLL, NULL);
		synth_res(s, 7, RES_EPOLL, NULL);
		for (int i = 0; i < 10; i++) {
			struct ev_wait *w;

			for (uint32_t t = 20; t < 22; t++)
				open_one(synth_wait(s, t, WAIT_EPOLL, 6, i * 100 + 1, i * 100 + 97,
						    i * 100 + 97, 50));
			w = synth_irq_wait(s, 50, WAIT_EPOLL, 7, i * 100 + 2, i * 100 + 96,
					   i * 100 + 96, WAKER_NET);
			w->first_io = 200;
			if (serves) { /* its own client has its answer when it wakes others */
				struct ev_turn *n = synth_event(s, EV_TURN, sizeof(*n),
								i * 100 + 98);

				n->res = 200;
				n->role = ROLE_SERVER;
				n->h.tid = n->first_tid = 50;
			}
		}
		judge(&j, s);
		for (size_t i = 0; i < j.w->lock_cnt; i++)
			virt |= j.w->locks[i].virt;
		EQ_U(virt, serves);
		judged_release(&j);
	}
}

/*
 * Each waits for the session that holds a lock on a futex of its own, and looks
 * every 20 ms whether it was killed: only the last piece shows who lets it on.
 */
TEST(waits_virtual_lock_in_pieces)
{
	struct synth *s = pool_world(CLIENTS, 3800);
	struct judged j;

	for (uint32_t t = 20; t < 20 + CLIENTS; t++)
		synth_res(s, t, RES_FUTEX, NULL);
	for (int i = 0; i < 10; i++) {
		struct ev_wait *w = synth_irq_wait(s, 20, WAIT_TIMER, 0, i * 100 + 1, i * 100 + 95,
						   i * 100 + 95, WAKER_TIMER);

		open_one(w);
		for (uint32_t t = 21; t < 20 + CLIENTS; t++) {
			for (int k = 0; k < 4; k++) {
				w = synth_irq_wait(s, t, WAIT_FUTEX, t, i * 100 + k * 20 + 2,
						   i * 100 + k * 20 + 21.9, i * 100 + k * 20 + 21.9,
						   WAKER_TIMER);
				open_one(w);
				w->flags |= WAITF_TIMEOUT_ARG;
			}
			w = synth_wait(s, t, WAIT_FUTEX, t, i * 100 + 82, i * 100 + 96,
				       i * 100 + 96, 20);
			open_one(w);
			w->flags |= WAITF_TIMEOUT_ARG;
		}
	}
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "lock-held");
	EQ_U(j.v->findings[0].culprit.tid, 20);
	judged_release(&j);
}

/* All CPUs are taken, but the workers sleep in their requests: more of them would help. */
TEST(verdict_sleeping_pool_is_too_small_on_a_busy_host)
{
	struct synth *s = pool_world(2, 1950);
	struct ev_listen *l;
	struct judged j;

	synth_host(s)->cpu_busy_ns = 2000000000;
	for (uint32_t t = 20; t < 22; t++) {
		for (int i = 0; i < 10; i++) {
			open_one(synth_irq_wait(s, t, WAIT_TIMER, 0, i * 100 + 1, i * 100 + 88,
						i * 100 + 99, WAKER_TIMER));
		}
	}
	synth_culprit(s, 20, 20, "worker", 40);
	for (int at = 0; at < 1000; at += 500) {
		l = synth_event(s, EV_LISTEN, sizeof(*l), at);
		l->tgid = 20;
		l->lport = 80;
		l->backlog = 6;
		l->backlog_max = 128;
	}
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "workers");
	/* and what keeps them is where the chain ends */
	EQ_U(j.v->findings[0].chain_len, 1);
	EQ_S(j.v->findings[0].chain[0].doing, "sleeps on a timer");
	judged_release(&j);
}
