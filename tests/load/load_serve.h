/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOAD_SERVE_H
#define LOAD_SERVE_H
/*
 * Four shapes of server for load_net.h's messages; include load_net.h.
 * Each call takes a listening socket and does not return.
 *
 * load_serve_threads	accepts; one thread a connection, blocking reads
 * load_serve_forked	forks workers; each begins, accepts and serves a connection at
 *			a time
 * load_serve_pool	one dispatcher with epoll, a queue (mutex and condition
 *			variable), a fixed number of workers
 * load_serve_epoll	one thread, an event loop; the handler runs inside it
 */
#include <sys/epoll.h>

struct load_conn {
	int fd;
	load_handler handler;
};

LOAD_FN void *load_conn_thread(void *arg)
{
	struct load_conn c = *(struct load_conn *)arg;
	struct load_msg m;

	free(arg);
	while (!load_read(c.fd, &m, sizeof(m))) {
		c.handler(&m);
		if (load_write(c.fd, &m, sizeof(m)))
			break;
	}
	close(c.fd);
	return NULL;
}

LOAD_FN void load_serve_threads(int lfd, load_handler handler)
{
	for (;;) {
		int fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC);
		struct load_conn *c;

		if (fd < 0)
			continue;
		load_nodelay(fd);
		c = malloc(sizeof(*c));
		*c = (struct load_conn){ fd, handler };
		pthread_detach(load_thread("conn", load_conn_thread, c));
	}
}

/* Of each worker load.page->tid[2 + nth]; begin comes first in it, and may be NULL. */
LOAD_FN void load_serve_forked(int lfd, int workers, void (*begin)(void), load_handler handler)
{
	pid_t master = getpid();

	for (int i = 0; i < workers; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != master)
			_exit(0);
		if (begin)
			begin();
		load.page->tid[2 + i] = load_tid();
		for (;;) {
			struct load_conn *c = malloc(sizeof(*c));

			*c = (struct load_conn){ accept4(lfd, NULL, NULL, SOCK_CLOEXEC), handler };
			load_conn_thread(c);
		}
	}
	for (;;)
		wait(NULL);
}

#define LOAD_QUEUE 1024

struct load_task {
	int fd;
	struct load_msg m;
};

struct load_pool {
	pthread_mutex_t lock;
	pthread_cond_t some;
	unsigned head, tail;
	load_handler handler;
	struct load_task ring[LOAD_QUEUE];
};

LOAD_FN void *load_pool_worker(void *arg)
{
	struct load_pool *p = arg;
	struct load_task t;

	for (;;) {
		pthread_mutex_lock(&p->lock);
		while (p->head == p->tail)
			pthread_cond_wait(&p->some, &p->lock);
		t = p->ring[p->tail++ % LOAD_QUEUE];
		pthread_mutex_unlock(&p->lock);
		p->handler(&t.m);
		load_write(t.fd, &t.m, sizeof(t.m));
	}
	return NULL;
}

LOAD_FN void load_pool_put(struct load_pool *p, const struct load_task *t)
{
	pthread_mutex_lock(&p->lock);
	if (p->head - p->tail < LOAD_QUEUE)
		p->ring[p->head++ % LOAD_QUEUE] = *t;
	pthread_mutex_unlock(&p->lock);
	pthread_cond_signal(&p->some);
}

LOAD_FN void load_epoll_add(int ep, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
		load_fail("epoll_ctl");
}

/* One turn for one ready fd: 1 when *ret_t holds a request.  A message comes whole. */
LOAD_FN int load_epoll_turn(int ep, int lfd, int fd, struct load_task *ret_t)
{
	if (fd == lfd) {
		fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0) {
			load_nodelay(fd);
			load_epoll_add(ep, fd);
		}
		return 0;
	}
	ret_t->fd = fd;
	if (load_read(fd, &ret_t->m, sizeof(ret_t->m))) {
		close(fd);
		return 0;
	}
	return 1;
}

LOAD_FN int load_epoll_new(int lfd)
{
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (ep < 0)
		load_fail("epoll_create1");
	load_epoll_add(ep, lfd);
	return ep;
}

/* Worker i leaves its tid in page->tid[1 + i] (as far as there is room), the dispatcher in [0]. */
LOAD_FN void load_serve_pool(int lfd, int worker_cnt, load_handler handler,
			     void *(*worker)(void *))
{
	static struct load_pool p = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
				      0, 0, NULL, { { 0 } } };
	struct epoll_event ev[32];
	struct load_task t;
	int ep = load_epoll_new(lfd);

	p.handler = handler;
	load.page->tid[0] = load_tid();
	for (int i = 0; i < worker_cnt; i++)
		load_thread("worker", worker ? worker : load_pool_worker, &p);
	for (;;) {
		int n = epoll_wait(ep, ev, 32, -1);

		for (int i = 0; i < n; i++)
			if (load_epoll_turn(ep, lfd, ev[i].data.fd, &t))
				load_pool_put(&p, &t);
	}
}

LOAD_FN void load_serve_epoll(int lfd, load_handler handler)
{
	struct epoll_event ev[32];
	struct load_task t;
	int ep = load_epoll_new(lfd);

	load.page->tid[0] = load_tid();
	for (;;) {
		int n = epoll_wait(ep, ev, 32, -1);

		for (int i = 0; i < n; i++) {
			if (!load_epoll_turn(ep, lfd, ev[i].data.fd, &t))
				continue;
			handler(&t.m);
			load_write(t.fd, &t.m, sizeof(t.m));
		}
	}
}

#endif /* LOAD_SERVE_H */
