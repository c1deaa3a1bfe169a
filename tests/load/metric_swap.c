/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Swap: one thread touches random pages of 64 MiB of its own memory in a
 * cgroup of 24 MiB.  What it neither runs nor waits for a CPU, it waits for
 * pages to come back (page faults) or to go out (reclaim).  Skipped where
 * there is no swap.
 *
 * --make-swap: makes a swap file of 128 MiB for the time of the run.
 */
#include "load_metric.h"
#include "load_sys.h"

#include <sys/swap.h>

#define OWN_MIB 64

static char swap_path[160];

static struct metric metrics[] = {
	{ .name = "fault_wait_time", .slot = 0, .source = METRIC_REST, .tol = 0.25,
	  .resource = "memory" },
};

static void child(void *arg)
{
	unsigned seed = 1;
	char *own;

	(void)arg;
	load_cgroup_enter();
	own = mmap(NULL, (size_t)OWN_MIB << 20, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (own == MAP_FAILED)
		load_fail("mmap");
	memset(own, 1, (size_t)OWN_MIB << 20);
	load.page->tid[0] = load_tid();
	for (;;)
		own[(size_t)rand_r(&seed) % (OWN_MIB * 256u) * 4096]++;
}

static void swap_off(void)
{
	metric_finals();
	if (swap_path[0])
		swapoff(swap_path);
}

static void make_swap(void)
{
	static union { char bytes[4096]; uint32_t words[1024]; } head;
	const char *path = load_path("swap");
	int fd;

	load_make_file(path, 128);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	head.words[256] = 1;			/* version, then the last page */
	head.words[257] = (128u << 20) / 4096 - 1;
	memcpy(head.bytes + sizeof(head) - 10, "SWAPSPACE2", 10);
	if (fd < 0 || write(fd, &head, sizeof(head)) != sizeof(head) || fsync(fd) || close(fd))
		load_die("%s: %s", path, strerror(errno));
	if (swapon(path, 0))
		load_skip("swapon is not allowed here");
	snprintf(swap_path, sizeof(swap_path), "%s", path);
}

int main(int argc, char **argv)
{
	pid_t pid;
	int v1;

	load_init(argc, argv, "[--make-swap]");
	load.at_end = swap_off;
	if (load_flag("--make-swap"))
		make_swap();
	if (load_read_file("/proc/meminfo", "SwapTotal:") <= 0)
		load_skip("no swap (--make-swap makes some)");
	v1 = load_cgroup("memory", "memory") == 1;
	load_cgroup_set(v1 ? "memory.limit_in_bytes" : "memory.max", "25165824");
	pid = load_fork("metric_swap", child, NULL);
	metric_run(pid, metrics, sizeof(metrics) / sizeof(metrics[0]));
}
