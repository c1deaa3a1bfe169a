/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu-own: a pool of 8 workers whose handlers burn 4 ms of CPU a request, and
 * 16 clients without think time: the load asks for more than the cores give.
 * Truth: CPU, used up by the server's own workers; they are runnable or
 * running nearly all the time and wait for each other's time slices.
 */
#include "load_net.h"

static void handle(struct load_msg *m)
{
	load_burn_us(4000);
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_serve_pool(load_listen(arg, 128, &load.page->port), 8, handle, NULL);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16 };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("cpu_own", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=cpu-own culprit_pid=%d resource=cpu", pid, pid);
	load_run();
}
