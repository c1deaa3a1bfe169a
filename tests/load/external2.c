/* SPDX-License-Identifier: Apache-2.0 */
/*
 * external, second shape: a thread a connection; each holds a connection of
 * its own to the upstream and blocks in recv for 120 ms of each request, with
 * some work of its own before and after.  The upstream lives in another
 * network namespace, so that its address is not one of this host's.
 * Truth: the upstream's address.
 *
 * --select: it waits by select with a limit of 30 ms, as often as it takes, and says
 * that there are 64 descriptors, as Perl does.
 *
 * --pool: a loop hands requests to four workers, which look at their socket, with a
 * limit of five seconds, before they read.
 *
 * --udp: it asks by datagrams, from a socket that is not connected.
 */
#include <poll.h>
#include <stdbool.h>
#include <sys/select.h>

#include "load_net.h"
#include "load_netns.h"

#define WORKERS 4

static struct load_addr upstream_addr;
static bool by_select, by_pool, by_udp;

static void await(int fd)
{
	for (;;) {
		struct timeval tv = { .tv_usec = 30000 };
		fd_set set;

		FD_ZERO(&set);
		FD_SET(fd, &set);
		if (select(64, &set, NULL, NULL, &tv) > 0)
			return;
	}
}

static void answer_late(struct load_msg *m)
{
	load_sleep_us(120000);
	m->pad[1]++;
}

static void *answer_datagrams(void *arg)
{
	struct sockaddr_in who;
	struct load_msg m;

	for (;;) {
		socklen_t len = sizeof(who);

		if (recvfrom(*(int *)arg, &m, sizeof(m), 0, (void *)&who, &len) != sizeof(m))
			load_fail("recvfrom");
		load_sleep_us(120000);
		sendto(*(int *)arg, &m, sizeof(m), 0, (void *)&who, len);
	}
}

/* A thread for each that may ask at a time. */
static void udp_upstream(void)
{
	static int fd;
	struct sockaddr_storage ss;
	socklen_t len = load_sockaddr(&upstream_addr, &ss);

	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || bind(fd, (void *)&ss, len) || getsockname(fd, (void *)&ss, &len))
		load_fail("bind");
	load.page->upstream_port = ntohs(((struct sockaddr_in *)&ss)->sin_port);
	for (int i = 0; i < 15; i++)
		load_thread("upstream", answer_datagrams, &fd);
	answer_datagrams(&fd);
}

static void upstream(void *arg)
{
	load_netns_enter();
	if (by_udp)
		udp_upstream();
	load_serve_threads(load_listen(arg, 128, &load.page->upstream_port), answer_late);
}

static void ask_by_udp(void)
{
	static _Thread_local int up;
	struct load_msg q = { .kind = 1 };
	struct sockaddr_storage ss;
	socklen_t len = load_sockaddr(&upstream_addr, &ss);

	if (!up)
		up = socket(AF_INET, SOCK_DGRAM, 0);
	if (sendto(up, &q, sizeof(q), 0, (void *)&ss, len) != sizeof(q) ||
	    recv(up, &q, sizeof(q), 0) != sizeof(q))
		load_fail("upstream");
}

static void handle(struct load_msg *m)
{
	static _Thread_local int up;
	struct load_msg q = { .kind = 1 };

	m->pad[0]++;
	load_burn_us(200);
	if (by_udp) {
		ask_by_udp();
		return;
	}
	if (!up)
		up = load_connect(&upstream_addr);
	if (send(up, &q, sizeof(q), MSG_NOSIGNAL) != sizeof(q))
		load_fail("upstream");
	if (by_select)
		await(up);
	if (by_pool)
		poll(&(struct pollfd){ .fd = up, .events = POLLIN }, 1, 5000);
	if (recv(up, &q, sizeof(q), MSG_WAITALL) != sizeof(q))
		load_fail("upstream");
	load_burn_us(200);
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port);

	if (by_pool)
		load_serve_pool(lfd, WORKERS, handle, NULL);
	else
		load_serve_threads(lfd, handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16, .think_us = 5000 };
	pid_t pid;

	load_init(argc, argv, "[--select] [--pool] [--udp]");
	by_select = load_flag("--select");
	by_pool = load_flag("--pool");
	by_udp = load_flag("--udp");
	if (by_pool)
		c.conn_cnt = WORKERS;
	upstream_addr.ip = load_netns();
	load_fork("upstream", upstream, &upstream_addr);
	upstream_addr.port = load_await(&load.page->upstream_port);
	pid = load_fork("external2", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=external resource=%s:%d", pid, upstream_addr.ip,
		   upstream_addr.port);
	load_run();
}
