/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

uint64_t mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void die(const char *what)
{
	perror(what);
	exit(1);
}

int number_arg(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || end == text) {
		fprintf(stderr, "'%s' is no number\n", text);
		exit(2);
	}
	return n;
}

static struct sockaddr_in address(const char *host, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

	if (inet_pton(AF_INET, host, &a.sin_addr) != 1)
		die(host);
	return a;
}

int listen_on(int port)
{
	struct sockaddr_in a = address("127.0.0.1", port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1024))
		die("listen");
	return fd;
}

int accept_on(int fd)
{
	int on = 1, c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	if (c < 0 && errno != EINTR && errno != EAGAIN)
		die("accept");
	if (c >= 0)
		setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return c;
}

int dial(const char *from, int port)
{
	struct sockaddr_in own = address(from ? from : "127.0.0.1", 0);
	struct sockaddr_in a = address("127.0.0.1", port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (from && bind(fd, (struct sockaddr *)&own, sizeof(own)))
		die(from);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)))
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

int port_of(int fd, bool peer)
{
	struct sockaddr_in a = {0};
	socklen_t len = sizeof(a);

	if (peer)
		getpeername(fd, (struct sockaddr *)&a, &len);
	else
		getsockname(fd, (struct sockaddr *)&a, &len);
	return ntohs(a.sin_port);
}

bool conn_fill(struct conn *c)
{
	ssize_t n;

	if (c->len == sizeof(c->buf))
		return false;
	do
		n = recv(c->fd, c->buf + c->len, sizeof(c->buf) - c->len, 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	c->len += n;
	return true;
}

/* Length of the head with its empty line, 0 while it is not whole. */
static size_t head_length(const struct conn *c)
{
	const char *end = memmem(c->buf, c->len, "\r\n\r\n", 4);

	return end ? (size_t)(end - c->buf) + 4 : 0;
}

static const char *header(const struct conn *c, size_t head, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 2; i + len < head; i++)
		if (c->buf[i - 1] == '\n' && !strncasecmp(c->buf + i, name, len))
			return c->buf + i + len;
	return NULL;
}

static bool says_close(const struct conn *c, size_t head)
{
	const char *v = header(c, head, "connection:");

	if (!v)
		return memmem(c->buf, head, "HTTP/1.0", 8) != NULL;
	return !strncasecmp(v + (*v == ' '), "close", 5);
}

static void drop(struct conn *c, size_t len)
{
	c->len -= len;
	memmove(c->buf, c->buf + len, c->len);
}

bool request_take(struct conn *c, struct request *ret_r)
{
	size_t head = head_length(c);

	if (!head)
		return false;
	*ret_r = (struct request){.closing = says_close(c, head)};
	c->buf[head - 1] = 0;	/* sscanf() looks for an end */
	if (sscanf(c->buf, "GET /%11[a-z]/%lu", ret_r->kind, &ret_r->id) != 2)
		snprintf(ret_r->kind, sizeof(ret_r->kind), "none");
	drop(c, head);
	return true;
}

bool answer_take(struct conn *c, bool *ret_closing)
{
	size_t head = head_length(c), body;
	const char *length;

	if (!head)
		return false;
	length = header(c, head, "content-length:");
	body = length ? strtoul(length, NULL, 10) : 0;
	if (c->len < head + body)
		return false;
	*ret_closing = says_close(c, head);
	drop(c, head + body);
	return true;
}

void send_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;		/* the reader of the other end is gone */
		data += n;
		len -= n;
	}
}

void reply_send(int fd, const struct request *r)
{
	char text[128];
	int len = snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n%sContent-Length: 3\r\n\r\nok\n",
			   r->closing ? "Connection: close\r\n" : "");

	send_all(fd, text, len);
}

void call_send(int fd, uint64_t id, int n)
{
	char text[96];
	int len = snprintf(text, sizeof(text),
			   "GET /%lu/%d HTTP/1.1\r\nHost: upstream\r\n\r\n", id, n);

	send_all(fd, text, len);
}

void answer_wait(struct conn *c)
{
	bool closing;

	while (!answer_take(c, &closing))
		if (!conn_fill(c))
			die("the upstream closed");
}

static struct conn *upstream(struct upstreams *u, int i)
{
	struct conn *c = &u->conns[i];

	if (!c->fd)
		c->fd = dial(NULL, u->port);
	return c;
}

void calls_make(struct upstreams *u, const struct request *r)
{
	struct conn *first = upstream(u, 0);

	call_send(first->fd, r->id, 0);
	if (!strcmp(r->kind, "par")) {
		struct conn *second = upstream(u, 1);

		call_send(second->fd, r->id, 1);
		answer_wait(first);
		answer_wait(second);
		return;
	}
	answer_wait(first);
	if (!strcmp(r->kind, "two")) {
		call_send(first->fd, r->id, 1);
		answer_wait(first);
	}
}
