/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk-own: a thread a connection, 48 clients without think time; each request
 * reads 1 MiB at a random place with O_DIRECT.  Nobody else uses the disk.
 * Truth: the disk, saturated by the server itself.
 */
#include "load_disk.h"

static struct load_disk disk = { NULL, 1 << 20 };

static void handle(struct load_msg *m)
{
	load_disk_read(&disk);
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_serve_threads(load_listen(arg, 128, &load.page->port), handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 48 };
	char dev[32], name[32];
	pid_t pid;

	load_init(argc, argv, "");
	disk.path = load_path("table.db");
	load_make_file(disk.path, DISK_MIB);
	load_disk_of(disk.path, dev, sizeof(dev), name);
	pid = load_fork("disk_own", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=disk-own culprit_pid=%d resource=%s", pid, pid, name);
	load_run();
}
