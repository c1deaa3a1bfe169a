/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock-convoy: a thread a connection, 16 clients; each request takes one mutex
 * twenty times, 40 us of CPU each time and nothing much between.  Nobody holds
 * it for long, but it is nearly always held and everybody queues for it, so
 * that the other cores are of no use.
 * Truth: a convoy on the mutex's futex; no single holder.
 *
 * --sleep: the 40 us are slept, not burnt, so that not even one core is busy.
 */
#include "load_net.h"

static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static int sleeping;

static void handle(struct load_msg *m)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&stats_lock);
		if (sleeping)
			load_sleep_us(40);
		else
			load_burn_us(40);
		m->pad[i % 48]++;
		pthread_mutex_unlock(&stats_lock);
		load_burn_us(2);
	}
}

static void serve(void *arg)
{
	prctl(PR_SET_TIMERSLACK, 1000);
	load_serve_threads(load_listen(arg, 128, &load.page->port), handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16 };
	pid_t pid;

	load_init(argc, argv, "[--sleep]");
	sleeping = load_flag("--sleep");
	pid = load_fork("lock_convoy", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=lock-convoy culprit_pid=%d resource=futex", pid, pid);
	load_run();
}
