/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct reclaim: one thread in a cgroup of 32 MiB reads a file of 512 MiB
 * through the page cache, over and over, so that nearly each new page has to
 * push an old one out (its own reclaim, by the cgroup's limit).  How long that
 * takes cannot be told from outside; what is known is that it happens: between
 * 0.5 % and all of the thread's time, on the CPU or waiting.
 */
#include "load_metric.h"
#include "load_sys.h"

#define FILE_MIB 512

static void child(void *arg)
{
	char *buf = malloc(1 << 20);
	int fd;

	load_cgroup_enter();
	fd = open(arg, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !buf)
		load_fail(arg);
	load.page->tid[0] = load_tid();
	for (;;) {
		uint64_t t0 = load_now_ns();

		if (read(fd, buf, 1 << 20) <= 0)
			lseek(fd, 0, SEEK_SET);
		load_count(load_now_ns() - t0);
	}
}

int main(int argc, char **argv)
{
	char fails[200];
	long before, v1;
	pid_t pid;

	load_init(argc, argv, "");
	load_make_file(load_path("big.db"), FILE_MIB);
	v1 = load_cgroup("memory", "memory") == 1;
	load_cgroup_set(v1 ? "memory.limit_in_bytes" : "memory.max", "33554432");
	pid = load_fork("metric_reclaim", child, load.file);
	load_await(&load.page->tid[0]);
	snprintf(fails, sizeof(fails), "%s/%s", load.cgroup, v1 ? "memory.failcnt" :
		 "memory.events");
	before = load_read_file(fails, v1 ? NULL : "max");
	load_settle(1500);
	if (load_read_file(fails, v1 ? NULL : "max") <= before)
		load_die("the limit has not been met");
	printf("expect pid=%d tid=%d metric=reclaim_wait_time min=0.005 max=1 resource=memory\n",
	       pid, load.page->tid[0]);
	load_ready("pid=%d metrics=1", pid);
	load_run();
}
