/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop PORT UPSTREAM_PORT LIMIT BEFORE_MS AFTER_MS: one thread, one epoll, many requests.
 *
 * Calls share kept connections, at most LIMIT (0: no limit); further calls queue for one.  A
 * request waits at random up to BEFORE_MS for a timer before its first call, and up to
 * AFTER_MS between its last answer and its reply; 0: no timer.  As in libuv, timers run after
 * the last event of a turn and before the next epoll_wait().
 */
#include "common.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum role { CLIENT, UPSTREAM };

struct task {			/* a request in work, and its calls */
	struct peer *client;
	struct request r;
	int next_n, left;	/* calls to make after this one; answers to come */
	uint64_t due_ns;	/* of its timer */
	bool called;		/* the timer is the one after the answers */
	struct task *next;	/* in the list of timers or the queue for a connection */
};

struct peer {
	struct conn conn;	/* first: epoll's pointer */
	enum role role;
	bool busy, gone;
	struct task *task;	/* UPSTREAM: whose call it carries */
	struct peer *next;	/* in the list of idle upstreams */
};

struct waiter {			/* a call that waits for a connection */
	struct task *task;
	struct waiter *next;
};

static int epoll, upstream_port, limit, before_ms, after_ms, upstream_cnt;
static struct peer *idle;
static struct task *timers;
static struct waiter *first_waiter, **last_waiter = &first_waiter;

static void *zeroed(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		die("calloc");
	return p;
}

static struct peer *peer_new(int fd, enum role role)
{
	struct peer *p = zeroed(sizeof(*p));

	p->conn.fd = fd;
	p->role = role;
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){EPOLLIN, {.ptr = p}});
	return p;
}

static void call_on(struct peer *up, struct task *t)
{
	up->task = t;
	call_send(up->conn.fd, t->r.id, t->next_n++);
}

static void call(struct task *t)
{
	struct peer *up = idle;

	if (up) {
		idle = up->next;
		call_on(up, t);
	} else if (!limit || upstream_cnt < limit) {
		upstream_cnt++;
		call_on(peer_new(dial(NULL, upstream_port), UPSTREAM), t);
	} else {
		struct waiter *w = zeroed(sizeof(*w));

		w->task = t;
		*last_waiter = w;
		last_waiter = &w->next;
	}
}

static void upstream_free(struct peer *up)
{
	struct waiter *w = first_waiter;

	up->task = NULL;
	if (!w) {
		up->next = idle;
		idle = up;
		return;
	}
	first_waiter = w->next;
	if (!first_waiter)
		last_waiter = &first_waiter;
	call_on(up, w->task);
	free(w);
}

static void timer_set(struct task *t, int max_ms)
{
	t->due_ns = mono_ns() + (uint64_t)(drand48() * max_ms * 1e6);
	t->next = timers;
	timers = t;
}

static void calls_start(struct task *t)
{
	t->left = strcmp(t->r.kind, "one") ? 2 : 1;
	call(t);
	if (!strcmp(t->r.kind, "par"))
		call(t);
}

static void request_next(struct peer *c);

static void finish(struct task *t)
{
	struct peer *c = t->client;

	reply_send(c->conn.fd, &t->r);
	free(t);
	c->busy = false;
	request_next(c);
}

static void client_close(struct peer *c)
{
	close(c->conn.fd);
	free(c);
}

/* The next request of a connection, one after another. */
static void request_next(struct peer *c)
{
	struct request r;
	struct task *t;

	if (c->busy)
		return;
	if (c->gone) {
		client_close(c);
		return;
	}
	if (!request_take(&c->conn, &r))
		return;
	t = zeroed(sizeof(*t));
	t->client = c;
	t->r = r;
	c->busy = true;
	if (before_ms)
		timer_set(t, before_ms);
	else
		calls_start(t);
}

static void on_answer(struct peer *up)
{
	struct task *t = up->task;

	if (--t->left == 0) {
		t->called = true;
		if (after_ms)
			timer_set(t, after_ms);
		else
			finish(t);
	} else if (!strcmp(t->r.kind, "two")) {
		call(t);
	}
	upstream_free(up);
}

static void on_client(struct peer *c)
{
	if (!conn_fill(&c->conn)) {
		c->gone = true;
		epoll_ctl(epoll, EPOLL_CTL_DEL, c->conn.fd, NULL);
	}
	request_next(c);
}

static void on_upstream(struct peer *up)
{
	bool closing;

	if (!conn_fill(&up->conn))
		die("the upstream closed");
	if (answer_take(&up->conn, &closing))
		on_answer(up);
}

/* Runs what is due; returns the timeout of the next epoll_wait(). */
static int timers_run(void)
{
	uint64_t now = mono_ns(), next = UINT64_MAX;
	struct task *due = timers;

	timers = NULL;
	while (due) {
		struct task *t = due;

		due = t->next;
		if (t->due_ns > now) {
			t->next = timers;
			timers = t;
		} else if (t->called) {
			finish(t);
		} else {
			calls_start(t);
		}
	}
	/* Only now: finish() may have set some for the next request of its connection. */
	for (struct task *t = timers; t; t = t->next)
		next = t->due_ns < next ? t->due_ns : next;
	if (next == UINT64_MAX)
		return -1;
	return next > now ? (next - now) / 1000000 + 1 : 0;
}

int main(int argc, char **argv)
{
	struct epoll_event ev[64];
	int listener;

	if (argc != 6)
		return 2;
	listener = listen_on(number_arg(argv[1]));
	upstream_port = number_arg(argv[2]);
	limit = number_arg(argv[3]);
	before_ms = number_arg(argv[4]);
	after_ms = number_arg(argv[5]);
	epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &(struct epoll_event){EPOLLIN, {.ptr = NULL}});
	for (;;) {
		int cnt = epoll_wait(epoll, ev, 64, timers_run());

		for (int i = 0; i < cnt; i++) {
			struct peer *p = ev[i].data.ptr;

			if (!p)
				peer_new(accept_on(listener), CLIENT);
			else if (p->role == CLIENT)
				on_client(p);
			else
				on_upstream(p);
		}
	}
}
