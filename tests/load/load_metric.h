/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOAD_METRIC_H
#define LOAD_METRIC_H
/*
 * Known amounts of waiting, to hold the numbers of `heldup metrics` against.
 *
 * A struct metric says what is expected of one thread, and where to read the
 * truth of this run, which is printed four times a second and at the end:
 *
 *	expect pid= tid= metric= expect= tol= resource=	one for each metric
 *	ready pid= metrics=N				after the last of them
 *	stat metric= tid= value= stolen= begin_ns= end_ns=	of CLOCK_MONOTONIC
 *	final metric= tid= value=			at the end, mean since ready
 *
 * Times are in seconds per second, counts per second.  stolen is the share of a
 * CPU that the hypervisor gave to other guests: the kernel's run time of a thread
 * leaves it out, so a METRIC_REST may be that much too large.  load_duty.h has
 * the pairs of threads that most of these programs are made of.
 */
#include <inttypes.h>

#include "load.h"

enum metric_source {
	METRIC_NUM_NS,		/* page->num[num], nanoseconds */
	METRIC_NUM,		/* page->num[num], a count */
	METRIC_RUN,		/* the kernel's run time of the thread */
	METRIC_RUNQ,		/* the kernel's run delay of the thread */
	METRIC_REST,		/* neither: what a thread with one kind of wait has waited */
	METRIC_NOT_RUN,		/* wall time without run time */
};

struct metric {
	const char *name;	/* as in the papers; extras are CLASS_wait_time */
	int slot;		/* page->tid[slot] is the thread */
	enum metric_source source;
	double expect;		/* 0: what the first two seconds show */
	double tol;		/* relative; 0: 0.1 */
	const char *resource;
	int num;
	double start, last;	/* readings, filled in here */
};

static struct metric *metric_list;
static int metric_cnt;
static pid_t metric_pid;
static uint64_t metric_start_ns, metric_last_ns;

/* Cumulative; ns for times. */
LOAD_FN double metric_read(const struct metric *m)
{
	double run = 0, delay = 0, now = (double)load_now_ns();
	char path[64];
	FILE *f;

	if (m->source == METRIC_NUM || m->source == METRIC_NUM_NS)
		return (double)load.page->num[m->num];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", metric_pid,
		 load.page->tid[m->slot]);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%lf %lf", &run, &delay) != 2)
		run = delay = 0;
	if (f)
		fclose(f);
	switch (m->source) {
	case METRIC_RUN:
		return run;
	case METRIC_RUNQ:
		return delay;
	case METRIC_REST:
		return now - run - delay;
	default:
		return now - run;
	}
}

LOAD_FN double metric_rate(const struct metric *m, double diff, uint64_t ns)
{
	return m->source == METRIC_NUM ? diff * 1e9 / (double)ns : diff / (double)ns;
}

LOAD_FN void metric_finals(void)
{
	uint64_t ns = metric_last_ns - metric_start_ns;

	for (int i = 0; ns && i < metric_cnt; i++) {
		const struct metric *m = &metric_list[i];

		printf("final metric=%s tid=%d value=%.4f\n", m->name, load.page->tid[m->slot],
		       metric_rate(m, m->last - m->start, ns));
	}
}

LOAD_FN void metric_expect(struct metric *m, double measured)
{
	printf("expect pid=%d tid=%d metric=%s expect=%.4f tol=%.2f resource=%s\n", metric_pid,
	       load.page->tid[m->slot], m->name, m->expect > 0 ? m->expect : measured,
	       m->tol > 0 ? m->tol : 0.1, m->resource ? m->resource : "-");
}

/* Of all CPUs; 0 where the kernel does not know. */
LOAD_FN double metric_stolen_ns(void)
{
	long long ticks = 0;
	FILE *f = fopen("/proc/stat", "re");

	if (!f || fscanf(f, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &ticks) != 1)
		ticks = 0;
	if (f)
		fclose(f);
	return (double)ticks * 1e9 / (double)sysconf(_SC_CLK_TCK);
}

/* One interval: its rates are printed as what to expect (the first) or as what was. */
LOAD_FN void metric_interval(uint64_t ms, int first)
{
	double stolen = -metric_stolen_ns();
	uint64_t t0 = load_now_ns(), t1;

	for (int i = 0; i < metric_cnt; i++)
		metric_list[i].last = metric_read(&metric_list[i]);
	load_pause_ms(ms);
	t1 = load_now_ns();
	stolen = (stolen + metric_stolen_ns()) / (double)(t1 - t0);
	for (int i = 0; i < metric_cnt; i++) {
		struct metric *m = &metric_list[i];
		double now = metric_read(m), rate = metric_rate(m, now - m->last, t1 - t0);

		m->last = now;
		if (first) {
			m->start = now;
			metric_expect(m, rate);
		} else {
			printf("stat metric=%s tid=%d value=%.4f stolen=%.4f begin_ns=%" PRIu64
			       " end_ns=%" PRIu64 "\n",
			       m->name, load.page->tid[m->slot], rate,
			       m->source == METRIC_REST ? stolen : 0, t0, t1);
		}
	}
	metric_last_ns = t1;
	fflush(stdout);
}

/* Does not return.  Every thread of list has set its tid, or does so within 15 s. */
LOAD_FN __attribute__((noreturn)) void metric_run(pid_t pid, struct metric *list, int cnt)
{
	metric_list = list;
	metric_cnt = cnt;
	metric_pid = pid;
	for (int i = 0; i < cnt; i++)
		load_await(&load.page->tid[list[i].slot]);
	load_settle(500);
	metric_interval(2000, 1);
	metric_start_ns = metric_last_ns;
	if (!load.at_end)	/* else that one calls metric_finals */
		load.at_end = metric_finals;
	load_ready("pid=%d metrics=%d", pid, cnt);
	for (;;)
		metric_interval(250, 0);
}

#endif /* LOAD_METRIC_H */
