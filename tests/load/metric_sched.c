/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduling metrics.
 *	steady	burns 30 ms of CPU and sleeps 70 ms of each 100: runtime 0.3,
 *		sleep_time 0.7 (on a machine whose other core is free)
 *	rival	two threads that burn on one and the same core: each runs half
 *		of the time, and is ready but not running the other half
 */
#include "load_duty.h"

static struct metric metrics[] = {
	{ .name = "runtime", .slot = 0, .source = METRIC_RUN },
	{ .name = "sleep_time", .slot = 0, .source = METRIC_REST },
	{ .name = "runtime", .slot = 1, .source = METRIC_RUN, .tol = 0.15 },
	{ .name = "rq_time", .slot = 1, .source = METRIC_RUNQ, .tol = 0.15 },
	{ .name = "rq_time", .slot = 2, .source = METRIC_RUNQ, .tol = 0.15 },
};

static void *steady(void *arg)
{
	load.page->tid[0] = load_tid();
	for (;;) {
		uint64_t end = load_clock_ns(CLOCK_THREAD_CPUTIME_ID) + 30000000;
		uint64_t beat = load_now_ns() / DUTY_BEAT_NS + 1;

		while (load_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
			load_burn_us(100);
		duty_until(beat * DUTY_BEAT_NS);
	}
	return arg;
}

static void *rival(void *arg)
{
	load_pin(1);
	load.page->tid[(intptr_t)arg] = load_tid();
	for (;;)
		load_burn_us(1000);
	return NULL;
}

static void child(void *arg)
{
	load_thread("rival", rival, (void *)1);
	load_thread("rival", rival, (void *)2);
	load_pin(0);
	steady(arg);
}

int main(int argc, char **argv)
{
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("metric_sched", child, NULL);
	metric_run(pid, metrics, sizeof(metrics) / sizeof(metrics[0]));
}
