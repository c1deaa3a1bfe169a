/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paced: a process for each connection, as rsync or FTP servers have.  Fifteen
 * requests are answered at once; the answer to the sixteenth, the last, is sent in
 * eight parts with pauses of 60 ms in between, by select without descriptors, to
 * keep a limit of bytes a second.
 * Truth: a timer.  The first part of each answer comes at once.
 */
#include <sys/select.h>

#include "load_net.h"

#define PER_CONN 16
#define PARTS 8
#define PAUSE_US 60000

static int say_slowly(int fd, const struct load_msg *m)
{
	size_t len = sizeof(*m) / PARTS;

	for (int i = 0; i < PARTS; i++) {
		struct timeval tv = { .tv_usec = PAUSE_US };

		if (i)
			select(0, NULL, NULL, NULL, &tv);
		if (load_write(fd, (const char *)m + i * len, len))
			return -1;
	}
	return 0;
}

static void serve_one(int fd)
{
	struct load_msg m;

	load_nodelay(fd);
	for (int i = 1; !load_read(fd, &m, sizeof(m)); i++)
		if (i < PER_CONN ? load_write(fd, &m, sizeof(m)) : say_slowly(fd, &m))
			break;
	_exit(0);
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port);

	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve_one(fd);
		}
		close(fd);
	}
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 6, .think_us = 500, .per_conn = PER_CONN };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("paced", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=timer", pid);
	load_run();
}
