/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the ranking of functions takes: build/bench/functions [CALLS [THREADS]]
 *
 * Makes a window of calls as a server's workers make them, one piece of work
 * in 500 with something unlike the others, gives it to the model as events,
 * and times each step, with the stacks of its calls, then without them, by
 * signatures learnt from a fiftieth as much.  Default: 15 million calls, five
 * minutes at 50,000 a second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "functions/functions.h"
#include "functions/sig/learn.h"
#include "model/calls/calls.h"
#include "model/model.h"

enum { NR_CNT = 12, STACKS = 40 };

static uint64_t seed = 1;

static uint32_t any(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((seed >> 32) * below >> 32);
}

static void put_str(struct model *m, uint32_t id, const char *text)
{
	struct { struct ev_str s; char text[32]; } ev = {
		.s = {.h = {sizeof(ev), EV_STR, 0, 0, 0}, .id = id, .len = (uint32_t)strlen(text)}};

	memcpy(ev.text, text, strlen(text));
	model_add(m, &ev.s.h);
}

static void put_names(struct model *m)
{
	static const char *const names[NR_CNT] = {
		"epoll_wait", "read", "write", "futex", "openat", "close", "pread64", "fsync",
		"sendto", "recvfrom", "newfstatat", "mmap"};

	for (uint32_t nr = 0; nr < NR_CNT; nr++) {
		struct ev_call_name ev = {.h = {sizeof(ev), EV_CALL_NAME, 0, 0, 0}, .nr = nr,
					  .name = nr + 1};

		put_str(m, nr + 1, names[nr]);
		model_add(m, &ev.h);
	}
}

/* Stacks of five functions each, of one module. */
static void put_stacks(struct model *m)
{
	for (uint32_t s = 1; s <= STACKS; s++) {
		struct { struct ev_stack s; uint64_t frames[5]; } ev = {
			.s = {.h = {sizeof(ev), EV_STACK, 0, 0, 1}, .id = s, .tgid = 10,
			      .user_cnt = 5}};

		for (uint32_t i = 0; i < 5; i++)
			ev.frames[i] = UINT64_C(1) << 48 | (i < 2 ? s * 64 + i * 16 : i * 16);
		model_add(m, &ev.s.h);
	}
}

struct feed {
	struct model *m;
	struct { struct ev_calls head; struct ev_call calls[EVENT_CALLS_MAX]; } ev;
	uint64_t cnt;
};

static void put_call(struct feed *f, uint32_t tid, uint64_t *now_ns, unsigned nr, uint64_t ns)
{
	struct ev_call *c = &f->ev.calls[f->ev.head.cnt++];

	*c = (struct ev_call){.begin_ns = *now_ns, .dur_ns = ns, .tid = tid,
			      .stack = 1 + (nr * 3 + tid) % STACKS, .nr = (uint16_t)nr,
			      .flags = nr == 0 ? CALLF_BLOCKED : 0};
	*now_ns += ns + 500 + any(1000);
	f->cnt++;
	if (f->ev.head.cnt < EVENT_CALLS_MAX)
		return;
	f->ev.head.h = (struct event_hdr){sizeof(f->ev), EV_CALLS, 0, 0, *now_ns};
	model_add(f->m, &f->ev.head.h);
	f->ev.head.cnt = 0;
}

static void put_piece(struct feed *f, uint32_t tid, uint64_t *now_ns)
{
	unsigned kind = any(8), more = any(500) == 0 ? 50 : 1;

	put_call(f, tid, now_ns, 0, 20000 + any(2000000));
	put_call(f, tid, now_ns, 1, 1000 + any(1000));
	for (unsigned i = 0; i < 3 + kind; i++)
		put_call(f, tid, now_ns, 3 + (kind + i) % (NR_CNT - 3), 500 + any(4000) * more);
	put_call(f, tid, now_ns, 2, 2000 + any(3000));
}

static struct model *make(uint64_t want, uint32_t threads)
{
	uint64_t *now_ns = xcalloc(threads, sizeof(*now_ns));
	struct feed *f = xcalloc(1, sizeof(*f));
	struct model *m;

	m = f->m = model_new(&(struct model_opts){.no_res_ticks = 1, .max_calls = 1 << 26});
	put_names(f->m);
	put_stacks(f->m);
	for (uint32_t i = 0; i < threads; i++)
		now_ns[i] = 1000 + i;
	for (uint32_t i = 0; f->cnt < want; i = (i + 1) % threads)
		put_piece(f, 100 + i, &now_ns[i]);
	free(now_ns);
	free(f);
	return m;
}

static void time_analysis(uint64_t want, uint32_t threads, const struct sigs *sigs)
{
	struct functions_opts opts = {.calls_only = sigs != NULL};
	const struct functions_result *r;
	struct arena arena = {0};
	struct model *m;
	uint64_t t[4];

	t[0] = clock_mono_ns();
	m = make(want, threads);
	t[1] = clock_mono_ns();
	model_finish(m);
	t[2] = clock_mono_ns();
	r = functions_analyse(m, sigs, &opts, &arena);
	t[3] = clock_mono_ns();
	printf("%s: %llu calls, %llu units, %llu abnormal, %zu functions\n",
	       sigs ? "by signatures" : "by stacks", (unsigned long long)r->call_cnt,
	       (unsigned long long)r->unit_cnt, (unsigned long long)r->abnormal_cnt, r->fn_cnt);
	printf("making and taking in %.2f s, sorting %.2f s, analysis %.2f s\n",
	       (double)(t[1] - t[0]) / 1e9, (double)(t[2] - t[1]) / 1e9,
	       (double)(t[3] - t[2]) / 1e9);
	printf("%.2f M calls/s sorted and analysed; %.1f bytes a call beside the model\n",
	       (double)r->call_cnt / (double)(t[3] - t[1]) * 1e3,
	       (double)r->mem_bytes / (double)r->call_cnt);
	arena_release(&arena);
	model_free(m);
}

int main(int argc, char **argv)
{
	uint64_t want = argc > 1 ? strtoull(argv[1], NULL, 10) : 15000000;
	uint32_t threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100;
	struct arena arena = {0};
	struct learn_stats stats;
	struct model *m;

	time_analysis(want, threads, NULL);
	m = make(want / 50, threads);
	model_finish(m);
	time_analysis(want, threads, learn_model(m, &arena, &stats));
	model_free(m);
	arena_release(&arena);
	return 0;
}
