/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu-neighbour: an event loop that wants a little over half of one core, and
 * that core is shared with `noisy`, a process of its own with three threads
 * that burn.  The server alone would keep up; so it gets a quarter.
 * Truth: CPU taken by noisy.
 *
 * --all-cpus: nothing is pinned; the server has four workers and noisy is
 * four processes a core.
 */
#include "load_net.h"

static int all_cpus;

static void handle(struct load_msg *m)
{
	load_burn_us(all_cpus ? 1000 : 300);
	m->pad[0]++;
}

static void serve(void *arg)
{
	int lfd;

	if (!all_cpus)
		load_pin(0);
	lfd = load_listen(arg, 128, &load.page->port);
	if (all_cpus)
		load_serve_pool(lfd, 4, handle, NULL);
	load_serve_epoll(lfd, handle);
}

static void *burn(void *arg)
{
	for (;;)
		load_burn_us(1000);
	return arg;
}

static void noisy(void *arg)
{
	if (!all_cpus) {
		load_pin(0);
		load_thread("noisy", burn, arg);
		load_thread("noisy", burn, arg);
	}
	load.page->tid[1] = load_tid();
	burn(arg);
}

static void clients(void *arg)
{
	if (!all_cpus)
		load_pin(1);
	load_clients_main(arg);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 8, .think_us = 3500 };
	long noisy_cnt = 1;
	char culprits[256] = "";
	pid_t pid;

	load_init(argc, argv, "[--all-cpus]");
	all_cpus = load_flag("--all-cpus");
	if (all_cpus) {
		noisy_cnt = 4 * sysconf(_SC_NPROCESSORS_ONLN);
		noisy_cnt = noisy_cnt > 16 ? 16 : noisy_cnt;
		c.think_us = 10000;
	}
	pid = load_fork("cpu_neighbour", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", clients, &c);
	for (int i = 0; i < noisy_cnt; i++)
		snprintf(culprits + strlen(culprits), sizeof(culprits) - strlen(culprits), "%s%d",
			 i ? "|" : "", load_fork("noisy", noisy, NULL));
	load_await(&load.page->tid[1]);
	load_settle(1000);
	load_ready("pid=%d class=cpu-neighbour culprit_pid=%s culprit_comm=noisy resource=cpu",
		   pid, culprits);
	load_run();
}
