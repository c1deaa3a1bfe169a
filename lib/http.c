/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

struct asking {
	int fd;
	uint64_t until_ms;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

/* 0 when the socket is ready. */
static int ready(const struct asking *a, short events)
{
	struct pollfd p = {.fd = a->fd, .events = events};

	for (;;) {
		uint64_t now = now_ms();
		int cnt = now >= a->until_ms ? 0 : poll(&p, 1, (int)(a->until_ms - now));

		if (cnt > 0)
			return 0;
		if (cnt == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

static int connect_to(struct asking *a)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list;
	char port[8];
	int err = -ENOENT;
	socklen_t len = sizeof(err);

	snprintf(port, sizeof(port), "%u", settings.port);
	if (getaddrinfo(settings.host, port, &hints, &list))
		return -ENOENT;
	a->fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd < 0)
		err = -errno;
	else if (connect(a->fd, list->ai_addr, list->ai_addrlen) == 0)
		err = 0;
	else if (errno != EINPROGRESS)
		err = -errno;
	else if ((err = ready(a, POLLOUT)) == 0 &&
		 getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0)
		err = -err;
	freeaddrinfo(list);
	return err;
}

static int send_all(const struct asking *a, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = send(a->fd, at, len, MSG_NOSIGNAL);
		int err;

		if (n > 0) {
			at += n;
			len -= (size_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		err = ready(a, POLLOUT);
		if (err)
			return err;
	}
	return 0;
}

/* All until the peer closes: it is asked to. */
static int receive_all(const struct asking *a, struct http_reply *reply)
{
	for (;;) {
		ssize_t n = recv(a->fd, reply->body + reply->len, reply->cap - 1 - reply->len, 0);
		int err;

		if (n > 0) {
			reply->len += (size_t)n;
			if (reply->len == reply->cap - 1)
				return -E2BIG;
			continue;
		}
		if (n == 0)
			break;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		err = ready(a, POLLIN);
		if (err)
			return err;
	}
	reply->body[reply->len] = '\0';
	return 0;
}

/* Leaves the body alone in reply. */
static int reply_parse(struct http_reply *reply)
{
	char *end = strstr(reply->body, "\r\n\r\n");
	char *length = strcasestr(reply->body, "\r\ncontent-length:");
	size_t have;

	if (!end || sscanf(reply->body, "HTTP/1.%*c %3d", &reply->status) != 1)
		return -EBADMSG;
	have = reply->len - (size_t)(end + 4 - reply->body);
	/* an answer that was cut is none */
	if (!length || length > end ||
	    strtoull(length + strlen("\r\ncontent-length:"), NULL, 10) != have)
		return -EBADMSG;
	memmove(reply->body, end + 4, have + 1);
	reply->len = have;
	return 0;
}

int http_ask(const char *method, const char *path, const void *body, size_t len, int wait_ms,
	     struct http_reply *reply)
{
	struct asking a = {.fd = -1, .until_ms = now_ms() + (uint64_t)wait_ms};
	char head[1024];
	int n, err = connect_to(&a);

	reply->len = 0;
	n = snprintf(head, sizeof(head),
		     "%s %s HTTP/1.1\r\nHost: %s:%u\r\nConnection: close\r\n"
		     "Content-Type: application/x-protobuf\r\nContent-Length: %zu\r\n\r\n",
		     method, path, settings.host, settings.port, len);
	if (err == 0 && (n < 0 || (size_t)n >= sizeof(head)))
		err = -E2BIG;
	if (err == 0)
		err = send_all(&a, head, (size_t)n);
	if (err == 0)
		err = send_all(&a, body, len);
	if (err == 0)
		err = receive_all(&a, reply);
	if (a.fd >= 0)
		close(a.fd);
	return err ? err : reply_parse(reply);
}
