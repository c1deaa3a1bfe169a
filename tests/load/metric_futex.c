/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Futex metrics, one pair of threads for each way to wait: 0.4 s/s and 10/s on
 * one key, 10 wakes/s by the waker.
 *	wait	FUTEX_WAIT, FUTEX_WAKE
 *	pi	a priority-inheritance mutex (FUTEX_LOCK_PI)
 *	requeue	FUTEX_WAIT on one key, FUTEX_CMP_REQUEUE to another 20 ms before
 *		the wake, FUTEX_WAKE there
 *	waitv	futex_waitv of two words		(left out where the kernel
 *	futex2	the futex_wait and futex_wake calls	 has no such calls)
 */
#include "load_duty.h"

#include <linux/futex.h>

#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAKE 454
#define NR_FUTEX_WAIT 455
#define F2_FLAGS (2 | 128)	/* 32-bit word, private */

struct waitv {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

static pthread_mutex_t pi_lock;

static long futex(_Atomic uint32_t *word, int op, uint32_t val, long val2, _Atomic uint32_t *to,
		  uint32_t val3)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, val, val2, to, val3);
}

static void wait_block(struct duty *d)
{
	futex(&d->word[0], FUTEX_WAIT, d->word[0], 0, NULL, 0);
}

static void wait_release(struct duty *d)
{
	d->word[0]++;
	futex(&d->word[0], FUTEX_WAKE, 1, 0, NULL, 0);
}

static void requeue_prepare(struct duty *d)
{
	futex(&d->word[0], FUTEX_CMP_REQUEUE, 0, 1, &d->word[1], d->word[0]);
}

static void requeue_release(struct duty *d)
{
	d->word[0]++;
	futex(&d->word[1], FUTEX_WAKE, 1, 0, NULL, 0);
}

static void pi_block(struct duty *d)
{
	(void)d;
	pthread_mutex_lock(&pi_lock);
	pthread_mutex_unlock(&pi_lock);
}

static void pi_prepare(struct duty *d)
{
	(void)d;
	pthread_mutex_lock(&pi_lock);
}

static void pi_release(struct duty *d)
{
	(void)d;
	pthread_mutex_unlock(&pi_lock);
}

static void waitv_block(struct duty *d)
{
	struct waitv w[2];

	for (int i = 0; i < 2; i++)
		w[i] = (struct waitv){ d->word[i], (uint64_t)(uintptr_t)&d->word[i], F2_FLAGS, 0 };
	syscall(NR_FUTEX_WAITV, w, 2, 0, NULL, CLOCK_MONOTONIC);
}

static void futex2_block(struct duty *d)
{
	syscall(NR_FUTEX_WAIT, &d->word[0], (unsigned long)d->word[0], ~0u, F2_FLAGS, NULL,
		CLOCK_MONOTONIC);
}

static void futex2_release(struct duty *d)
{
	d->word[0]++;
	syscall(NR_FUTEX_WAKE, &d->word[0], ~0u, 1, F2_FLAGS);
}

static struct duty duties[] = {
	{ .name = "wait", .slot = 0, .block = wait_block, .release = wait_release },
	{ .name = "pi", .slot = 2, .block = pi_block, .release = pi_release,
	  .prepare = pi_prepare, .prepare_ms = 30 },
	{ .name = "requeue", .slot = 4, .block = wait_block, .release = requeue_release,
	  .prepare = requeue_prepare, .prepare_ms = 80 },
	{ .name = "waitv", .slot = 6, .block = waitv_block, .release = wait_release },
	{ .name = "futex2", .slot = 8, .block = futex2_block, .release = futex2_release },
};

static struct metric metrics[] = {
	DUTY_TIME("futex_wait_time", 0, "futex"),
	DUTY_COUNT("futex_wait_count", 0, "futex"),
	DUTY_WAKES("futex_wake_count", 0, "futex"),
	DUTY_TIME("futex_wait_time", 2, "futex"),
	DUTY_TIME("futex_wait_time", 4, "futex"),
	DUTY_TIME("futex_wait_time", 6, "futex"),
	DUTY_TIME("futex_wait_time", 8, "futex"),
};

static void child(void *arg)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&pi_lock, &attr);
	for (int i = 0; i < *(int *)arg; i++)
		duty_start(&duties[i]);
	for (;;)
		pause();
}

/* The calls are probed with a bad argument: a kernel that has them does not say ENOSYS. */
static int duty_cnt_here(void)
{
	if (syscall(NR_FUTEX_WAITV, NULL, 0, 0, NULL, 0) < 0 && errno == ENOSYS)
		return 3;
	return syscall(NR_FUTEX_WAKE, NULL, 0, 0, ~0u) < 0 && errno == ENOSYS ? 4 : 5;
}

int main(int argc, char **argv)
{
	int duty_cnt;
	pid_t pid;

	load_init(argc, argv, "");
	duty_cnt = duty_cnt_here();
	for (int i = duty_cnt; i < 5; i++)
		printf("unseen %s: this kernel has no such call\n", duties[i].name);
	pid = load_fork("metric_futex", child, &duty_cnt);
	metric_run(pid, metrics, 7 - (5 - duty_cnt));
}
