/* SPDX-License-Identifier: Apache-2.0 */
/* Stalls among many quick requests: which are found, what they are laid to, and which are not. */
#include <string.h>

#include "judged.h"
#include "unit.h"
#include "verdict/context/tail.h"
#include "waits/tail.h"

#define NAP "clock_nanosleep@libc.so.6;debug_command;call;loop;main"
#define CRUNCH "step;crunch;call;loop;main"
#define GET "find;get_command;call;loop;main"

/* Of quick, answered within 50 us, and slow, which took slow_ms. */
static struct ev_end *answers(struct synth *s, uint32_t tgid, uint64_t quick, uint64_t slow,
			      double slow_ms)
{
	struct ev_end *n = synth_end(s, tgid, ROLE_SERVER, 80, quick + slow,
				     (double)quick * 0.05 + (double)slow * slow_ms);
	unsigned bucket = 0;

	while (bucket < EVENT_HIST_CNT - 2 && (double)(1000ull << (bucket / 2)) < slow_ms * 5e5)
		bucket++;
	n->hist[10] = quick;
	n->hist[bucket] += slow;
	n->answer_max_ns = (uint64_t)((slow ? slow_ms : 0.05) * 1e6);
	return n;
}

static struct ev_turn *turn(struct synth *s, unsigned role, uint64_t res, uint32_t tid,
			    double begin_ms, double ms)
{
	struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), begin_ms + ms);

	t->res = res;
	t->role = role;
	t->tgid = 20;
	t->service_ns = (uint64_t)(ms * 1e6);
	t->h.tid = t->first_tid = tid;
	return t;
}

/* A loop in 20 with two clients and an upstream; asleep at home but for the stalls of others. */
static struct synth *loop_world(const double *stalls_ms, double len_ms)
{
	struct synth *s = synth_new(10000);

	synth_thread(s, 20, 20, "loop");
	synth_res(s, 6, RES_EPOLL, "clients");
	synth_sock(s, 8, ROLE_SERVER, 0x7f000001, 80)->tgid = 20;
	synth_sock(s, 9, ROLE_SERVER, 0x7f000001, 80)->tgid = 20;
	synth_sock(s, 5, ROLE_CLIENT, 0x0a000001, 9000)->tgid = 20;
	for (int i = 0; i < 2; i++) {
		struct ev_sock *k = synth_event(s, EV_SOCK, sizeof(*k), 9999);

		k->res = 8 + i;
		k->tgid = k->last_tid = 20;
		k->role = ROLE_SERVER;
	}
	for (int i = 0; i < 2000; i++) {
		double at = i * 5;
		bool in = false;

		for (const double *x = stalls_ms; *x > 0; x++)
			in |= at + 5 > *x && at < *x + len_ms;
		if (in)
			continue;
		synth_irq_wait(s, 20, WAIT_EPOLL, 6, at + 1, at + 4, at + 4, WAKER_NET)->first_io =
			8 + i % 2;
	}
	return s;
}

static const double every_3s[] = {1000, 4000, 7000, 0};
static const double never[] = {0};

static struct synth *nap_world(const double *at, double ms)
{
	struct synth *s = loop_world(at, ms);
	unsigned cnt = 0;

	for (; at[cnt] > 0; cnt++) {
		struct ev_wait *w = synth_irq_wait(s, 20, WAIT_TIMER, 0, at[cnt] + 1, at[cnt] + ms,
						   at[cnt] + ms, WAKER_TIMER);

		w->own_open = w->proc_open = 1;
		w->ustack = synth_stack(s, 20, NAP);
		turn(s, ROLE_SERVER, 8, 20, at[cnt], ms);
	}
	answers(s, 20, 100000, cnt, ms);
	return s;
}

TEST(tail_names_the_function_that_blocks_a_loop)
{
	const struct stall_finding *t;
	struct judged j;

	judge(&j, nap_world(every_3s, 300));
	EQ_S(finding_name(j.v->findings[0].cls), "loop-blocked");
	EQ_U(j.v->findings[0].of_tail, 1);
	EQ_U(j.v->findings[0].culprit.pid, 20);
	EQ_U(j.v->tail->stall_cnt, 1);
	t = &j.v->tail->stalls[0];
	EQ_U(t->cnt, 3);
	EQ_S(t->function, "debug_command");
	EQ_U(t->every_ns, 3000000000);
	OK(t->regular);
	EQ_U(t->max_ns, 300000000);
	EQ_U(t->affects, 0);
	OK(t->time_share > 0.085 && t->time_share < 0.095);
	HAS(j.v->findings[0].summary, "3 stalls of 300 ms, one every 3.0 s: event loop of loop "
				      "(pid 20) blocked in debug_command, asleep");
	judged_release(&j);
}

/* The same of a loop of which no request was recorded: its own wait tells. */
TEST(tail_needs_no_record_of_a_request)
{
	struct judged j;
	struct synth *s = loop_world(every_3s, 300);

	for (int i = 0; i < 3; i++)
		synth_irq_wait(s, 20, WAIT_TIMER, 0, every_3s[i] + 1, every_3s[i] + 300,
			       every_3s[i] + 300, WAKER_TIMER)->own_open = 1;
	answers(s, 20, 100000, 0, 0);
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "loop-blocked");
	EQ_U(j.v->tail->stalls[0].cnt, 3);
	judged_release(&j);
}

/* 200 ms of a thousand requests: felt from p99.9 on. */
TEST(tail_tells_which_quantiles_feel_it)
{
	struct judged j;
	struct synth *s = loop_world(every_3s, 300);

	for (int i = 0; i < 30; i++)
		turn(s, ROLE_SERVER, 8, 20, every_3s[i / 10], 300);
	for (int i = 0; i < 3; i++)
		synth_irq_wait(s, 20, WAIT_TIMER, 0, every_3s[i] + 1, every_3s[i] + 300,
			       every_3s[i] + 300, WAKER_TIMER)->own_open = 1;
	answers(s, 20, 10000, 30, 300);
	judge(&j, s);
	EQ_U(j.v->tail->stalls[0].cnt, 3);
	EQ_U(j.v->tail->stalls[0].req_cnt, 30);
	EQ_U(j.v->tail->stalls[0].affects, 1 << TAIL_P999);
	HAS(j.v->findings[0].summary, "p99 is not affected, p99.9 is");
	judged_release(&j);
}

static void samples(struct synth *s, const char *stack, double from_ms, double to_ms, double step)
{
	uint32_t id = synth_stack(s, 20, stack);

	for (double at = from_ms; at < to_ms; at += step)
		synth_sample(s, 20, id, at, 1);
}

TEST(tail_names_the_function_that_computes)
{
	struct judged j;
	struct synth *s = loop_world(every_3s, 300);

	synth_sampled(s, 5000000);
	samples(s, GET, 0, 1000, 25);
	for (int i = 0; i < 3; i++) {
		samples(s, CRUNCH, every_3s[i] + 1, every_3s[i] + 300, 5);
		samples(s, GET, every_3s[i] + 301, every_3s[i] + 3000, 25);
		turn(s, ROLE_SERVER, 8, 20, every_3s[i], 300);
	}
	answers(s, 20, 100000, 3, 300);
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "loop-blocked");
	EQ_S(j.v->tail->stalls[0].function, "step");
	HAS(j.v->findings[0].summary, "computing");
	judged_release(&j);
}

/* Requests that take long in a loop that serves others meanwhile block nothing. */
TEST(tail_names_forks)
{
	for (int forks = 0; forks < 2; forks++) {
		struct synth *s = loop_world(every_3s, 100);
		struct judged j;

		synth_sampled(s, 5000000);
		samples(s, GET, 0, 1000, 25);
		for (int i = 0; i < 3; i++) {
			uint32_t child = 30 + (uint32_t)i;
			struct ev_task *task;

			samples(s, CRUNCH, every_3s[i] + 1, every_3s[i] + 100, 5);
			samples(s, GET, every_3s[i] + 101, every_3s[i] + 3000, 25);
			turn(s, ROLE_SERVER, 8, 20, every_3s[i], 100);
			if (!forks)
				continue;
			task = synth_thread(s, child, child, "save");
			task->h.ts_ns = synth_ns(s, every_3s[i] + 95);
			task->ppid = 20;
			synth_preempted(s, child, every_3s[i] + 96, every_3s[i] + 99);
		}
		answers(s, 20, 100000, 3, 100);
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), "loop-blocked");
		EQ_U(strstr(j.v->findings[0].summary, "forking save (pid 32)") != NULL, forks);
		judged_release(&j);
	}
}

TEST(tail_blames_no_loop_that_turns)
{
	static const double all[] = {1, 0};
	struct judged j;
	struct synth *s = loop_world(all, 9000);

	synth_sampled(s, 5000000);
	samples(s, GET, 0, 10000, 5);
	for (int i = 0; i < 3; i++)
		turn(s, ROLE_SERVER, 8, 20, every_3s[i], 300);
	answers(s, 20, 100000, 3, 300);
	judge(&j, s);
	for (size_t i = 0; i < j.v->tail->stall_cnt; i++)
		EQ_S(finding_name(j.v->tail->stalls[i].f.cls), "unknown");
	OK(!j.v->findings[0].of_tail);
	judged_release(&j);
}

TEST(tail_names_a_slow_upstream)
{
	struct judged j;
	struct synth *s = loop_world(never, 0);

	for (int i = 0; i < 2; i++) {
		turn(s, ROLE_SERVER, 8, 20, 2000 + i * 5000, 400);
		turn(s, ROLE_CLIENT, 5, 20, 2002 + i * 5000, 396);
	}
	answers(s, 20, 100000, 2, 400);
	synth_end(s, 20, ROLE_CLIENT, 9000, 50000, 3300)->raddr[0] = 10;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "external");
	EQ_U(j.v->findings[0].of_tail, 1);
	EQ_U(j.v->tail->stalls[0].cnt, 2);
	EQ_U(j.v->tail->stalls[0].every_ns, 5000000000);
	HAS(j.v->findings[0].summary, "2 stalls of 400 ms, 5.0 s apart: waits for an answer from");
	HAS(j.v->findings[0].resource, "10.0.0.1:9000");
	judged_release(&j);
}

enum { SESSIONS = 8 };

/* Each session has a client and a socket of its own. */
static struct synth *sessions_world(void)
{
	struct synth *s = synth_new(10000);

	for (uint32_t t = 20; t < 20 + SESSIONS; t++) {
		synth_thread(s, t, 20, "session");
		synth_sock(s, 80 + t, ROLE_SERVER, 0x7f000001, 80)->tgid = 20;
	}
	synth_res(s, 7, RES_FUTEX, "the table");
	for (int i = 0; i < 500; i++)
		for (uint32_t t = 20; t < 20 + SESSIONS; t++)
			if (i % 100 > 10) /* the first 220 ms of each 2 s are the test's */
				synth_irq_wait(s, t, WAIT_SOCKET, 80 + t, i * 20 + 2, i * 20 + 18,
					       i * 20 + 18, WAKER_NET);
	return s;
}

TEST(tail_names_the_holder_of_a_lock)
{
	struct judged j;
	struct synth *s = sessions_world();

	for (int i = 0; i < 5; i++) {
		double at = i * 2000 + 10;

		synth_irq_wait(s, 20, WAIT_TIMER, 0, at, at + 100, at + 100,
			       WAKER_TIMER)->own_open = 1;
		for (uint32_t t = 21; t < 20 + SESSIONS; t++) {
			struct ev_wait *w = synth_wait(s, t, WAIT_FUTEX, 7, at + 1, at + 100,
						       at + 100, 20);

			w->own_open = 1;
			w->proc_open = SESSIONS;
		}
	}
	answers(s, 20, 100000, 40, 100);
	judge(&j, s);
	EQ_S(finding_name(j.v->tail->stalls[0].f.cls), "lock-held");
	EQ_U(j.v->tail->stalls[0].f.culprit.tid, 20);
	EQ_U(j.v->tail->stalls[0].cnt, 5);
	EQ_U(j.v->tail->stalls[0].req_cnt, 5 * (SESSIONS - 1));
	EQ_S(finding_name(j.v->findings[0].cls), "lock-held");
	judged_release(&j);
}

static struct synth *disk_world(double ms, int stalls)
{
	struct synth *s = sessions_world();

	synth_res(s, 30, RES_FILE, "data");
	for (int i = 0; i < stalls; i++) {
		double at = i * 2000 + 10;

		for (uint32_t t = 20; t < 23; t++) {
			struct ev_wait *w = synth_irq_wait(s, t, WAIT_FILE, 30, at + t, at + t + ms,
							   at + t + ms, WAKER_BLOCK);

			w->own_open = w->proc_open = 3;
			w->flags |= WAITF_UNINT;
			w->ustack = synth_stack(s, 20, "pread@libc.so.6;read_page;main");
		}
	}
	answers(s, 20, 100000, 3 * (uint64_t)stalls, ms);
	return s;
}

TEST(tail_names_a_disk_that_hangs)
{
	struct judged j;

	judge(&j, disk_world(150, 4));
	EQ_S(finding_name(j.v->tail->stalls[0].f.cls), "disk-own");
	EQ_S(j.v->tail->stalls[0].function, "read_page");
	EQ_U(j.v->tail->stalls[0].cnt, 4);
	EQ_U(j.v->tail->stalls[0].req_cnt, 12);
	judged_release(&j);
}

TEST(tail_lets_a_single_short_one_be)
{
	struct judged j;

	judge(&j, disk_world(60, 1));
	EQ_U(j.v->tail->stall_cnt, 0);
	OK(!j.v->findings[0].of_tail);
	judged_release(&j);

	judge(&j, disk_world(120, 1));
	EQ_U(j.v->tail->stall_cnt, 1);
	EQ_U(j.v->tail->stalls[0].f.conf, CONF_LOW);
	judged_release(&j);
}

/* Two CPUs for eight that want one: each waits for the time slices of the others. */
TEST(tail_names_nothing_under_full_load)
{
	struct judged j;
	struct synth *s = sessions_world();

	for (int i = 0; i < 5; i++) {
		for (uint32_t t = 20; t < 20 + SESSIONS; t++) {
			for (int p = 0; p < 2; p++) {
				double at = i * 2000 + 10 + p * 31 + (t - 20) % 3;

				synth_preempted(s, t, at, at + 28)->own_open = 1;
			}
			turn(s, ROLE_SERVER, 80 + t, t, i * 2000 + 8, 63);
		}
	}
	synth_culprit(s, 20, 20, "session", 2000);
	answers(s, 20, 5000, 40, 63);
	judge(&j, s);
	EQ_U(j.v->tail->stall_cnt, 0);
	OK(!j.v->findings[0].of_tail);
	judged_release(&j);
}

/* As long as most take is not slow, however long that is. */
TEST(tail_is_measured_by_what_is_usual)
{
	struct judged j;
	struct synth *s = disk_world(150, 4);
	struct ev_end *n = synth_end(s, 20, ROLE_SERVER, 80, 200000, 200000 * 30.0);

	n->hist[30] = 200000; /* 32 ms */
	n->answer_max_ns = 150000000;
	judge(&j, s);
	OK(j.v->tail->slow_ns > 200000000);
	EQ_U(j.v->tail->stall_cnt, 0);
	judged_release(&j);
}

/* A thread reads datagrams that another answers at once, and rests for 600 ms with one open. */
TEST(tail_lets_what_another_answered_be)
{
	struct judged j;
	struct synth *s = synth_new(10000);

	synth_thread(s, 20, 20, "reader");
	synth_thread(s, 21, 20, "worker");
	synth_res(s, 6, RES_POLLSET, "sockets");
	synth_res(s, 7, RES_FUTEX, "work");
	synth_sock(s, 8, ROLE_SERVER, 0x7f000001, 80)->tgid = 20;
	for (int i = 0; i < 10; i++) {
		double at = i * 1000;

		for (int n = 0; n < 5; n++) {
			turn(s, ROLE_SERVER, 8, 20, at + n * 80 + 79.2, 0.3)->h.tid = 21;
			synth_wait(s, 21, WAIT_FUTEX, 7, at + n * 80, at + n * 80 + 79.3,
				   at + n * 80 + 79.3, 20);
			synth_irq_wait(s, 20, WAIT_POLL, 6, at + n * 80 + 0.5, at + n * 80 + 79,
				       at + n * 80 + 79, WAKER_TIMER)->own_open = 1;
		}
		synth_irq_wait(s, 20, WAIT_POLL, 6, at + 401, at + 999, at + 999,
			       WAKER_TIMER)->own_open = 1;
	}
	answers(s, 20, 5000, 0, 0);
	judge(&j, s);
	EQ_U(j.v->tail->stall_cnt, 0);
	judged_release(&j);
}
