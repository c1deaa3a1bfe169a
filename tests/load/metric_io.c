/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipe and socket metrics, one pair of threads each: 0.4 s/s and 10/s.
 *	pipe	read of a pipe		unix	recv on a unix socket pair
 *	tcp	recv on loopback TCP	accept	accept, with a new connection each time
 *	full	write into a full pipe
 */
#include "load_duty.h"
#include "load_net.h"

static struct load_addr accept_addr;
static char tcp_name[32], accept_name[32];

static void recv_block(struct duty *d)
{
	char c;

	if (recv(d->fd[0], &c, 1, 0) != 1)
		load_fail(d->name);
}

static void send_release(struct duty *d)
{
	if (send(d->fd[1], "x", 1, MSG_NOSIGNAL) != 1)
		load_fail(d->name);
}

static void accept_block(struct duty *d)
{
	int fd = accept4(d->fd[0], NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		load_fail(d->name);
	close(fd);
}

static void accept_release(struct duty *d)
{
	(void)d;
	close(load_connect(&accept_addr));
}

static void full_block(struct duty *d)
{
	static char page[4096];

	if (write(d->fd[1], page, sizeof(page)) != sizeof(page))
		load_fail(d->name);
}

static void full_release(struct duty *d)
{
	char page[4096];

	if (load_read(d->fd[0], page, sizeof(page)))
		load_fail(d->name);
}

static struct duty duties[] = {
	{ .name = "pipe", .slot = 0, .block = duty_read, .release = duty_write },
	{ .name = "tcp", .slot = 2, .block = recv_block, .release = send_release },
	{ .name = "unix", .slot = 4, .block = recv_block, .release = send_release },
	{ .name = "accept", .slot = 6, .block = accept_block, .release = accept_release },
	{ .name = "full", .slot = 8, .block = full_block, .release = full_release },
};

static struct metric metrics[] = {
	DUTY_TIME("pipe_wait_time", 0, "pipe"),
	DUTY_COUNT("pipe_wait_count", 0, "pipe"),
	DUTY_TIME("socket_wait_time", 2, tcp_name),
	DUTY_COUNT("socket_wait_count", 2, tcp_name),
	DUTY_TIME("socket_wait_time", 4, "unix"),
	DUTY_COUNT("socket_wait_count", 4, "unix"),
	DUTY_TIME("socket_wait_time", 6, accept_name),
	DUTY_TIME("pipe_wait_time", 8, "pipe"),
};

static void child(void *arg)
{
	struct load_addr tcp = { 0 };
	_Atomic int port;
	int lfd = load_listen(&tcp, 8, &port);

	(void)arg;
	tcp.port = port;
	duties[1].fd[1] = load_connect(&tcp);
	duties[1].fd[0] = accept4(lfd, NULL, NULL, SOCK_CLOEXEC);
	load.page->port = port;
	duties[3].fd[0] = load_listen(&accept_addr, 8, &load.page->upstream_port);
	accept_addr.port = load.page->upstream_port;
	if (pipe2(duties[0].fd, O_CLOEXEC) || pipe2(duties[4].fd, O_CLOEXEC) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, duties[2].fd))
		load_fail("pipe2, socketpair");
	for (int room = fcntl(duties[4].fd[1], F_GETPIPE_SZ); room > 0; room -= 4096)
		full_block(&duties[4]);
	for (int i = 0; i < 5; i++)
		duty_start(&duties[i]);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("metric_io", child, NULL);
	snprintf(tcp_name, sizeof(tcp_name), "127.0.0.1:%d", load_await(&load.page->port));
	snprintf(accept_name, sizeof(accept_name), "127.0.0.1:%d",
		 load_await(&load.page->upstream_port));
	metric_run(pid, metrics, sizeof(metrics) / sizeof(metrics[0]));
}
