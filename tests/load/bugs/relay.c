/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay: asks a service, keeps what it said, takes uploads and feeds.  Its
 * bugs: a connect and a read without a limit in time, tries without a pause
 * between them, and two loops that take "no more" or "nothing yet" for data.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame.h"

#define WAIT_MS 200
#define POOL_MAX 8
#define CACHE_CNT 64
#define TRIES 4
#define TRIES_STORM 10000

static struct {
	pthread_mutex_t lock;
	int fds[POOL_MAX], cnt;
	char cache[CACHE_CNT][64];
} relay = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the service behind */

FN static bool socket_ready(int fd, short events, int wait_ms)
{
	struct pollfd p = {.fd = fd, .events = events};

	return poll(&p, 1, wait_ms) == 1;
}

FN static int upstream_connect(int port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	bool wait = bug_on("blocking-connect");
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (wait ? 0 : SOCK_NONBLOCK), 0);
	int error = 0;
	socklen_t len = sizeof(error);

	if (fd < 0)
		die("socket");
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) &&
	    (errno != EINPROGRESS || !socket_ready(fd, POLLOUT, WAIT_MS) ||
	     getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) || error)) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFL, 0);
	return fd;
}

FN static int pool_get(void)
{
	int fd = -1;

	pthread_mutex_lock(&relay.lock);
	if (relay.cnt)
		fd = relay.fds[--relay.cnt];
	pthread_mutex_unlock(&relay.lock);
	return fd >= 0 ? fd : upstream_connect(frame.upstream_port);
}

FN static void pool_put(int fd)
{
	pthread_mutex_lock(&relay.lock);
	if (relay.cnt < POOL_MAX) {
		relay.fds[relay.cnt++] = fd;
		fd = -1;
	}
	pthread_mutex_unlock(&relay.lock);
	if (fd >= 0)
		close(fd);
}

FN static bool upstream_send(int fd)
{
	static const char ask[] = "GET /quote HTTP/1.1\r\nHost: up\r\n\r\n";

	return send(fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL) == (ssize_t)sizeof(ask) - 1;
}

FN static long upstream_read(int fd, char *buf, size_t len)
{
	long got;

	if (!bug_on("blocking-read") && !socket_ready(fd, POLLIN, WAIT_MS))
		return -1;
	got = recv(fd, buf, len - 1, 0);
	buf[got > 0 ? got : 0] = 0;
	return got;
}

FN static long quote_fetch(int fd, char *buf, size_t len)
{
	long got = -1;

	if (fd < 0)
		return -1;
	if (upstream_send(fd))
		got = upstream_read(fd, buf, len);
	if (got > 0)
		pool_put(fd);
	else
		close(fd);
	return got;
}

/* Asks a service that may be away for a while, a few times. */
FN static int backend_reach(int port)
{
	bool storm = bug_on("retry-storm");
	int tries = storm ? TRIES_STORM : TRIES;

	for (int i = 0; i < tries; i++) {
		int fd = upstream_connect(port);

		if (fd >= 0)
			return fd;
		if (!storm)
			usleep(5000 << i);
	}
	return -1;
}

/* ---- what is kept */

FN static void cache_put(unsigned slot, const char *text)
{
	pthread_mutex_lock(&relay.lock);
	snprintf(relay.cache[slot % CACHE_CNT], sizeof(relay.cache[0]), "%.40s", text);
	pthread_mutex_unlock(&relay.lock);
}

FN static void cache_save(void)
{
	char path[256];
	int fd = open(path_in(path, sizeof(path), "cache", 0),
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, relay.cache, sizeof(relay.cache)) < 0)
		die(path);
	close(fd);
}

/* ---- what clients send */

FN static void upload_store(const char *data, size_t len)
{
	char path[256];
	int fd = open(path_in(path, sizeof(path), "upload", 0),
		      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, data, len) < 0)
		die(path);
	close(fd);
}

FN static size_t upload_read(struct request *req, char *buf, size_t len)
{
	size_t got = req->body_len < len ? req->body_len : len;
	size_t want = req->want < len ? req->want : len;

	memcpy(buf, req->body, got);
	while (got < want) {
		ssize_t n = recv(req->fd, buf + got, want - got, 0);

		if (n < 0 || (n == 0 && !bug_on("eof-loop")))
			break;
		got += n;
	}
	return got;
}

/* A feed comes in pieces; what is not there yet is waited for. */
FN static size_t feed_read(struct request *req)
{
	size_t got = req->body_len;
	char buf[512];

	while (got < req->want) {
		ssize_t n = recv(req->fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		if (n > 0)
			got += n;
		else if (!bug_on("eagain-loop") && !socket_ready(req->fd, POLLIN, 5000))
			break;
	}
	return got;
}

/* ---- routes */

FN static void route_quote(struct request *req, struct reply *rep)
{
	char buf[512] = "";
	int fd = strcmp(req->arg, "old") ? pool_get() : upstream_connect(frame.dead_port);

	if (quote_fetch(fd, buf, sizeof(buf)) > 0)
		reply_add(rep, "%.60s\n", buf);
	else
		reply_fail(rep, 502);
	cache_put(req->fd, buf);
}

FN static void route_check(struct request *req, struct reply *rep)
{
	int fd = backend_reach(strcmp(req->arg, "old") ? frame.upstream_port : frame.dead_port);

	if (fd < 0)
		reply_fail(rep, 503);
	else
		close(fd);
}

FN static void route_cached(struct request *req, struct reply *rep)
{
	pthread_mutex_lock(&relay.lock);
	reply_add(rep, "%s\n", relay.cache[(unsigned)req->fd % CACHE_CNT]);
	pthread_mutex_unlock(&relay.lock);
}

FN static void route_save(struct request *req, struct reply *rep)
{
	(void)req;
	cache_save();
	reply_add(rep, "saved\n");
}

FN static void route_upload(struct request *req, struct reply *rep)
{
	char buf[16384];
	size_t got = upload_read(req, buf, sizeof(buf));

	upload_store(buf, got);
	req->close = got < req->want;
	reply_add(rep, "%zu\n", got);
}

FN static void route_feed(struct request *req, struct reply *rep)
{
	reply_add(rep, "%zu\n", feed_read(req));
}

FN static void route_load(struct request *req, struct reply *rep)
{
	char text[128] = "";
	int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);

	(void)req;
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		die("loadavg");
	close(fd);
	reply_add(rep, "%s", text);
}

static const struct route routes[] = {
	{"/quote", route_quote}, {"/check", route_check}, {"/cached", route_cached},
	{"/save", route_save}, {"/upload", route_upload}, {"/feed", route_feed},
	{"/load", route_load}, {NULL, NULL},
};

static const struct bug bugs[] = {
	{"blocking-connect", "upstream_connect", "connect without a limit in time"},
	{"blocking-read", "upstream_read", "read without a limit in time"},
	{"retry-storm", "backend_reach|upstream_connect", "tries without a pause"},
	{"eof-loop", "upload_read", "the end of a stream read again and again"},
	{"eagain-loop", "feed_read", "EAGAIN answered by the next try"},
	{NULL, NULL, NULL},
};

static const struct server server = {.routes = routes, .bugs = bugs};

int main(int argc, char **argv)
{
	return frame_main(argc, argv, &server);
}
