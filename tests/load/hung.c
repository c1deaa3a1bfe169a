/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hung: an event-loop proxy with two upstreams.  Eight clients ask for what the
 * first answers within milliseconds, again and again; four asked, before anybody
 * looked, for what the second never answers.
 * Truth: the second, though no event tells of it and requests are answered all the time.
 */
#include "load_net.h"

#define ANSWER_MS 5
#define HUNG_CNT 4

static struct load_addr upstreams[2];

static void answer_soon(struct load_msg *m)
{
	load_sleep_us(ANSWER_MS * 1000);
	m->pad[1]++;
}

static void never_answer(struct load_msg *m)
{
	load_sleep_us(1000 * 1000000ULL);
	m->pad[1]++;
}

static void upstream(void *arg)
{
	int hangs = arg == &upstreams[1];

	load_serve_threads(load_listen(arg, 128, &load.page->upstream_port),
			   hangs ? never_answer : answer_soon);
}

struct pair {
	int client, upstream;
};

static void watch(int ep, int fd, struct pair *p)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = p };

	/* both fds lead to the pair; which one is ready is found by trying */
	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
		load_fail("epoll_ctl");
}

static void relay(int ep, struct pair *p)
{
	struct load_msg m;

	if (recv(p->client, &m, sizeof(m), MSG_DONTWAIT) == sizeof(m)) {
		if (p->upstream < 0) {
			p->upstream = load_connect(&upstreams[m.kind]);
			watch(ep, p->upstream, p);
		}
		load_write(p->upstream, &m, sizeof(m));
	}
	if (p->upstream >= 0 && recv(p->upstream, &m, sizeof(m), MSG_DONTWAIT) == sizeof(m))
		load_write(p->client, &m, sizeof(m));
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port), ep = load_epoll_new(lfd);
	struct epoll_event ev[32];
	struct pair *p;

	for (;;) {
		int n = epoll_wait(ep, ev, 32, -1);

		for (int i = 0; i < n; i++) {
			if (ev[i].data.fd != lfd) {
				relay(ep, ev[i].data.ptr);
				continue;
			}
			p = malloc(sizeof(*p));
			*p = (struct pair){ accept4(lfd, NULL, NULL, SOCK_CLOEXEC), -1 };
			load_nodelay(p->client);
			watch(ep, p->client, p);
		}
	}
}

static uint32_t which(uint32_t conn, uint64_t seq)
{
	(void)seq;
	return conn < HUNG_CNT;
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = HUNG_CNT + 8, .think_us = 5000, .kind = which };
	pid_t pid, up = 0;

	load_init(argc, argv, "");
	for (int i = 0; i < 2; i++) {
		load.page->upstream_port = 0;
		up = load_fork(i ? "hangs" : "upstream", upstream, &upstreams[i]);
		upstreams[i].port = load_await(&load.page->upstream_port);
	}
	pid = load_fork("hung", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1500);
	load_ready("pid=%d class=peer resource=127.0.0.1:%d upstream_pid=%d", pid,
		   upstreams[1].port, up);
	load_run();
}
