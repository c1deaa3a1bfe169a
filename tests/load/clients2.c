/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients, second shape: one event loop with non-blocking sockets; what does
 * not fit into a socket is kept and sent when epoll says so (EPOLLOUT).  The
 * 12 clients take answers of 1 MiB at 32 KiB in 25 ms, so the send queues are
 * full and the loop waits in epoll_wait.
 * Truth: the clients are the slow side; as the server itself is not held up,
 * `healthy` is right too.
 */
#include "load_net.h"

#define ANSWER (1 << 20)
#define PIECE (32 << 10)
#define CONNS 64

struct out {
	int fd;
	size_t left;
};

static char answer[ANSWER];

static void flush_out(int ep, struct out *o)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = o };

	while (o->left) {
		ssize_t n = send(o->fd, answer + ANSWER - o->left, o->left, MSG_DONTWAIT);

		if (n < 0)
			break;
		o->left -= (size_t)n;
	}
	ev.events = o->left ? EPOLLOUT : EPOLLIN;
	epoll_ctl(ep, EPOLL_CTL_MOD, o->fd, &ev);
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port), ep = epoll_create1(EPOLL_CLOEXEC);
	static struct out outs[CONNS], listener;
	struct epoll_event ev[32], add = { .events = EPOLLIN, .data.ptr = &listener };
	int cnt = 0, sndbuf = 64 << 10;
	struct load_msg m;

	setsockopt(lfd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	epoll_ctl(ep, EPOLL_CTL_ADD, lfd, &add);
	for (;;) {
		int n = epoll_wait(ep, ev, 32, -1);

		for (int i = 0; i < n; i++) {
			struct out *o = ev[i].data.ptr;

			if (o == &listener && cnt < CONNS) {
				outs[cnt].fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC);
				add.data.ptr = &outs[cnt];
				epoll_ctl(ep, EPOLL_CTL_ADD, outs[cnt++].fd, &add);
				continue;
			}
			if (!o->left && !load_read(o->fd, &m, sizeof(m)))
				o->left = ANSWER;
			flush_out(ep, o);
		}
	}
}

static void session(struct load_clients *c, uint32_t conn)
{
	struct load_msg m = { .conn = conn };
	int fd = load_connect(&c->to), small = 65536;
	char *piece = malloc(PIECE);

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	for (;;) {
		uint64_t t0 = load_now_ns();

		load_write(fd, &m, sizeof(m));
		for (size_t at = 0; at < ANSWER; at += PIECE) {
			load_sleep_us(25000);
			if (load_read(fd, piece, PIECE))
				load_fail("read");
		}
		load_count(load_now_ns() - t0);
	}
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 12, .session = session };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("clients2", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(2000);
	load_ready("pid=%d class=clients|healthy resource=127.0.0.1:%d", pid, c.to.port);
	load_run();
}
