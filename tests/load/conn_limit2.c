/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn-limit, second shape: an event-loop proxy with at most two connections
 * to its upstream.  Requests over that limit wait in a list inside the proxy,
 * where no system call shows them; its one thread is in epoll_wait nearly all
 * the time.  The upstream answers within 10 ms and would take 32 at once.
 * Truth: the limit of two connections to the upstream; not the upstream.
 */
#include "load_net.h"

#define CAP 2
#define PENDING 256

static struct load_addr upstream_addr;
static struct load_task pending[PENDING];
static unsigned head, tail;
static struct load_link {
	int fd, client;		/* client -1: free */
} links[CAP];

static void answer_10ms(struct load_msg *m)
{
	load_sleep_us(10000);
	m->pad[0]++;
}

static void upstream(void *arg)
{
	load_serve_threads(load_listen(arg, 128, &load.page->upstream_port), answer_10ms);
}

static void send_pending(void)
{
	for (int i = 0; i < CAP && head != tail; i++) {
		struct load_task *t = &pending[tail % PENDING];

		if (links[i].client >= 0)
			continue;
		links[i].client = t->fd;
		load_write(links[i].fd, &t->m, sizeof(t->m));
		tail++;
	}
}

/* 1 when fd was one of ours to the upstream. */
static int from_upstream(int fd)
{
	struct load_msg m;

	for (int i = 0; i < CAP; i++) {
		if (links[i].fd != fd)
			continue;
		if (load_read(fd, &m, sizeof(m)))
			load_fail("upstream");
		load_write(links[i].client, &m, sizeof(m));
		links[i].client = -1;
		return 1;
	}
	return 0;
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port), ep = load_epoll_new(lfd);
	struct epoll_event ev[32];
	struct load_task t;

	for (int i = 0; i < CAP; i++) {
		links[i] = (struct load_link){ load_connect(&upstream_addr), -1 };
		load_epoll_add(ep, links[i].fd);
	}
	load.page->tid[0] = load_tid();
	for (;;) {
		int n = epoll_wait(ep, ev, 32, -1);

		for (int i = 0; i < n; i++)
			if (!from_upstream(ev[i].data.fd) &&
			    load_epoll_turn(ep, lfd, ev[i].data.fd, &t) && head - tail < PENDING)
				pending[head++ % PENDING] = t;
		send_pending();
	}
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 32 };
	pid_t pid, up;

	load_init(argc, argv, "");
	up = load_fork("upstream", upstream, &upstream_addr);
	upstream_addr.port = load_await(&load.page->upstream_port);
	pid = load_fork("conn_limit2", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=conn-limit culprit_pid=%d culprit_tid=%d upstream_pid=%d "
		   "resource=127.0.0.1:%d", pid, pid, load.page->tid[0], up, upstream_addr.port);
	load_run();
}
