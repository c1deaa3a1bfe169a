/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock-held: a server with a thread a connection; each request looks something
 * up under one mutex for 20 us.  A maintenance thread takes the same mutex for
 * 200 ms at a time (it sleeps inside, as a checkpoint that waits for a timer),
 * leaves it for 50 ms, and takes it again.
 * Truth: the mutex's futex, held by the maintenance thread (tid[1]).
 */
#include "load_net.h"

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
	load.page->tid[1] = load_tid();
	for (;;) {
		pthread_mutex_lock(&table_lock);
		load_sleep_us(200000);
		pthread_mutex_unlock(&table_lock);
		load_sleep_us(50000);
	}
	return arg;
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port);

	load_thread("housekeeper", maintain, NULL);
	load_serve_threads(lfd, handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16, .think_us = 2000 };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("lock_held", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_await(&load.page->tid[1]);
	load_settle(1000);
	load_ready("pid=%d class=lock-held culprit_pid=%d culprit_tid=%d resource=futex",
		   pid, pid, load.page->tid[1]);
	load_run();
}
