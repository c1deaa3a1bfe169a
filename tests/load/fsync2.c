/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsync, second shape: one event loop that appends to its log and calls
 * fdatasync itself before it answers each request, as a store does that must
 * not lose a write.  Every request does so, none stands out.
 * Truth: fdatasync of the log, by the loop's thread (tid[0]).
 */
#include "load_net.h"
#include "load_sys.h"

#define RECORD (32 * 1024)
#define LOG_BYTES (64 << 20)

static int fd;

static void handle(struct load_msg *m)
{
	static char record[RECORD];
	static off_t at;

	if (at >= LOG_BYTES) {
		if (ftruncate(fd, 0))
			load_fail("ftruncate");
		at = 0;
	}
	memset(record, (int)m->seq, sizeof(record));
	if (pwrite(fd, record, sizeof(record), at) != sizeof(record) || fdatasync(fd))
		load_fail("log");
	at += (off_t)sizeof(record);
	m->pad[0]++;
}

static void serve(void *arg)
{
	fd = open(load.file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		load_fail(load.file);
	load_serve_epoll(load_listen(arg, 128, &load.page->port), handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16 };
	pid_t pid;

	load_init(argc, argv, "");
	load_path("append.aof");
	pid = load_fork("fsync2", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=fsync culprit_pid=%d culprit_tid=%d resource=%s", pid, pid,
		   load.page->tid[0], load.file);
	load_run();
}
