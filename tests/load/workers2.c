/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workers, second shape: processes instead of threads.  A master reads the
 * requests with epoll and writes them into one pipe; two worker processes read
 * that pipe, spend 40 ms on each (a sleep) and answer through another pipe.
 * Watch the master; its children are part of the server.
 * Truth: too few workers; culprit_pid lists the two, busy all the time.
 */
#include "load_net.h"

static int tasks[2], answers[2];

static void work(intptr_t nth)
{
	struct load_task t;

	load.page->tid[1 + nth] = load_tid();
	while (!load_read(tasks[0], &t, sizeof(t))) {
		load_sleep_us(40000);
		t.m.pad[0]++;
		if (load_write(answers[1], &t, sizeof(t)))
			break;
	}
}

static void start_workers(void)
{
	pid_t master = getpid();

	for (intptr_t i = 0; i < 2; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == master)
			work(i);
		_exit(0);
	}
}

static void serve(void *arg)
{
	struct epoll_event ev[32];
	struct load_task t;
	int ep, lfd;

	if (pipe2(tasks, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		load_fail("pipe2");
	start_workers();
	lfd = load_listen(arg, 128, &load.page->port);
	ep = load_epoll_new(lfd);
	load_epoll_add(ep, answers[0]);
	for (;;) {
		int n = epoll_wait(ep, ev, 32, -1);

		for (int i = 0; i < n; i++) {
			if (ev[i].data.fd == answers[0]) {
				if (load_read(answers[0], &t, sizeof(t)))
					load_fail("answers");
				load_write(t.fd, &t.m, sizeof(t.m));
			} else if (load_epoll_turn(ep, lfd, ev[i].data.fd, &t)) {
				load_write(tasks[1], &t, sizeof(t));
			}
		}
	}
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16 };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("workers2", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_await(&load.page->tid[1]);
	load_await(&load.page->tid[2]);
	load_settle(1000);
	load_ready("pid=%d class=workers culprit_pid=%d|%d culprit_tid=%d|%d", pid,
		   load.page->tid[1], load.page->tid[2], load.page->tid[1], load.page->tid[2]);
	load_run();
}
