/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disk metrics.
 *	reader	reads 64 KiB with O_DIRECT, one after the other: what it neither
 *		runs nor waits for a CPU, it waits for the disk (block_time,
 *		iowait_time), at 128 sectors a read (sector_count)
 *	syncer	writes a page and calls fdatasync, one after the other
 */
#include "load_metric.h"
#include "load_disk.h"

static char disk_name[32], read_path[160], sync_path[160];
static struct load_disk disk = { read_path, 64 << 10 };

static struct metric metrics[] = {
	{ .name = "block_time", .slot = 0, .source = METRIC_REST },
	{ .name = "iowait_time", .slot = 0, .source = METRIC_REST },
	{ .name = "file_wait_time", .slot = 0, .source = METRIC_REST, .resource = read_path },
	{ .name = "sector_count", .slot = 0, .source = METRIC_NUM, .tol = 0.2,
	  .resource = disk_name },
	{ .name = "block_time", .slot = 1, .source = METRIC_REST },
	{ .name = "fsync_wait_time", .slot = 1, .source = METRIC_REST, .tol = 0.2,
	  .resource = sync_path },
};

static void *reader(void *arg)
{
	load.page->tid[0] = load_tid();
	for (;;) {
		load_disk_read(&disk);
		load.page->num[0] += disk.block / 512;
	}
	return arg;
}

static void *syncer(void *arg)
{
	int fd = open(sync_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char page[4096];

	if (fd < 0)
		load_fail(sync_path);
	memset(page, 1, sizeof(page));
	load.page->tid[1] = load_tid();
	for (unsigned i = 0;; i++)
		if (pwrite(fd, page, sizeof(page), (off_t)(i % 1024) * 4096) < 0 || fdatasync(fd))
			load_fail("fdatasync");
	return arg;
}

static void child(void *arg)
{
	load_thread("syncer", syncer, arg);
	reader(arg);
}

int main(int argc, char **argv)
{
	char dev[32];
	pid_t pid;

	load_init(argc, argv, "");
	snprintf(sync_path, sizeof(sync_path), "%s", load_path("sync.log"));
	snprintf(read_path, sizeof(read_path), "%s", load_path("table.db"));
	load_make_file(read_path, DISK_MIB);
	load_disk_of(load.dir, dev, sizeof(dev), disk_name);
	pid = load_fork("metric_disk", child, NULL);
	metric_run(pid, metrics, sizeof(metrics) / sizeof(metrics[0]));
}
