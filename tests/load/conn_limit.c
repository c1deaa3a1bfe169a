/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn-limit at the front (--backlog, the default): the server takes at most
 * four connections at a time and its listen queue holds four more.  A client
 * keeps its connection for five requests with 10 ms between them, so the four
 * are mostly idle; 32 clients want one and wait in the listen queue, or are
 * dropped from it and try again a second later.
 * Truth: the connection limit of the listening socket.  The acceptor (tid[0])
 * waits for a free slot (a semaphore); the request threads wait for clients.
 *
 * conn-limit at the back (--cap N): any number of clients, a thread each, but
 * at most N (2) connections to an upstream on this host that answers within
 * 10 ms and would take many more at once.
 * Truth: the limit, which is the semaphore's futex; not the upstream.
 */
#include "load_net.h"
#include <semaphore.h>

#define MAX_CONNS 4

static sem_t slots;
static long cap;
static int pool[64];
static _Atomic int in_pool[64];
static struct load_addr upstream_addr;

static void handle(struct load_msg *m)
{
	load_burn_us(50);
	m->pad[0]++;
}

static void *limited_conn(void *arg)
{
	load_conn_thread(arg);
	sem_post(&slots);
	return NULL;
}

static void serve_limited(void *arg)
{
	int lfd = load_listen(arg, 4, &load.page->port);
	struct load_conn *c;

	sem_init(&slots, 0, MAX_CONNS);
	load.page->tid[0] = load_tid();
	for (;;) {
		while (sem_wait(&slots))
			;
		c = malloc(sizeof(*c));
		*c = (struct load_conn){ accept4(lfd, NULL, NULL, SOCK_CLOEXEC), handle };
		pthread_detach(load_thread("conn", limited_conn, c));
	}
}

static void answer_10ms(struct load_msg *m)
{
	load_sleep_us(10000);
	m->pad[0]++;
}

static void upstream(void *arg)
{
	load_serve_threads(load_listen(arg, 128, &load.page->upstream_port), answer_10ms);
}

/* A free connection out of the pool; the semaphore says that there is one. */
static int pool_take(void)
{
	for (int i = 0;; i = (i + 1) % (int)cap)
		if (atomic_exchange(&in_pool[i], 0))
			return i;
}

static void handle_capped(struct load_msg *m)
{
	int i;

	while (sem_wait(&slots))
		;
	i = pool_take();
	if (load_call(pool[i], m))
		load_fail("upstream");
	in_pool[i] = 1;
	sem_post(&slots);
}

static void serve_capped(void *arg)
{
	sem_init(&slots, 0, (unsigned)cap);
	for (int i = 0; i < cap; i++) {
		pool[i] = load_connect(&upstream_addr);
		in_pool[i] = 1;
	}
	load_serve_threads(load_listen(arg, 128, &load.page->port), handle_capped);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 32, .think_us = 10000, .per_conn = 5 };
	pid_t pid, up = 0;

	load_init(argc, argv, "[--backlog] [--cap N]");
	cap = load_num("--cap", 0);
	if (cap > 64)
		cap = 64;
	if (cap) {
		c.think_us = 0;
		c.per_conn = 0;
		up = load_fork("upstream", upstream, &upstream_addr);
		upstream_addr.port = load_await(&load.page->upstream_port);
	}
	pid = load_fork("conn_limit", cap ? serve_capped : serve_limited, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1500);
	if (cap)
		load_ready("pid=%d class=conn-limit culprit_pid=%d upstream_pid=%d "
			   "resource=futex|127.0.0.1:%d", pid, pid, up, upstream_addr.port);
	else
		load_ready("pid=%d class=conn-limit culprit_pid=%d culprit_tid=%d "
			   "resource=127.0.0.1:%d", pid, pid, load.page->tid[0], c.to.port);
	load_run();
}
