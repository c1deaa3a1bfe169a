/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOAD_NET_H
#define LOAD_NET_H
/*
 * Request and response over stream sockets: fixed messages of 64 bytes, the
 * clients: one process, one thread a connection, each with one request in
 * flight.  The servers
 * are in load_serve.h.
 */
#include "load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

struct load_msg {
	uint32_t kind;
	uint32_t conn;
	uint64_t seq;
	uint8_t pad[48];
};

typedef void (*load_handler)(struct load_msg *m);

struct load_addr {
	const char *ip;		/* NULL: 127.0.0.1 */
	const char *unix_path;	/* when set, ip and port are not used */
	int port;
};

struct load_clients {
	struct load_addr to;
	int conn_cnt;
	unsigned think_us;	/* between answer and next request */
	int per_conn;		/* requests before it reconnects; 0: never */
	uint32_t (*kind)(uint32_t conn, uint64_t seq);
	void (*session)(struct load_clients *c, uint32_t conn);	/* replaces the usual one */
	_Atomic uint32_t next_conn;
};

LOAD_FN int load_read(int fd, void *buf, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = read(fd, (char *)buf + at, len - at);

		if (n == 0 || (n < 0 && errno != EINTR))
			return -1;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

LOAD_FN int load_write(int fd, const void *buf, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, (const char *)buf + at, len - at);

		if (n < 0 && errno != EINTR)
			return -1;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

LOAD_FN socklen_t load_sockaddr(const struct load_addr *a, struct sockaddr_storage *ret_ss)
{
	memset(ret_ss, 0, sizeof(*ret_ss));
	if (a->unix_path) {
		struct sockaddr_un *un = (struct sockaddr_un *)ret_ss;

		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, sizeof(un->sun_path), "%s", a->unix_path);
		return sizeof(*un);
	}
	struct sockaddr_in *in = (struct sockaddr_in *)ret_ss;

	in->sin_family = AF_INET;
	in->sin_port = htons((uint16_t)a->port);
	inet_pton(AF_INET, a->ip ? a->ip : "127.0.0.1", &in->sin_addr);
	return sizeof(*in);
}

/* Listening socket; an ephemeral port is put into *ret_port, which tells the supervisor. */
LOAD_FN int load_listen(const struct load_addr *a, int backlog, _Atomic int *ret_port)
{
	struct sockaddr_storage ss;
	socklen_t len = load_sockaddr(a, &ss);
	int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		load_fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&ss, len) || listen(fd, backlog))
		load_fail("bind, listen");
	if (ret_port) {
		len = sizeof(ss);
		if (!a->unix_path && getsockname(fd, (struct sockaddr *)&ss, &len))
			load_fail("getsockname");
		*ret_port = a->unix_path ? 1 : ntohs(((struct sockaddr_in *)&ss)->sin_port);
	}
	return fd;
}

LOAD_FN void load_nodelay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

LOAD_FN int load_connect(const struct load_addr *a)
{
	struct sockaddr_storage ss;
	socklen_t len = load_sockaddr(a, &ss);

	for (;;) {
		int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			load_fail("socket");
		if (!connect(fd, (struct sockaddr *)&ss, len)) {
			if (!a->unix_path)
				load_nodelay(fd);
			return fd;
		}
		close(fd);
		load_sleep_us(20000);
	}
}

LOAD_FN int load_call(int fd, struct load_msg *m)
{
	return load_write(fd, m, sizeof(*m)) || load_read(fd, m, sizeof(*m)) ? -1 : 0;
}

LOAD_FN void load_session(struct load_clients *c, uint32_t conn)
{
	struct load_msg m = { .conn = conn };
	int fd = -1, left = 0;

	for (uint64_t seq = 0;; seq++) {
		uint64_t t0 = load_now_ns();

		if (fd < 0) {
			fd = load_connect(&c->to);
			left = c->per_conn;
		}
		m.kind = c->kind ? c->kind(conn, seq) : 0;
		m.seq = seq;
		if (load_call(fd, &m) == 0)
			load_count(load_now_ns() - t0);
		else
			left = 1;
		if (left && --left == 0) {
			close(fd);
			fd = -1;
		}
		if (c->think_us)
			load_sleep_us(c->think_us);
	}
}

LOAD_FN void *load_client_thread(void *arg)
{
	struct load_clients *c = arg;

	(c->session ? c->session : load_session)(c, c->next_conn++);
	return NULL;
}

/* The clients' process: load_fork("client", load_clients_main, &clients). */
LOAD_FN void load_clients_main(void *arg)
{
	struct load_clients *c = arg;

	prctl(PR_SET_TIMERSLACK, 1000);
	for (int i = 1; i < c->conn_cnt; i++)
		load_thread("client", load_client_thread, c);
	load_client_thread(c);
}

#include "load_serve.h"

#endif /* LOAD_NET_H */
