/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop-blocked, second shape: an event loop with poll(); now and then a
 * handler runs a helper program, as a CGI or a hook does, and waits for it in
 * waitpid: 250 ms.  The other requests take 20 us but wait for their turn.
 * Truth: the loop's thread (tid[0]) is held up inside one handler, waiting for
 * its child.
 */
#include "load_net.h"
#include <poll.h>

#define CONNS 64

static void run_helper(void)
{
	pid_t pid = fork();

	if (pid < 0)
		load_fail("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "hook");
		load_sleep_us(250000);
		_exit(0);
	}
	if (waitpid(pid, NULL, 0) != pid)
		load_fail("waitpid");
}

static void handle(struct load_msg *m)
{
	if (m->kind)
		run_helper();
	else
		load_burn_us(20);
	m->pad[0]++;
}

static void turn(int fd)
{
	struct load_msg m;

	if (load_read(fd, &m, sizeof(m)))
		load_fail("a client went away");
	handle(&m);
	load_write(fd, &m, sizeof(m));
}

static void serve(void *arg)
{
	struct pollfd p[CONNS] = { { load_listen(arg, 128, &load.page->port), POLLIN, 0 } };
	nfds_t cnt = 1;

	load.page->tid[0] = load_tid();
	for (;;) {
		if (poll(p, cnt, -1) < 0)
			continue;
		for (nfds_t i = 1; i < cnt; i++)
			if (p[i].revents)
				turn(p[i].fd);
		if (p[0].revents && cnt < CONNS) {
			p[cnt].fd = accept4(p[0].fd, NULL, NULL, SOCK_CLOEXEC);
			p[cnt].events = POLLIN;
			load_nodelay(p[cnt++].fd);
		}
	}
}

static uint32_t one_in_50(uint32_t conn, uint64_t seq)
{
	return (seq + conn * 3) % 50 == 7;
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 12, .think_us = 15000, .kind = one_in_50 };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("loop2", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1500);
	load_ready("pid=%d class=loop-blocked culprit_pid=%d culprit_tid=%d", pid, pid,
		   load.page->tid[0]);
	load_run();
}
