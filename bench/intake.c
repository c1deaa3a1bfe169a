/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast calls come in: from a capture or another program's trace to a
 * finished model.  -n lists calls by name, to hold against strace -c and grep.
 *
 *	make build/bench/intake && build/bench/intake FILE
 *	build/bench/intake -g 15000000			made up, without a file
 *	build/bench/intake -g 15000000 -o FILE		written as a capture first
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/err.h"
#include "collect/source.h"
#include "model/calls/calls.h"
#include "model/model.h"
#include "store/capture.h"

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

enum { THREADS = 40, CPUS = 8, RUN = 24 };

/* As a recorder gives them: CPU by CPU, threads change their CPUs now and then. */
static int make(struct event_sink *sink, uint64_t cnt)
{
	struct {
		struct ev_calls head;
		struct ev_call calls[EVENT_CALLS_MAX];
	} ev = {0};
	struct ev_meta meta = {.h = {sizeof(meta), EV_META, 0, 0, 1000}};
	struct ev_tick tick = {.h = {sizeof(tick), EV_TICK, 0, 0, UINT64_C(1) << 50}};
	unsigned seed = 1;
	int rc = sink->put(sink->ctx, &meta.h);

	for (uint32_t cpu = 0; cpu < CPUS && rc >= 0; cpu++) {
		uint64_t ns = 1000 + cpu;
		uint32_t tid = 1, n = 0;

		for (uint64_t i = 0; i < cnt / CPUS && rc >= 0; i++) {
			if (i % RUN == 0) /* whoever was on this CPU gave it up */
				tid = 1 + (cpu + (uint32_t)rand_r(&seed)) % THREADS;
			ev.calls[n++] = (struct ev_call){
				.begin_ns = ns, .dur_ns = 700, .tid = tid, .cpu = (uint16_t)cpu,
				.nr = (uint16_t)(i * 7 % 60), .result = i % 9 == 0,
			};
			ns += 1000 + (uint32_t)rand_r(&seed) % 8000;
			if (n < EVENT_CALLS_MAX && i + 1 < cnt / CPUS)
				continue;
			ev.head.cnt = n;
			ev.head.h = (struct event_hdr){
				.size = (uint16_t)(sizeof(ev.head) + n * sizeof(ev.calls[0])),
				.kind = EV_CALLS, .ts_ns = ns};
			rc = sink->put(sink->ctx, &ev.head.h);
			n = 0;
		}
	}
	return rc < 0 ? rc : sink->put(sink->ctx, &tick.h);
}

static int write_capture(const char *path, uint64_t cnt, struct err *err)
{
	const struct capture_opts opts = {.force = true};
	struct capture *cap = NULL;
	struct event_sink sink;
	int rc = capture_create(path, &opts, &cap, err);

	if (rc == 0) {
		sink = capture_sink(cap);
		rc = make(&sink, cnt);
		rc = rc < 0 ? rc : capture_finish(cap, err);
	}
	capture_free(cap);
	return rc;
}

static int read_file(const char *path, struct event_sink *sink, struct err *err)
{
	struct source *src = NULL;
	int rc = source_file(path, &src, err);

	while (rc >= 0 && (rc = source_step(src, sink, err)) > 0)
		;
	source_free(src);
	return rc;
}

static void list_names(const struct model *m)
{
	static const char *const results[] = {"ok", "none", "again", "intr", "timeout", "failed",
					      "unfinished", "unknown"};
	uint64_t cnt[CALL_RESULT_CNT] = {0};

	for (uint32_t nr = 0; nr < m->calls->nr_cnt; nr++) {
		uint64_t all = 0, ns = 0;

		for (size_t i = 0; i < m->calls->cnt; i++)
			if (m->calls->calls[i].nr == nr) {
				all++;
				ns += m->calls->calls[i].dur_ns;
			}
		if (all)
			printf("%12llu %12.6f s  %s\n", (unsigned long long)all, (double)ns / 1e9,
			       model_call_name(m, nr));
	}
	for (size_t i = 0; i < m->calls->cnt; i++)
		cnt[m->calls->calls[i].result]++;
	for (int i = 0; i < CALL_RESULT_CNT; i++)
		printf("%12llu %s\n", (unsigned long long)cnt[i], results[i]);
	for (size_t i = 0; i < m->note_cnt; i++)
		printf("note: %s\n", m->notes[i]);
}

static void report(const struct model *m, double in_s, double finish_s)
{
	const struct model_calls *c = m->calls;
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	printf("%zu calls of %zu threads, %zu stacks, %llu lost, %llu skipped, %llu dropped, "
	       "window %.6f s, flags %#x, %s\n", c->cnt, m->thread_cnt, m->stack_cnt,
	       (unsigned long long)c->lost_cnt, (unsigned long long)c->skipped_cnt,
	       (unsigned long long)c->dropped_cnt, (double)(c->end_ns - c->begin_ns) / 1e9,
	       c->flags, c->reason);
	printf("in %.3f s, finish %.3f s of CPU: %.2f million calls/s; model %.1f bytes a call, "
	       "process at most %.1f\n", in_s, finish_s, (double)c->cnt / (in_s + finish_s) / 1e6,
	       (double)m->mem_bytes / (double)(c->cnt + 1),
	       (double)use.ru_maxrss * 1024 / (double)(c->cnt + 1));
}

int main(int argc, char **argv)
{
	const char *file = NULL;
	struct err err = {0};
	struct model *m = model_new(NULL);
	struct event_sink sink = model_sink(m);
	uint64_t cnt = 0;
	bool names = false;
	double begin, in;
	int rc = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-g") == 0 && i + 1 < argc)
			cnt = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "-n") == 0)
			names = true;
		else if (strcmp(argv[i], "-o") != 0)
			file = argv[i];
	}
	if (cnt && file)
		rc = write_capture(file, cnt, &err);
	begin = now_s();
	if (rc >= 0)
		rc = file ? read_file(file, &sink, &err) : make(&sink, cnt);
	in = now_s();
	if (rc < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	model_finish(m);
	report(m, in - begin, now_s() - in);
	if (names)
		list_names(m);
	model_free(m);
	return 0;
}
