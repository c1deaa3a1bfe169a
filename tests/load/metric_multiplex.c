/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multiplexing metrics, one pair of threads each: 0.4 s/s and 10/s.
 *	epoll	epoll_wait on two pipes, of which only one is ever written: all
 *		the waiting is for that one (epoll_file_wait)
 *	poll	poll on the same two		select	select on the same two
 */
#include "load_duty.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

static int ep, silent[2];

static void epoll_block(struct duty *d)
{
	struct epoll_event ev;

	if (epoll_wait(ep, &ev, 1, -1) == 1)
		duty_read(d);
}

static void poll_block(struct duty *d)
{
	struct pollfd p[2] = { { silent[0], POLLIN, 0 }, { d->fd[0], POLLIN, 0 } };

	if (poll(p, 2, -1) > 0)
		duty_read(d);
}

static void select_block(struct duty *d)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(silent[0], &set);
	FD_SET(d->fd[0], &set);
	if (select(FD_SETSIZE, &set, NULL, NULL, NULL) > 0)
		duty_read(d);
}

static struct duty duties[] = {
	{ .name = "epoll", .slot = 0, .block = epoll_block, .release = duty_write },
	{ .name = "poll", .slot = 2, .block = poll_block, .release = duty_write },
	{ .name = "select", .slot = 4, .block = select_block, .release = duty_write },
};

static struct metric metrics[] = {
	DUTY_TIME("epoll_wait_time", 0, "epoll"),
	DUTY_COUNT("epoll_wait_count", 0, "epoll"),
	DUTY_TIME("epoll_file_wait", 0, "pipe"),
	DUTY_COUNT("epoll_file_wake_count", 0, "pipe"),
	DUTY_TIME("epoll_file_wait", 2, "pipe"),
	DUTY_TIME("epoll_file_wait", 4, "pipe"),
	DUTY_TIME("poll_wait_time", 2, NULL),
	DUTY_TIME("poll_wait_time", 4, NULL),
};

static void child(void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN };

	(void)arg;
	ep = epoll_create1(EPOLL_CLOEXEC);
	if (ep < 0 || pipe2(silent, O_CLOEXEC))
		load_fail("epoll_create1, pipe2");
	for (int i = 0; i < 3; i++)
		if (pipe2(duties[i].fd, O_CLOEXEC))
			load_fail("pipe2");
	if (epoll_ctl(ep, EPOLL_CTL_ADD, duties[0].fd[0], &ev) ||
	    epoll_ctl(ep, EPOLL_CTL_ADD, silent[0], &ev))
		load_fail("epoll_ctl");
	for (int i = 0; i < 3; i++)
		duty_start(&duties[i]);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("metric_multipl", child, NULL);
	metric_run(pid, metrics, sizeof(metrics) / sizeof(metrics[0]));
}
