/* SPDX-License-Identifier: Apache-2.0 */
#include "model/calls/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "model/model.h"
#include "model/stack.h"
#include "unit.h"

#define CALL(tid_, begin_, dur_) \
	(struct ev_call){.tid = (tid_), .begin_ns = (begin_), .dur_ns = (dur_), .cpu = 0xffff}

static void give(struct model *m, const struct ev_call *calls, uint32_t cnt)
{
	struct {
		struct ev_calls head;
		struct ev_call calls[EVENT_CALLS_MAX];
	} ev = {0};

	while (cnt) {
		uint32_t part = cnt < EVENT_CALLS_MAX ? cnt : EVENT_CALLS_MAX;

		ev.head.cnt = part;
		ev.head.h = (struct event_hdr){
			.size = (uint16_t)(sizeof(ev.head) + part * sizeof(*calls)),
			.kind = EV_CALLS, .ts_ns = 1,
		};
		memcpy(ev.calls, calls, part * sizeof(*calls));
		model_add(m, &ev.head.h);
		calls += part;
		cnt -= part;
	}
}

static void give_window(struct model *m, uint64_t begin_ns, uint64_t end_ns, uint32_t flags)
{
	struct ev_window w = {.h = {sizeof(w), EV_WINDOW, 0, 0, end_ns}, .begin_ns = begin_ns,
			      .lost_cnt = 3, .skipped_cnt = 2, .flags = flags};

	model_add(m, &w.h);
}

static uint32_t give_str(struct model *m, uint32_t id, const char *text)
{
	struct {
		struct ev_str s;
		char text[32];
	} ev = {.s = {.h = {sizeof(ev), EV_STR, 0, 0, 0}, .id = id, .len = (uint32_t)strlen(text)}};

	memcpy(ev.text, text, strlen(text));
	model_add(m, &ev.s.h);
	return id;
}

static void give_name(struct model *m, uint32_t nr, uint32_t name)
{
	struct ev_call_name e = {.h = {sizeof(e), EV_CALL_NAME, 0, 0, 0}, .nr = nr, .name = name};

	model_add(m, &e.h);
}

static struct call_run run_of(const struct model *m, uint32_t tid)
{
	uint32_t thread = model_thread_by_tid(m, tid);

	OK(thread != NO_IDX);
	return m->calls->runs[thread];
}

/* What is promised of any model. */
static void check_order(const struct model *m)
{
	const struct model_calls *c = m->calls;
	size_t cnt = 0;

	for (size_t t = 0; t < m->thread_cnt; t++) {
		const struct call_run *run = &c->runs[t];

		EQ_U(run->cnt ? run->first : cnt, cnt);
		for (uint32_t i = 0; i < run->cnt; i++) {
			const struct call *call = &c->calls[run->first + i];

			ROW(run->first + i);
			EQ_U(call->thread, t);
			OK(call->nr < c->nr_cnt);
			OK(call->begin_ns + call->dur_ns >= c->begin_ns);
			OK(call->begin_ns + call->dur_ns <= c->end_ns);
			EQ_I(!!(call->flags & CALLF_BEFORE), call->begin_ns < c->begin_ns);
			if (i)
				OK(call[-1].begin_ns + call[-1].dur_ns <= call->begin_ns);
		}
		cnt += run->cnt;
	}
	EQ_U(cnt, c->cnt);
}

TEST(calls_none)
{
	struct model *m = model_new(NULL);

	EQ_U(m->calls->cnt, 0);
	model_finish(m);
	EQ_U(m->calls->cnt, 0);
	EQ_U(m->calls->end_ns, 0);
	EQ_S(m->calls->reason, "");
	EQ_S(model_call_name(m, 0), "call");
	EQ_S(model_call_name(m, 1u << 20), "call");
	model_free(m);
}

/* The order of any arrival is that of an obvious sort. */
static int cmp_ref(const void *pa, const void *pb)
{
	const struct ev_call *a = pa, *b = pb;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

enum { REF_CALLS = 30000, REF_TIDS = 9, REF_CPUS = 4 };

/* As of a recorder: a thread's calls follow one another and it changes its CPU. */
static struct ev_call *make_calls(unsigned seed)
{
	struct ev_call *calls = xcalloc(REF_CALLS, sizeof(*calls));
	uint64_t now[REF_TIDS + 1] = {0};
	uint16_t cpu[REF_TIDS + 1] = {0};

	for (uint32_t i = 0; i < REF_CALLS; i++) {
		uint32_t tid = 1 + (uint32_t)rand_r(&seed) % REF_TIDS;

		tid = tid > 5 ? 1 : tid; /* one makes most of them */
		now[tid] += 1 + (uint32_t)rand_r(&seed) % 100;
		if (rand_r(&seed) % 50 == 0)
			cpu[tid] = (uint16_t)(rand_r(&seed) % REF_CPUS);
		calls[i] = CALL(tid, 1000 + now[tid], (uint32_t)rand_r(&seed) % 50);
		now[tid] += calls[i].dur_ns;
		calls[i].cpu = cpu[tid];
		calls[i].nr = (uint16_t)(i % 300);
	}
	return calls;
}

enum arrival { BY_TIME, BY_CPU, BY_THREAD, BACKWARD, SHUFFLED, ARRIVALS };

static void give_as(struct model *m, struct ev_call *calls, enum arrival how, unsigned seed)
{
	switch (how) {
	case BY_CPU:
		for (uint32_t cpu = 0; cpu < REF_CPUS; cpu++)
			for (uint32_t i = 0; i < REF_CALLS; i++)
				if (calls[i].cpu == cpu)
					give(m, &calls[i], 1);
		return;
	case BY_THREAD:
		for (uint32_t tid = REF_TIDS; tid > 0; tid--)
			for (uint32_t i = 0; i < REF_CALLS; i++)
				if (calls[i].tid == tid)
					give(m, &calls[i], 1);
		return;
	case BACKWARD:
		for (uint32_t i = REF_CALLS; i-- > 0;)
			give(m, &calls[i], 1);
		return;
	case SHUFFLED:
		for (uint32_t i = REF_CALLS - 1; i > 0; i--) {
			uint32_t with = (uint32_t)rand_r(&seed) % (i + 1);
			struct ev_call call = calls[i];

			calls[i] = calls[with];
			calls[with] = call;
		}
		break;
	default:
		break;
	}
	give(m, calls, REF_CALLS);
}

TEST(calls_order)
{
	for (int how = 0; how < ARRIVALS; how++) {
		struct ev_call *calls = make_calls(7 + (unsigned)how);
		struct model *m = model_new(NULL);

		give_as(m, calls, (enum arrival)how, 3);
		give_window(m, 1, 1 << 30, 0);
		model_finish(m);
		check_order(m);
		qsort(calls, REF_CALLS, sizeof(*calls), cmp_ref);
		EQ_U(m->calls->cnt, REF_CALLS);
		EQ_U(m->calls->nr_cnt, 300);
		for (uint32_t i = 0; i < REF_CALLS; i++) {
			const struct call *got = &m->calls->calls[i];

			ROW(how * 1000000L + i);
			EQ_U(m->threads[got->thread].tid, calls[i].tid);
			EQ_U(got->begin_ns, calls[i].begin_ns);
			EQ_U(got->dur_ns, calls[i].dur_ns);
			EQ_U(got->nr, calls[i].nr);
			EQ_U(got->cpu, calls[i].cpu);
			EQ_U(got->stack, NO_IDX);
		}
		OK(!m->threads[0].tracked);
		model_free(m);
		free(calls);
	}
}

/* More after a first look: as if all had come before it. */
TEST(calls_finish_again)
{
	struct ev_call *calls = make_calls(5);
	struct model *m = model_new(NULL);
	size_t bytes;

	give(m, calls, REF_CALLS / 2);
	model_finish(m);
	check_order(m);
	EQ_U(m->calls->cnt, REF_CALLS / 2);
	give(m, calls + REF_CALLS / 2, REF_CALLS / 2);
	model_finish(m);
	check_order(m);
	EQ_U(m->calls->cnt, REF_CALLS);
	bytes = m->mem_bytes;
	model_finish(m);
	check_order(m);
	EQ_U(m->calls->cnt, REF_CALLS);
	OK(m->mem_bytes <= bytes);
	EQ_U(m->calls->dropped_cnt, 0);
	model_free(m);
	free(calls);
}

/* A call lasts into the next only where clocks are coarse, or a return was not seen. */
TEST(calls_do_not_overlap)
{
	struct ev_call calls[] = {CALL(1, 100, 50), CALL(1, 140, 5), CALL(1, 145, 1000),
				  CALL(1, 145, 20), CALL(1, 300, 700)};
	static const uint64_t want[] = {40, 5, 0, 20, 700};
	struct model *m = model_new(NULL);

	calls[2].result = calls[4].result = CALL_UNFINISHED;
	give(m, calls, 5);
	give_window(m, 100, 1000, 0);
	model_finish(m);
	check_order(m);
	for (int i = 0; i < 5; i++) {
		ROW(i);
		EQ_U(m->calls->calls[i].dur_ns, want[i]);
	}
	EQ_U(m->calls->calls[2].result, CALL_UNKNOWN);
	EQ_U(m->calls->calls[4].result, CALL_UNFINISHED);
	model_free(m);
}

TEST(calls_bound_keeps_the_newest)
{
	const struct model_opts opts = {.max_calls = 5000};
	struct ev_call *calls = make_calls(9);
	struct model *m = model_new(&opts);
	struct ev_call old = CALL(77, 10, 1 << 29);
	uint64_t begin_ns, whole = 0;

	old.result = CALL_UNFINISHED;
	give(m, &old, 1);
	give(m, calls, REF_CALLS);
	give_window(m, 5, 1 << 30, 0);
	model_finish(m);
	check_order(m);
	begin_ns = m->calls->begin_ns;
	OK(m->calls->cnt <= 5000);
	OK(m->calls->cnt > 2500);
	OK(begin_ns > 1000);
	EQ_U(m->calls->cnt + m->calls->dropped_cnt, REF_CALLS + 1);
	for (uint32_t i = 0; i < REF_CALLS; i++)
		whole += calls[i].begin_ns + calls[i].dur_ns >= begin_ns;
	EQ_U(m->calls->cnt, whole + 1); /* nothing that ended later is missing */
	EQ_U(run_of(m, 77).cnt, 1);	/* the thread that hangs stays */
	OK(m->mem_bytes < (8u << 20) + 5000 * 40);
	model_free(m);
	free(calls);
}

TEST(calls_window)
{
	struct ev_call calls[] = {CALL(1, 100, 50), CALL(2, 90, 500)};
	struct model *m = model_new(NULL);

	give(m, calls, 2);
	model_finish(m);
	EQ_U(m->calls->begin_ns, 90); /* its record was lost */
	EQ_U(m->calls->end_ns, 590);
	give_window(m, 95, 120, WINDOWF_SWITCHES | WINDOWF_STACKS | WINDOWF_KINDS);
	model_finish(m);
	EQ_U(m->calls->begin_ns, 95);
	EQ_U(m->calls->end_ns, 590); /* a call that ends later shows how wrong it is */
	give_window(m, 50, 700, WINDOWF_SWITCHES | WINDOWF_FOREIGN);
	model_finish(m);
	EQ_U(m->calls->begin_ns, 50);
	EQ_U(m->calls->end_ns, 700);
	EQ_U(m->calls->flags, WINDOWF_SWITCHES | WINDOWF_STACKS | WINDOWF_FOREIGN);
	EQ_U(m->calls->lost_cnt, 6);
	EQ_U(m->calls->skipped_cnt, 4);
	EQ_U(m->bad_event_cnt, 0);
	give_window(m, 800, 700, 0);
	EQ_U(m->bad_event_cnt, 1);
	model_free(m);
}

TEST(calls_names)
{
	struct ev_call calls[] = {CALL(1, 100, 1), CALL(1, 200, 1), CALL(1, 300, 1)};
	struct model *m = model_new(NULL);

	calls[0].nr = 3;
	calls[1].nr = 7;
	calls[2].nr = 1024;
	give_name(m, 3, give_str(m, 1, "close"));
	give_name(m, 1024, give_str(m, 2, "my_call"));
	give_name(m, 9, 55);	       /* no such string */
	give_name(m, 1u << 16, 1); /* no such number */
	give(m, calls, 3);
	model_finish(m);
	EQ_U(m->bad_event_cnt, 2);
	EQ_U(m->calls->nr_cnt, 1025);
	EQ_S(model_call_name(m, 3), "close");
	EQ_S(model_call_name(m, 7), "call-7");
	EQ_S(model_call_name(m, 8), "call");
	EQ_S(model_call_name(m, 1024), "my_call");
	model_free(m);
}

static void give_stack(struct model *m, uint32_t id)
{
	struct {
		struct ev_stack s;
		uint64_t frames[2];
	} ev = {.s = {.h = {sizeof(ev), EV_STACK, 0, 1, 1}, .id = id, .tgid = 1, .user_cnt = 2},
		.frames = {10, 20}};

	model_add(m, &ev.s.h);
}

TEST(calls_stacks)
{
	struct ev_call calls[] = {CALL(1, 100, 1), CALL(1, 200, 1), CALL(1, 300, 1),
				  CALL(1, 400, 1)};
	struct model *m = model_new(NULL);
	const struct call *got;

	calls[0].stack = 9;
	calls[1].stack = 5;
	calls[3].stack = EVENT_STACK_MAX + 1;
	give_stack(m, 5);
	give(m, calls, 4);
	model_finish(m);
	got = m->calls->calls;
	EQ_U(m->stacks[got[1].stack].id, 5);
	EQ_U(m->stacks[got[1].stack].user_cnt, 2);
	EQ_U(m->stacks[got[0].stack].id, 9);
	EQ_U(m->stacks[got[0].stack].user_cnt, 0);
	EQ_U(got[2].stack, NO_IDX);
	EQ_U(got[3].stack, NO_IDX);
	give_stack(m, 9); /* described only after a first look */
	give(m, calls, 0);
	model_finish(m);
	got = m->calls->calls;
	EQ_U(m->stacks[got[0].stack].id, 9);
	EQ_U(m->stacks[got[0].stack].user_cnt, 2);
	EQ_U(m->stacks[got[1].stack].id, 5);
	model_free(m);
}

TEST(calls_hostile)
{
	const uint64_t far = UINT64_C(1) << 62;
	struct ev_call bad[] = {CALL(0, 100, 1), CALL(1, far, 1), CALL(1, 1, far),
				CALL(1, far - 1, far - 1), CALL(1, UINT64_MAX, 2)};
	struct {
		struct ev_calls head;
		struct ev_call call;
	} lie = {.head = {.h = {sizeof(lie), EV_CALLS, 0, 0, 1}, .cnt = 2}};
	struct ev_call odd = CALL(5, 100, 1);
	struct model *m = model_new(NULL);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		give(m, &bad[i], 1);
		EQ_U(m->bad_event_cnt, i + 1);
	}
	model_add(m, &lie.head.h);
	lie.head.cnt = UINT32_MAX;
	model_add(m, &lie.head.h);
	lie.head.h.size = 16;
	model_add(m, &lie.head.h);
	EQ_U(m->bad_event_cnt, 8);
	odd.result = 200;
	odd.kind = 200;
	odd.flags = 0xff;
	odd.nr = 0xffff;
	give(m, &odd, 1);
	model_finish(m);
	EQ_U(m->calls->cnt, 1);
	EQ_U(m->calls->calls[0].result, CALL_UNKNOWN);
	EQ_U(m->calls->calls[0].kind, RES_NONE);
	EQ_U(m->calls->nr_cnt, 1 << 16);
	EQ_S(model_call_name(m, 0xffff), "call-65535");
	model_free(m);
}

static void give_away(struct model *m, uint64_t begin_ns, uint64_t end_ns)
{
	struct ev_calls_away e = {.h = {sizeof(e), EV_CALLS_AWAY, 0, 0, 1}, .begin_ns = begin_ns,
				  .end_ns = end_ns};

	model_add(m, &e.h);
}

/* In any order and over each other; what is no time is bad. */
TEST(calls_away)
{
	static const struct { uint64_t begin_ns, end_ns, ns; } rows[] = {
		{0, 10, 0}, {0, 11, 1}, {10, 30, 20}, {15, 16, 1}, {25, 45, 10}, {30, 40, 0},
		{0, 100, 30}, {50, 60, 0}, {49, 49, 0}, {60, 50, 0},
	};
	struct model *m = model_new(NULL);

	give_away(m, 40, 50);
	give_away(m, 10, 20);
	give_away(m, 12, 14);
	give_away(m, 18, 30);
	EQ_U(m->bad_event_cnt, 0);
	give_away(m, 60, 60);
	give_away(m, 70, 60);
	give_away(m, 60, UINT64_MAX);
	EQ_U(m->bad_event_cnt, 3);
	model_finish(m);
	EQ_U(m->calls->away_cnt, 2);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ROW(i);
		EQ_U(calls_away_ns(m->calls, rows[i].begin_ns, rows[i].end_ns), rows[i].ns);
	}
	model_free(m);
}

static void give_part(struct model *m, uint64_t begin_ns, uint64_t end_ns)
{
	struct ev_calls_part e = {.h = {sizeof(e), EV_CALLS_PART, 0, 0, 1}, .begin_ns = begin_ns,
				  .end_ns = end_ns};

	model_add(m, &e.h);
}

static void give_wait(struct model *m, uint64_t off_ns, uint64_t end_ns, int16_t nr,
		      uint16_t flags)
{
	struct ev_wait e = {.h = {sizeof(e), EV_WAIT, 0, 7, end_ns}, .off_ns = off_ns,
			    .wake_ns = flags & (WAITF_PREEMPTED | WAITF_PENDING) ? 0 : end_ns,
			    .tgid = 7, .sysnr = nr, .cls = WAIT_SOCKET, .flags = flags};

	model_add(m, &e.h);
}

/*
 * Blocking calls only until 1000, then all.  One read goes on from the one to
 * the other; what waits tell of the time of all calls is told already.
 */
TEST(calls_of_waits)
{
	static const struct { uint64_t begin_ns, dur_ns; unsigned nr, flags, result; } rows[] = {
		{100, 50, 0, CALLF_BLOCKED | CALLF_WAIT | CALLF_KEY, CALL_OK},
		{200, 100, 1, CALLF_BLOCKED | CALLF_WAIT | CALLF_KEY | CALLF_SWITCHED, CALL_OK},
		{900, 300, 0, CALLF_BLOCKED | CALLF_KEY, CALL_OK},
		{1300, 100, 0, 0, CALL_OK},
	};
	struct ev_call all[] = {CALL(7, 1000, 200), CALL(7, 1300, 100)};
	struct model *m = model_new(NULL);

	give_wait(m, 10, 20, 0, 0); /* before it was said that waits count */
	give_part(m, 50, 0);
	give_wait(m, 100, 150, 0, 0);
	give_wait(m, 160, 180, 0, WAITF_PREEMPTED);
	give_wait(m, 170, 180, -1, 0);
	give_wait(m, 200, 250, 1, WAITF_PENDING);
	give_wait(m, 200, 300, 1, 0);
	give_wait(m, 900, 1200, 0, 0);
	give_wait(m, 1310, 1390, 0, 0);
	give(m, all, 2);
	give_part(m, 50, 1000);
	give_window(m, 50, 2000, WINDOWF_BLOCKING | WINDOWF_SWITCHES);
	model_finish(m);
	EQ_U(m->bad_event_cnt, 0);
	EQ_U(m->calls->cnt, sizeof(rows) / sizeof(*rows));
	for (size_t i = 0; i < m->calls->cnt; i++) {
		const struct call *c = &m->calls->calls[i];

		ROW(i);
		EQ_U(c->begin_ns, rows[i].begin_ns);
		EQ_U(c->dur_ns, rows[i].dur_ns);
		EQ_U(c->nr, rows[i].nr);
		EQ_U(c->flags, rows[i].flags);
		EQ_U(c->result, rows[i].result);
	}
	EQ_U(calls_time_in(m->calls->parts, m->calls->part_cnt, 0, 5000), 950);
	model_free(m);
}

/* Short ones were left out for a time: it counts as away where not all calls are there. */
TEST(calls_of_waits_coarse)
{
	struct ev_coarse e = {.h = {sizeof(e), EV_COARSE, 0, 0, 1}, .begin_ns = 400,
			      .end_ns = 1500, .shed = SHED_SHORT};
	struct model *m = model_new(NULL);

	give_part(m, 50, 0);
	give_wait(m, 500, 700, 0, 0);
	model_add(m, &e.h);
	e.begin_ns = 100;
	e.end_ns = 200;
	e.shed = SHED_STACKS;
	model_add(m, &e.h);
	give_part(m, 50, 1000);
	give_window(m, 50, 2000, WINDOWF_BLOCKING);
	model_finish(m);
	EQ_U(m->calls->cnt, 1);
	EQ_U(m->calls->coarse_cnt, 1);
	EQ_U(calls_away_ns(m->calls, 0, 5000), 600);
	model_free(m);
}

/* A stream that ends before it says which times they are. */
TEST(calls_of_waits_cut)
{
	struct model *m = model_new(NULL);

	give_part(m, 50, 0);
	give_wait(m, 100, 150, 0, 0);
	model_finish(m);
	EQ_U(m->calls->cnt, 1);
	EQ_U(m->calls->part_cnt, 1);
	model_free(m);
}

/* More threads than the model has room for: counted, and the others whole. */
TEST(calls_of_too_many_threads)
{
	struct model *m = model_new(NULL);

	for (uint32_t tid = 1; tid <= 70000; tid++) {
		struct ev_call call = CALL(tid, 100, 1);

		give(m, &call, 1);
	}
	model_finish(m);
	check_order(m);
	EQ_U(m->calls->cnt, 65536);
	EQ_U(m->calls->dropped_cnt, 70000 - 65536);
	OK(m->limit_cnt >= 70000 - 65536);
	model_free(m);
}
