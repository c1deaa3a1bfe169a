/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Major page faults: one thread touches random pages of a mapped file, one
 * after the other; another drops the file from the page cache every 50 ms.
 * What the first neither runs nor waits for a CPU, it waits in page faults.
 */
#include "load_metric.h"
#include "load_sys.h"

#define FILE_MIB 512

static char *map;
static int fd;

static struct metric metrics[] = {
	{ .name = "fault_wait_time", .slot = 0, .source = METRIC_REST, .resource = load.file },
	{ .name = "block_time", .slot = 0, .source = METRIC_REST },
};

static void *trim(void *arg)
{
	for (;;) {
		load_sleep_us(50000);
		madvise(map, (size_t)FILE_MIB << 20, MADV_DONTNEED);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	return arg;
}

static void child(void *arg)
{
	volatile unsigned sum = 0;
	unsigned seed = 1;

	fd = open(load.file, O_RDONLY | O_CLOEXEC);
	map = fd < 0 ? MAP_FAILED :
		       mmap(NULL, (size_t)FILE_MIB << 20, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		load_fail(load.file);
	madvise(map, (size_t)FILE_MIB << 20, MADV_RANDOM);
	load_thread("trimmer", trim, arg);
	load.page->tid[0] = load_tid();
	for (;;)
		sum += (unsigned char)map[(size_t)rand_r(&seed) % (FILE_MIB * 256u) * 4096];
}

int main(int argc, char **argv)
{
	pid_t pid;

	load_init(argc, argv, "");
	load_make_file(load_path("index.db"), FILE_MIB);
	pid = load_fork("metric_fault", child, NULL);
	metric_run(pid, metrics, sizeof(metrics) / sizeof(metrics[0]));
}
