/* SPDX-License-Identifier: Apache-2.0 */
/*
 * external: an event-loop proxy: each request is passed on to an upstream over
 * a connection of its own and answered when the upstream has answered, 150 ms
 * later.  The upstream lives in another network namespace, behind a veth pair,
 * so that its address is not one of this host's.
 * Truth: the upstream's address, though the proxy's one thread only waits in
 * epoll_wait.
 *
 * --parts: the proxy says the first bytes of each answer at once; the rest is late.
 *
 * --local-sleeper: the upstream is a process of this host that sleeps.
 * Truth: that peer, and what holds it up is a timer.
 */
#include "load_net.h"
#include "load_netns.h"

#define ANSWER_MS 150
#define PART 8

struct pair {
	int client, upstream;
};

static struct load_addr upstream_addr;
static int parts;

static void answer_late(struct load_msg *m)
{
	load_sleep_us(ANSWER_MS * 1000);
	m->pad[1]++;
}

static void upstream(void *arg)
{
	load_netns_enter();
	load_serve_threads(load_listen(arg, 128, &load.page->upstream_port), answer_late);
}

static void watch(int ep, int fd, struct pair *p)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = p };

	/* both fds lead to the pair; which one is ready is found by trying */
	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
		load_fail("epoll_ctl");
}

static void relay(struct pair *p)
{
	int from[2] = { p->client, p->upstream }, to[2] = { p->upstream, p->client };
	struct load_msg m;

	for (int i = 0; i < 2; i++) {
		ssize_t n = recv(from[i], &m, sizeof(m), MSG_DONTWAIT);

		if (n == 0)
			load_fail("a peer closed its connection");
		if (n > 0)
			load_write(to[i], (char *)&m + (parts && i ? PART : 0),
				   (size_t)n - (parts && i ? PART : 0));
		if (n > 0 && parts && !i)
			load_write(p->client, &m, PART);
	}
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port), ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev[32];
	struct pair *p;

	load.page->tid[0] = load_tid();
	watch(ep, lfd, NULL);
	for (;;) {
		int n = epoll_wait(ep, ev, 32, -1);

		for (int i = 0; i < n; i++) {
			if (ev[i].data.ptr) {
				relay(ev[i].data.ptr);
				continue;
			}
			p = malloc(sizeof(*p));
			p->client = accept4(lfd, NULL, NULL, SOCK_CLOEXEC);
			p->upstream = load_connect(&upstream_addr);
			load_nodelay(p->client);
			watch(ep, p->client, p);
			watch(ep, p->upstream, p);
		}
	}
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 24 };
	pid_t pid, up;
	int local;

	load_init(argc, argv, "[--local-sleeper] [--parts]");
	local = load_flag("--local-sleeper");
	parts = load_flag("--parts");
	if (!local)
		upstream_addr.ip = load_netns();
	up = load_fork("upstream", upstream, &upstream_addr);
	upstream_addr.port = load_await(&load.page->upstream_port);
	pid = load_fork("external", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	if (local)
		load_ready("pid=%d class=peer culprit_pid=%d peer_pid=%d peer_held_by=timer "
			   "resource=127.0.0.1:%d", pid, up, up, upstream_addr.port);
	else
		load_ready("pid=%d class=external resource=%s:%d", pid, upstream_addr.ip,
			   upstream_addr.port);
	load_run();
}
