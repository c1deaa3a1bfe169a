/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOAD_DUTY_H
#define LOAD_DUTY_H
/*
 * A struct duty is a pair of threads on a beat of 100 ms: the waiter enters
 * its blocking call DUTY_WAIT_MS before the beat, the waker ends it on the
 * beat.  So the waiter waits 0.4 s/s, ten times a second, and sleeps the rest.
 * DUTY_TIME, _COUNT and _WAKES are what load_metric.h then expects of them.
 */
#include "load_metric.h"

#define DUTY_BEAT_NS 100000000ull
#define DUTY_WAIT_MS 40

struct duty {
	const char *name;
	int slot;		/* waiter's tid, and ns in num; waker's and waits in slot + 1 */
	void (*block)(struct duty *d);
	void (*release)(struct duty *d);
	void (*prepare)(struct duty *d);	/* by the waker, prepare_ms after the beat */
	unsigned prepare_ms;
	int fd[2];		/* for pipes, sockets and the like */
	_Atomic uint32_t word[2];
};

/* What a duty's waiter (slot) and waker (slot + 1) are seen to do. */
#define DUTY_TIME(metric, duty_slot, res) { .name = metric, .slot = duty_slot, \
	.source = METRIC_NUM_NS, .num = duty_slot, .expect = 0.4, .resource = res }
#define DUTY_COUNT(metric, duty_slot, res) { .name = metric, .slot = duty_slot, \
	.source = METRIC_NUM, .num = (duty_slot) + 1, .expect = 10, .resource = res }
#define DUTY_WAKES(metric, duty_slot, res) { .name = metric, .slot = (duty_slot) + 1, \
	.source = METRIC_NUM, .num = (duty_slot) + 1, .expect = 10, .resource = res }

LOAD_FN void duty_until(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

LOAD_FN void *duty_waiter(void *arg)
{
	struct duty *d = arg;

	load.page->tid[d->slot] = load_tid();
	for (;;) {
		uint64_t beat = load_now_ns() / DUTY_BEAT_NS + 1;

		duty_until(beat * DUTY_BEAT_NS - DUTY_WAIT_MS * 1000000ull);
		beat = load_now_ns();
		d->block(d);
		load.page->num[d->slot] += load_now_ns() - beat;
		load.page->num[d->slot + 1]++;
	}
	return NULL;
}

LOAD_FN void *duty_waker(void *arg)
{
	struct duty *d = arg;

	load.page->tid[d->slot + 1] = load_tid();
	for (uint64_t beat = load_now_ns() / DUTY_BEAT_NS + 1;; beat++) {
		if (d->prepare) {
			duty_until((beat - 1) * DUTY_BEAT_NS + d->prepare_ms * 1000000ull);
			d->prepare(d);
		}
		duty_until(beat * DUTY_BEAT_NS);
		d->release(d);
	}
	return NULL;
}

LOAD_FN void duty_start(struct duty *d)
{
	prctl(PR_SET_TIMERSLACK, 1000);
	load_thread(d->name, duty_waker, d);
	load_thread(d->name, duty_waiter, d);
}

/* Bytes, for duties over a descriptor: fd[0] is read and fd[1] written. */
LOAD_FN void duty_read(struct duty *d)
{
	char c;

	if (read(d->fd[0], &c, 1) != 1)
		load_fail(d->name);
}

LOAD_FN void duty_write(struct duty *d)
{
	if (write(d->fd[1], "x", 1) != 1)
		load_fail(d->name);
}

#endif /* LOAD_DUTY_H */
