/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client PORT LOG CONNS KINDS [DEPTH]: a closed loop of `GET /KIND/ID` on CONNS connections.
 *
 * KINDS: names with commas, one of them at random for each request.  DEPTH: so many requests
 * in one send (pipelining), 1 by default.  At SIGTERM it writes LOG, a line for each request:
 * ID KIND LOCAL_PORT SENT_NS RECEIVED_NS, CLOCK_MONOTONIC; the server's [arrival, last reply]
 * is inside of both times.  Connects again where the server closes.
 */
#include "common.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { DEPTH_MAX = 8, KIND_MAX = 8 };

struct asked {
	uint64_t id, sent_ns;
	int kind;
};

struct asker {
	struct conn conn;
	int port;		/* the own one */
	int answered;
	struct asked asked[DEPTH_MAX];
};

static char *kinds[KIND_MAX];
static int kind_cnt, depth = 1, server;
static uint64_t last_id;
static FILE *log_file;
static volatile sig_atomic_t ended;

static void on_end(int sig)
{
	(void)sig;
	ended = 1;
}

static void ask(struct asker *a)
{
	char text[DEPTH_MAX * 96];
	uint64_t now = mono_ns();
	int len = 0;

	a->answered = 0;
	for (int i = 0; i < depth; i++) {
		int kind = lrand48() % kind_cnt;

		a->asked[i] = (struct asked){++last_id, now, kind};
		len += snprintf(text + len, sizeof(text) - len,
				"GET /%s/%lu HTTP/1.1\r\nHost: server\r\n\r\n", kinds[kind],
				last_id);
	}
	send_all(a->conn.fd, text, len);
}

static void open_again(int epoll, struct asker *a)
{
	if (a->conn.fd)
		close(a->conn.fd);
	a->conn.len = 0;
	a->conn.fd = dial(NULL, server);
	a->port = port_of(a->conn.fd, false);
	epoll_ctl(epoll, EPOLL_CTL_ADD, a->conn.fd, &(struct epoll_event){EPOLLIN, {.ptr = a}});
	ask(a);
}

static void on_data(int epoll, struct asker *a)
{
	bool closing = false;

	if (!conn_fill(&a->conn)) {
		open_again(epoll, a);	/* closed without an answer: not in the log */
		return;
	}
	while (a->answered < depth && answer_take(&a->conn, &closing)) {
		const struct asked *q = &a->asked[a->answered++];

		fprintf(log_file, "%lu %s %d %lu %lu\n", q->id, kinds[q->kind], a->port, q->sent_ns,
			mono_ns());
		if (closing) {
			open_again(epoll, a);
			return;
		}
	}
	if (a->answered == depth)
		ask(a);
}

int main(int argc, char **argv)
{
	struct epoll_event ev[64];
	int epoll = epoll_create1(0), conn_cnt;
	struct asker *askers;

	if (argc < 5)
		return 2;
	signal(SIGTERM, on_end);
	server = number_arg(argv[1]);
	log_file = fopen(argv[2], "w");
	if (!log_file)
		die(argv[2]);
	conn_cnt = number_arg(argv[3]);
	for (char *k = strtok(argv[4], ","); k && kind_cnt < KIND_MAX; k = strtok(NULL, ","))
		kinds[kind_cnt++] = k;
	depth = argc > 5 ? number_arg(argv[5]) : 1;
	if (!kind_cnt || depth < 1 || depth > DEPTH_MAX)
		return 2;
	askers = calloc(conn_cnt, sizeof(*askers));
	for (int i = 0; i < conn_cnt; i++)
		open_again(epoll, &askers[i]);
	while (!ended) {
		int cnt = epoll_wait(epoll, ev, 64, 100);

		for (int i = 0; i < cnt; i++)
			on_data(epoll, ev[i].data.ptr);
	}
	return fclose(log_file) ? 1 : 0;
}
