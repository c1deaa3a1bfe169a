/* SPDX-License-Identifier: Apache-2.0 */
/*
 * healthy: an event loop at moderate load.  16 clients with a think time of
 * 10 ms, 50 us of CPU a request: about 1500 requests a second, under a tenth
 * of a core, each answered at once.
 * Truth: no finding.  The loop's epoll_wait is idleness.
 */
#include "load_net.h"

static void handle(struct load_msg *m)
{
	load_burn_us(50);
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_serve_epoll(load_listen(arg, 128, &load.page->port), handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16, .think_us = 10000 };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("healthy", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=healthy", pid);
	load_run();
}
