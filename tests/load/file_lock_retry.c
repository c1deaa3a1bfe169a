/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock-held by polling: four forked workers serve a connection at a time; each
 * request needs a lock of a file (fcntl), asks for it without waiting and sleeps
 * 10 ms before it asks again.  `backup`, one more process, keeps it for 300 ms at
 * a time (asleep) and leaves it for 60 ms.  With --flock the lock is flock()'s.
 * Truth: the file, held by backup (culprit_pid).  No call waits for the lock.
 */
#include <stdbool.h>
#include <sys/file.h>

#include "load_net.h"

#define WORKERS 4

static char path[64];
static bool use_flock;

static int lock_op(int fd, bool lock, bool wait)
{
	struct flock l = { .l_type = lock ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET };

	if (use_flock)
		return flock(fd, !lock ? LOCK_UN : wait ? LOCK_EX : LOCK_EX | LOCK_NB);
	return fcntl(fd, wait ? F_SETLKW : F_SETLK, &l);
}

static int data_fd; /* each process opens the file for itself */

static void handle(struct load_msg *m)
{
	(void)m;
	while (lock_op(data_fd, true, false) < 0)
		load_sleep_us(10000);
	load_burn_us(20);
	lock_op(data_fd, false, false);
}

static void data_open(void)
{
	data_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (data_fd < 0)
		load_die("%s: %s", path, strerror(errno));
}

static void backup(void *arg)
{
	(void)arg;
	data_open();
	load.page->tid[1] = load_tid();
	for (;;) {
		lock_op(data_fd, true, true);
		load_sleep_us(300000);
		lock_op(data_fd, false, false);
		load_sleep_us(60000);
	}
}

static void serve(void *arg)
{
	load_serve_forked(load_listen(arg, 128, &load.page->port), WORKERS, data_open, handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = WORKERS, .think_us = 500 };
	pid_t master;

	load_init(argc, argv, "[--flock]");
	use_flock = load_flag("--flock");
	snprintf(path, sizeof(path), "/tmp/heldup-load-lock-%d", getpid());
	master = load_fork("shelf", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("backup", backup, NULL);
	load_fork("client", load_clients_main, &c);
	for (int i = 1; i < 2 + WORKERS; i++)
		load_await(&load.page->tid[i]);
	unlink(path);
	load_settle(1000);
	load_ready("pid=%d class=lock-held culprit_pid=%d resource=heldup-load-lock", master,
		   load.page->tid[1]);
	load_run();
}
