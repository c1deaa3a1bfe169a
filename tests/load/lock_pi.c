/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock-held, third shape: a priority-inheritance mutex (FUTEX_LOCK_PI).  Pool
 * workers need it for each request; a sampler thread (tid[1]) holds it 80 ms
 * at a time while it reads a pipe that is filled that late.
 * Truth: the futex, held by the sampler.
 */
#include "load_net.h"

static pthread_mutex_t pi_lock;
static int feed[2];

static void handle(struct load_msg *m)
{
	pthread_mutex_lock(&pi_lock);
	load_burn_us(20);
	m->pad[0]++;
	pthread_mutex_unlock(&pi_lock);
}

static void *sample(void *arg)
{
	char c;

	load.page->tid[1] = load_tid();
	for (;;) {
		pthread_mutex_lock(&pi_lock);
		if (read(feed[0], &c, 1) != 1)
			load_fail("read");
		pthread_mutex_unlock(&pi_lock);
		load_sleep_us(10000);
	}
	return arg;
}

static void *feeder(void *arg)
{
	for (;;) {
		load_sleep_us(90000);
		if (write(feed[1], "x", 1) != 1)
			load_fail("write");
	}
	return arg;
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port);
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	if (pthread_mutex_init(&pi_lock, &attr) || pipe2(feed, O_CLOEXEC))
		load_fail("mutex or pipe");
	load_thread("feeder", feeder, NULL);
	load_thread("sampler", sample, NULL);
	load_serve_pool(lfd, 8, handle, NULL);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 12, .think_us = 1000 };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("lock_pi", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_await(&load.page->tid[1]);
	load_settle(1000);
	load_ready("pid=%d class=lock-held culprit_pid=%d culprit_tid=%d resource=futex", pid, pid,
		   load.page->tid[1]);
	load_run();
}
