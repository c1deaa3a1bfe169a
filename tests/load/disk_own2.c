/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk-own, second shape: one thread with kernel AIO: it takes a batch of
 * requests with epoll, submits a 1 MiB O_DIRECT read for each with io_submit,
 * and waits for all of them in io_getevents before it answers.
 * Truth: the disk, saturated by the server itself; the thread (tid[0]) waits
 * in io_getevents (or in io_submit, when the device's queue is full).
 */
#include "load_disk.h"

#include <linux/aio_abi.h>

#define BATCH 64

static const char *path;

static void submit(aio_context_t ctx, int fd, int cnt, void **buf, unsigned *seed)
{
	struct iocb cb[BATCH], *list[BATCH];
	struct io_event done[BATCH];

	for (int i = 0; i < cnt; i++) {
		memset(&cb[i], 0, sizeof(cb[i]));
		cb[i].aio_fildes = (uint32_t)fd;
		cb[i].aio_lio_opcode = IOCB_CMD_PREAD;
		cb[i].aio_buf = (uint64_t)(uintptr_t)buf[i];
		cb[i].aio_nbytes = 1 << 20;
		cb[i].aio_offset = (int64_t)(rand_r(seed) % DISK_MIB) << 20;
		list[i] = &cb[i];
	}
	if (syscall(SYS_io_submit, ctx, (long)cnt, list) != cnt ||
	    syscall(SYS_io_getevents, ctx, (long)cnt, (long)cnt, done, NULL) != cnt)
		load_fail("io_submit, io_getevents");
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port), ep = load_epoll_new(lfd), cnt;
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	struct epoll_event ev[BATCH];
	struct load_task t[BATCH];
	aio_context_t ctx = 0;
	unsigned seed = 1;
	void *buf[BATCH];

	if (fd < 0 || syscall(SYS_io_setup, BATCH, &ctx))
		load_fail("open, io_setup");
	for (int i = 0; i < BATCH; i++)
		if (posix_memalign(&buf[i], 4096, 1 << 20))
			load_fail("posix_memalign");
	load.page->tid[0] = load_tid();
	for (;;) {
		int n = epoll_wait(ep, ev, BATCH, -1);

		cnt = 0;
		for (int i = 0; i < n; i++)
			cnt += load_epoll_turn(ep, lfd, ev[i].data.fd, &t[cnt]);
		if (cnt)
			submit(ctx, fd, cnt, buf, &seed);
		for (int i = 0; i < cnt; i++)
			load_write(t[i].fd, &t[i].m, sizeof(t[i].m));
	}
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 48 };
	char dev[32], name[32];
	pid_t pid;

	load_init(argc, argv, "");
	path = load_path("table.db");
	load_make_file(path, DISK_MIB);
	load_disk_of(path, dev, sizeof(dev), name);
	pid = load_fork("disk_own2", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=disk-own culprit_pid=%d culprit_tid=%d resource=%s", pid, pid,
		   load.page->tid[0], name);
	load_run();
}
