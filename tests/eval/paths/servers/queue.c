/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue PORT UPSTREAM_PORT WORKERS wake|poll: one thread reads the requests and puts them into
 * a queue; a worker takes one, calls and replies itself.  `wake`: an idle worker sleeps on a
 * condition; `poll`: it sleeps for 300 us and looks again, so that nobody wakes it.
 */
#include "common.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { CONN_MAX = 4096, POLL_US = 300 };

struct job {
	int fd;
	struct request r;
};

static struct job jobs[CONN_MAX];	/* a ring: at most one for each connection */
static unsigned job_in, job_out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static bool polls;
static int upstream_port;

static void job_put(const struct job *j)
{
	pthread_mutex_lock(&lock);
	jobs[job_in++ % CONN_MAX] = *j;
	if (!polls)
		pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static struct job job_get(void)
{
	struct job j;

	pthread_mutex_lock(&lock);
	while (job_in == job_out) {
		if (!polls) {
			pthread_cond_wait(&filled, &lock);
			continue;
		}
		pthread_mutex_unlock(&lock);
		usleep(POLL_US);
		pthread_mutex_lock(&lock);
	}
	j = jobs[job_out++ % CONN_MAX];
	pthread_mutex_unlock(&lock);
	return j;
}

static void *work(void *arg)
{
	struct upstreams up = {.port = upstream_port};

	for (;;) {
		struct job j = job_get();

		calls_make(&up, &j.r);
		reply_send(j.fd, &j.r);
	}
	return arg;
}

static void on_data(struct conn *c)
{
	struct job j = {.fd = c->fd};

	if (!conn_fill(c)) {
		close(c->fd);
		free(c);
		return;
	}
	if (request_take(c, &j.r))
		job_put(&j);
}

static void conn_open(int epoll, int listener)
{
	struct conn *c = calloc(1, sizeof(*c));

	c->fd = accept_on(listener);
	if (c->fd < 0)
		free(c);
	else
		epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &(struct epoll_event){EPOLLIN, {.ptr = c}});
}

int main(int argc, char **argv)
{
	struct epoll_event ev[64];
	int epoll = epoll_create1(0), listener;

	if (argc != 5)
		return 2;
	listener = listen_on(number_arg(argv[1]));
	upstream_port = number_arg(argv[2]);
	polls = !strcmp(argv[4], "poll");
	for (int i = 0; i < number_arg(argv[3]); i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, work, NULL))
			die("pthread_create");
	}
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &(struct epoll_event){EPOLLIN, {.ptr = NULL}});
	for (;;) {
		int cnt = epoll_wait(epoll, ev, 64, -1);

		for (int i = 0; i < cnt; i++) {
			if (ev[i].data.ptr)
				on_data(ev[i].data.ptr);
			else
				conn_open(epoll, listener);
		}
	}
}
