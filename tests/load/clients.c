/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients: a thread a connection, 12 clients; an answer is 1 MiB and is ready
 * at once, but the clients take it in pieces of 32 KiB, one in 25 ms, and
 * the socket buffers are small, so that the server's threads block in send.
 *
 * --slow-writers: requests are 64 bytes and answers too, but a client sends
 * one byte in 20 ms, so that the server's threads wait for the rest of it.
 *
 * Truth: the clients are the slow side; the server is not held up.
 */
#include "load_net.h"

#define ANSWER (1 << 20)
#define PIECE (32 << 10)

static int slow_writers;

static void *serve_conn(void *arg)
{
	static char answer[ANSWER];
	struct load_msg m;
	int fd = (int)(intptr_t)arg;

	while (!load_read(fd, &m, sizeof(m))) {
		load_burn_us(50);
		if (slow_writers ? load_write(fd, &m, sizeof(m)) :
				   load_write(fd, answer, sizeof(answer)))
			break;
	}
	close(fd);
	return NULL;
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port), sndbuf = 64 << 10;

	setsockopt(lfd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	for (;;) {
		int fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		load_nodelay(fd);
		pthread_detach(load_thread("conn", serve_conn, (void *)(intptr_t)fd));
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

		for (size_t i = 0; slow_writers && i < sizeof(m) - 1; i++) {
			load_write(fd, (char *)&m + i, 1);
			load_sleep_us(20000);
		}
		load_write(fd, (char *)&m + (slow_writers ? sizeof(m) - 1 : 0),
			   slow_writers ? 1 : sizeof(m));
		if (slow_writers && load_read(fd, &m, sizeof(m)))
			load_fail("read");
		for (size_t at = 0; !slow_writers && at < ANSWER; at += PIECE) {
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

	load_init(argc, argv, "[--slow-writers]");
	slow_writers = load_flag("--slow-writers");
	pid = load_fork("clients", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(2000);
	load_ready("pid=%d class=clients resource=127.0.0.1:%d", pid, c.to.port);
	load_run();
}
