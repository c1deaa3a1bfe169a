/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk-limit: the server of disk_neighbour without the neighbour, but in a
 * cgroup that may do 100 reads a second on that device.
 * Truth: the cgroup's I/O limit; the device itself is idle.
 *
 * --fsync: requests append to a log instead, each with fdatasync under one
 * mutex, and the limit is 60 writes a second.
 * Truth: the same limit, though what is seen to wait is a futex and fdatasync.
 */
#include "load_disk.h"

static struct load_disk disk = { NULL, 16 << 10 };
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;

static void handle_read(struct load_msg *m)
{
	load_disk_read(&disk);
	m->pad[0]++;
}

static void handle_append(struct load_msg *m)
{
	pthread_mutex_lock(&log_lock);
	if (write(log_fd, m, sizeof(*m)) != sizeof(*m) || fdatasync(log_fd))
		load_fail("log");
	pthread_mutex_unlock(&log_lock);
}

static void serve(void *arg)
{
	int appending = load_flag("--fsync");

	load_cgroup_enter();
	if (appending) {
		log_fd = open(disk.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (log_fd < 0)
			load_fail(disk.path);
	}
	load_serve_threads(load_listen(arg, 128, &load.page->port),
			   appending ? handle_append : handle_read);
}

static void limit(const char *dev, int appending)
{
	char v[64];

	if (load_cgroup("blkio", "io") == 2) {
		snprintf(v, sizeof(v), "%s %s", dev, appending ? "wiops=60" : "riops=100");
		load_cgroup_set("io.max", v);
		return;
	}
	snprintf(v, sizeof(v), "%s %d", dev, appending ? 60 : 100);
	load_cgroup_set(appending ? "blkio.throttle.write_iops_device" :
				    "blkio.throttle.read_iops_device", v);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 8, .think_us = 5000 };
	char dev[32], name[32];
	int appending;
	pid_t pid;

	load_init(argc, argv, "[--fsync]");
	appending = load_flag("--fsync");
	disk.path = load_path(appending ? "commit.log" : "table.db");
	if (!appending)
		load_make_file(disk.path, DISK_MIB);
	load_disk_of(load.dir, dev, sizeof(dev), name);
	limit(dev, appending);
	pid = load_fork("disk_limit", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=disk-limit resource=%s", pid, name);
	load_run();
}
