/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu-quota: a pool of four workers that wants about 70 % of a core, in a
 * cgroup with a quota of 20 %.  The cores have room; nobody else burns.
 * Truth: the CPU quota of that cgroup.
 */
#include "load_net.h"
#include "load_sys.h"

static void handle(struct load_msg *m)
{
	load_burn_us(500);
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_cgroup_enter();
	load_serve_pool(load_listen(arg, 128, &load.page->port), 4, handle, NULL);
}

static void limit(void)
{
	if (load_cgroup("cpu", "cpu") == 2) {
		load_cgroup_set("cpu.max", "20000 100000");
		return;
	}
	load_cgroup_set("cpu.cfs_period_us", "100000");
	load_cgroup_set("cpu.cfs_quota_us", "20000");
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 8, .think_us = 5000 };
	pid_t pid;

	load_init(argc, argv, "");
	limit();
	pid = load_fork("cpu_quota", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=cpu-quota resource=%s", pid, strrchr(load.cgroup, '/') + 1);
	load_run();
}
