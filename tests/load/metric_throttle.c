/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU quota: one thread burns in a cgroup with 20 % of a core.  What it does
 * not run it is held back: 0.8 s/s, if no other process wants that core.
 */
#include "load_metric.h"
#include "load_sys.h"

static struct metric metrics[] = {
	{ .name = "runtime", .slot = 0, .source = METRIC_RUN },
	{ .name = "throttle_wait_time", .slot = 0, .source = METRIC_NOT_RUN, .resource = "cpu" },
};

static void child(void *arg)
{
	(void)arg;
	load_cgroup_enter();
	load.page->tid[0] = load_tid();
	for (;;)
		load_burn_us(1000);
}

int main(int argc, char **argv)
{
	pid_t pid;

	load_init(argc, argv, "");
	if (load_cgroup("cpu", "cpu") == 2) {
		load_cgroup_set("cpu.max", "20000 100000");
	} else {
		load_cgroup_set("cpu.cfs_period_us", "100000");
		load_cgroup_set("cpu.cfs_quota_us", "20000");
	}
	pid = load_fork("metric_throttle", child, NULL);
	metric_run(pid, metrics, sizeof(metrics) / sizeof(metrics[0]));
}
