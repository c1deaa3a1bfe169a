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

/*
 * Each thread that asks keeps its connection.  One that was kept may have been closed by the
 * other side meanwhile: then the same is asked once more, on a new one.
 */
struct asking {
	int fd;
	uint64_t until_ms;
};

static __thread int kept_fd = -1;

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

/* How long the reply will be, head and all; 0: not known yet. */
static size_t reply_len(const struct http_reply *reply)
{
	const char *end = strstr(reply->body, "\r\n\r\n");
	const char *length = strcasestr(reply->body, "\r\ncontent-length:");

	if (!end || !length || length > end)
		return 0;
	return (size_t)(end + 4 - reply->body) +
	       strtoull(length + strlen("\r\ncontent-length:"), NULL, 10);
}

static int receive_all(const struct asking *a, struct http_reply *reply)
{
	size_t whole = 0;

	while (!whole || reply->len < whole) {
		ssize_t n = recv(a->fd, reply->body + reply->len, reply->cap - 1 - reply->len, 0);
		int err = n < 0 ? -errno : 0;

		if (n == 0 || reply->len + (size_t)(n > 0 ? n : 0) == reply->cap - 1)
			return n ? -E2BIG : -ECONNRESET;
		if (n < 0 && err != -EAGAIN && err != -EINTR)
			return err;
		if (n < 0 && (err = ready(a, POLLIN)) < 0)
			return err;
		if (n > 0) {
			reply->len += (size_t)n;
			reply->body[reply->len] = '\0';
			whole = reply_len(reply);
		}
	}
	return 0;
}

/* Leaves the body alone in reply. */
static int reply_parse(struct http_reply *reply)
{
	char *end = strstr(reply->body, "\r\n\r\n");
	size_t have = reply->len - (size_t)(end + 4 - reply->body);

	if (sscanf(reply->body, "HTTP/1.%*c %3d", &reply->status) != 1)
		return -EBADMSG;
	memmove(reply->body, end + 4, have + 1);
	reply->len = have;
	return 0;
}

/* One question and its reply; the connection is kept where all went well. */
static int exchange(struct asking *a, const char *head, const void *body, size_t len,
		    struct http_reply *reply)
{
	int err = a->fd < 0 ? connect_to(a) : 0;

	reply->len = 0;
	if (err == 0)
		err = send_all(a, head, strlen(head));
	if (err == 0)
		err = send_all(a, body, len);
	if (err == 0)
		err = receive_all(a, reply);
	if (err && a->fd >= 0) {
		close(a->fd);
		a->fd = -1;
	}
	kept_fd = a->fd;
	return err;
}

int http_ask(const char *method, const char *path, const void *body, size_t len, int wait_ms,
	     struct http_reply *reply)
{
	struct asking a = {.fd = kept_fd, .until_ms = now_ms() + (uint64_t)wait_ms};
	bool kept = a.fd >= 0;
	char head[1024];
	int n, err;

	n = snprintf(head, sizeof(head),
		     "%s %s HTTP/1.1\r\nHost: %s:%u\r\n"
		     "Content-Type: application/x-protobuf\r\nContent-Length: %zu\r\n\r\n",
		     method, path, settings.host, settings.port, len);
	if (n < 0 || (size_t)n >= sizeof(head))
		return -E2BIG;
	err = exchange(&a, head, body, len, reply);
	if (err && kept && err != -ETIMEDOUT)
		err = exchange(&a, head, body, len, reply);
	return err ? err : reply_parse(reply);
}

void http_end(void)
{
	if (kept_fd >= 0)
		close(kept_fd);
	kept_fd = -1;
}
