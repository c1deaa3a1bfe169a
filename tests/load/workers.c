/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workers: a dispatcher reads requests with epoll and puts them on a queue;
 * two workers take them off and spend 50 ms on each (a sleep, as a slow call
 * would).  16 clients, so 14 requests are in the queue at any time.
 * Truth: too few workers; tid[1] and tid[2] are busy all the time, the
 * dispatcher (tid[0]) is idle and nobody waits for work.
 */
#include "load_net.h"

static void handle(struct load_msg *m)
{
	static _Thread_local int known;
	static _Atomic int worker_cnt;

	if (!known) {
		known = ++worker_cnt;
		load.page->tid[known] = load_tid();
	}
	load_sleep_us(50000);
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_serve_pool(load_listen(arg, 128, &load.page->port), 2, handle, NULL);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16 };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("workers", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_await(&load.page->tid[2]);
	load_settle(1000);
	load_ready("pid=%d class=workers culprit_pid=%d culprit_tid=%d|%d dispatcher_tid=%d", pid,
		   pid, load.page->tid[1], load.page->tid[2], load.page->tid[0]);
	load_run();
}
