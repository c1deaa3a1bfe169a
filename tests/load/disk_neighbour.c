/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk-neighbour: a thread a connection, 8 clients with a think time of 5 ms;
 * each request reads 16 KiB with O_DIRECT, which alone takes well under a
 * millisecond.  `diskhog`, a process of its own, keeps 48 reads of 1 MiB in
 * flight on the same device.
 * Truth: the disk, taken by diskhog.
 */
#include "load_disk.h"

static struct load_disk disk = { NULL, 16 << 10 }, hog_disk = { NULL, 1 << 20 };
static char hog_path[160];

static void handle(struct load_msg *m)
{
	load_disk_read(&disk);
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_serve_threads(load_listen(arg, 128, &load.page->port), handle);
}

static void *hog(void *arg)
{
	for (;;)
		load_disk_read(&hog_disk);
	return arg;
}

static void diskhog(void *arg)
{
	for (int i = 1; i < 48; i++)
		load_thread("diskhog", hog, arg);
	load.page->tid[1] = load_tid();
	hog(arg);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 8, .think_us = 5000 };
	char dev[32], name[32];
	pid_t pid, hog_pid;

	load_init(argc, argv, "");
	snprintf(hog_path, sizeof(hog_path), "%s", load_path("other.db"));
	hog_disk.path = hog_path;
	load_make_file(hog_disk.path, DISK_MIB);
	disk.path = load_path("table.db");
	load_make_file(disk.path, DISK_MIB);
	load_disk_of(disk.path, dev, sizeof(dev), name);
	pid = load_fork("disk_neighbour", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	hog_pid = load_fork("diskhog", diskhog, NULL);
	load_await(&load.page->tid[1]);
	load_settle(1000);
	load_ready("pid=%d class=disk-neighbour culprit_pid=%d culprit_comm=diskhog resource=%s",
		   pid, hog_pid, name);
	load_run();
}
