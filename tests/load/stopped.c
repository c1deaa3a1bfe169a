/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stopped: a process stops the server for 70 of each 100 ms, and lets it go on.
 * Truth: the stopper.  The server waits for nothing meanwhile.
 */
#include <signal.h>

#include "load_net.h"

#define SETTLE_MS 1000

static void handle(struct load_msg *m)
{
	load_burn_us(20);
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_serve_epoll(load_listen(arg, 128, &load.page->port), handle);
}

static void stopper(void *arg)
{
	pid_t pid = *(pid_t *)arg;

	for (;;) {
		kill(pid, SIGSTOP);
		load_sleep_us(70000);
		kill(pid, SIGCONT);
		load_sleep_us(30000);
	}
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 4, .think_us = 5000 };
	pid_t pid, by;

	load_init(argc, argv, "");
	pid = load_fork("stopped", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	by = load_fork("stopper", stopper, &pid);
	load_settle(SETTLE_MS);
	load_ready("pid=%d class=stopped culprit_pid=%d", pid, by);
	load_run();
}
