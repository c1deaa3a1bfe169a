/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu-own, second shape: one thread, an event loop; each of its requests burns
 * 1 ms of CPU, none of them stands out, and 16 clients without think time keep
 * it running all the time while the other cores idle.
 * Truth: CPU, used up by that one thread (tid[0]).
 */
#include "load_net.h"

static void handle(struct load_msg *m)
{
	load_burn_us(1000);
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_serve_epoll(load_listen(arg, 128, &load.page->port), handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16 };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("cpu_own2", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=cpu-own culprit_pid=%d culprit_tid=%d resource=cpu", pid, pid,
		   load.page->tid[0]);
	load_run();
}
