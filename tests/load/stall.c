/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall: a sound server with a thread a connection, each request under one mutex for
 * 20 us.  At each SIGUSR1 to the server a maintenance thread takes the mutex and sleeps
 * with it for 10 s: nobody is answered, then all is sound again.
 * Truth, while it lasts: the mutex's futex, held by the maintenance thread (tid[1]).
 */
#include "load_net.h"

#define STALL_US 10000000

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static void handle(struct load_msg *m)
{
	pthread_mutex_lock(&table_lock);
	load_burn_us(20);
	m->pad[0]++;
	pthread_mutex_unlock(&table_lock);
}

static void *maintain(void *arg)
{
	sigset_t set;
	int sig;

	load.page->tid[1] = load_tid();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	for (;;) {
		if (sigwait(&set, &sig) != 0)
			continue;
		pthread_mutex_lock(&table_lock);
		load_sleep_us(STALL_US);
		pthread_mutex_unlock(&table_lock);
	}
	return arg;
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	load_thread("housekeeper", maintain, NULL);
	load_serve_threads(lfd, handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 8, .think_us = 5000 };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("stall", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_await(&load.page->tid[1]);
	load_settle(1000);
	load_ready("pid=%d class=lock-held culprit_pid=%d culprit_tid=%d resource=futex port=%d",
		   pid, pid, load.page->tid[1], c.to.port);
	load_run();
}
