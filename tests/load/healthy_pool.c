/* SPDX-License-Identifier: Apache-2.0 */
/*
 * healthy, second shape: a dispatcher and 16 workers under light load: 8
 * clients with a think time of 20 ms, 200 us of CPU a request.  Workers wait
 * on the queue's condition variable nearly all the time.
 * Truth: no finding.  That futex is an idle pool, not a lock.
 */
#include "load_net.h"

static void handle(struct load_msg *m)
{
	load_burn_us(200);
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_serve_pool(load_listen(arg, 128, &load.page->port), 16, handle, NULL);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 8, .think_us = 20000 };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("healthy_pool", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=healthy", pid);
	load_run();
}
