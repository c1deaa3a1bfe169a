/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream PORT LOG MIN_MS MAX_MS: answers `GET /ID/N` after a random delay.
 *
 * At SIGTERM it writes LOG, a line for each answer: ID N PEER_PORT RECEIVED_NS ANSWERED_NS,
 * CLOCK_MONOTONIC.  Both times are inside of the caller's [send, receive].  One exchange at a
 * time on a connection.
 */
#include "common.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CONN_MAX = 4096 };

struct exchange {
	struct conn conn;
	uint64_t id, received_ns, due_ns;	/* due_ns 0: nothing to answer */
	int n, port;
	bool closing;
};

struct line {
	uint64_t id, received_ns, answered_ns;
	int n, port;
};

static struct exchange *conns[CONN_MAX];	/* by descriptor */
static struct line *lines;
static size_t line_cnt, line_room;
static volatile sig_atomic_t ended;

static void on_end(int sig)
{
	(void)sig;
	ended = 1;
}

static void line_add(const struct exchange *x, uint64_t now)
{
	if (line_cnt == line_room) {
		line_room = line_room ? 2 * line_room : 4096;
		lines = realloc(lines, line_room * sizeof(*lines));
		if (!lines)
			die("realloc");
	}
	lines[line_cnt++] = (struct line){x->id, x->received_ns, now, x->n, x->port};
}

static void lines_write(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		die(path);
	for (size_t i = 0; i < line_cnt; i++)
		fprintf(f, "%lu %d %d %lu %lu\n", lines[i].id, lines[i].n, lines[i].port,
			lines[i].received_ns, lines[i].answered_ns);
	if (fclose(f))
		die(path);
}

static void conn_close(int fd)
{
	free(conns[fd]);
	conns[fd] = NULL;
	close(fd);
}

static void on_data(struct exchange *x, int min_ms, int max_ms)
{
	char *end;

	if (!conn_fill(&x->conn)) {
		conn_close(x->conn.fd);
		return;
	}
	end = memmem(x->conn.buf, x->conn.len, "\r\n\r\n", 4);
	if (!end)
		return;
	*end = 0;
	x->closing = strstr(x->conn.buf, "HTTP/1.0") ||
		     strcasestr(x->conn.buf, "\nconnection: close");
	x->conn.len = 0;
	if (sscanf(x->conn.buf, "GET /%lu/%d", &x->id, &x->n) != 2)
		x->id = 0;
	x->received_ns = mono_ns();
	x->due_ns = x->received_ns + min_ms * 1000000ull +
		    (uint64_t)(drand48() * (max_ms - min_ms) * 1e6);
}

/* Answers what is due; returns how long to sleep, in ms, -1: until something comes. */
static int answer_due(void)
{
	static const char keep[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
	static const char last[] =
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nok\n";
	uint64_t next = UINT64_MAX;

	for (int fd = 0; fd < CONN_MAX; fd++) {
		struct exchange *x = conns[fd];
		uint64_t now = mono_ns();

		if (!x || !x->due_ns)
			continue;
		if (x->due_ns > now) {
			next = x->due_ns < next ? x->due_ns : next;
			continue;
		}
		x->due_ns = 0;
		line_add(x, now);
		if (x->closing)
			send_all(fd, last, sizeof(last) - 1);
		else
			send_all(fd, keep, sizeof(keep) - 1);
		if (x->closing)
			conn_close(fd);
	}
	if (next == UINT64_MAX)
		return -1;
	return next > mono_ns() ? (next - mono_ns()) / 1000000 + 1 : 0;
}

static void conn_open(int epoll, int listener)
{
	int fd = accept_on(listener);

	if (fd < 0 || fd >= CONN_MAX)
		return;
	conns[fd] = calloc(1, sizeof(*conns[fd]));
	conns[fd]->conn.fd = fd;
	conns[fd]->port = port_of(fd, true);
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){EPOLLIN, {.fd = fd}});
}

int main(int argc, char **argv)
{
	struct rlimit files = {CONN_MAX, CONN_MAX};
	struct epoll_event ev[64];
	int epoll = epoll_create1(0), listener, min_ms, max_ms;

	if (argc != 5)
		return 2;
	min_ms = number_arg(argv[3]);
	max_ms = number_arg(argv[4]);
	signal(SIGTERM, on_end);
	setrlimit(RLIMIT_NOFILE, &files);
	listener = listen_on(number_arg(argv[1]));
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &(struct epoll_event){EPOLLIN, {.fd = listener}});
	while (!ended) {
		int ms = answer_due(), cnt;

		cnt = epoll_wait(epoll, ev, 64, ms < 0 || ms > 100 ? 100 : ms);
		for (int i = 0; i < cnt; i++) {
			if (ev[i].data.fd == listener)
				conn_open(epoll, listener);
			else if (conns[ev[i].data.fd])
				on_data(conns[ev[i].data.fd], min_ms, max_ms);
		}
	}
	lines_write(argv[2]);
	return 0;
}
