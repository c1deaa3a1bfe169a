/* SPDX-License-Identifier: Apache-2.0 */
/*
 * futures PORT UPSTREAM_PORT WORKERS: a thread for each connection gives each call to a pool
 * of workers and waits for its result; `par` gives two before it waits.
 */
#include "common.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct future {
	struct future *next;
	uint64_t id;
	int n;
	bool done;
	pthread_mutex_t lock;
	pthread_cond_t finished;
};

static struct future *first, **last = &first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int upstream_port;

static void submit(struct future *f, uint64_t id, int n)
{
	*f = (struct future){.id = id, .n = n, .lock = PTHREAD_MUTEX_INITIALIZER,
			     .finished = PTHREAD_COND_INITIALIZER};
	pthread_mutex_lock(&lock);
	*last = f;
	last = &f->next;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static void wait_for(struct future *f)
{
	pthread_mutex_lock(&f->lock);
	while (!f->done)
		pthread_cond_wait(&f->finished, &f->lock);
	pthread_mutex_unlock(&f->lock);
}

static struct future *take(void)
{
	struct future *f;

	pthread_mutex_lock(&lock);
	while (!first)
		pthread_cond_wait(&filled, &lock);
	f = first;
	first = f->next;
	if (!first)
		last = &first;
	pthread_mutex_unlock(&lock);
	return f;
}

static void *work(void *arg)
{
	struct conn up = {.fd = dial(NULL, upstream_port)};

	for (;;) {
		struct future *f = take();

		call_send(up.fd, f->id, f->n);
		answer_wait(&up);
		pthread_mutex_lock(&f->lock);
		f->done = true;
		pthread_cond_signal(&f->finished);
		pthread_mutex_unlock(&f->lock);
	}
	return arg;
}

static void handle(const struct request *r)
{
	struct future a, b;

	submit(&a, r->id, 0);
	if (!strcmp(r->kind, "par"))
		submit(&b, r->id, 1);
	wait_for(&a);
	if (!strcmp(r->kind, "two"))
		submit(&b, r->id, 1);
	if (strcmp(r->kind, "one"))
		wait_for(&b);
}

static void *serve(void *arg)
{
	struct conn c = {.fd = (int)(long)arg};
	struct request r;

	do {
		while (request_take(&c, &r)) {
			if (strcmp(r.kind, "none"))
				handle(&r);
			reply_send(c.fd, &r);
		}
	} while (conn_fill(&c));
	close(c.fd);
	return NULL;
}

static void start(void *(*run)(void *), long arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, (void *)arg))
		die("pthread_create");
	pthread_detach(t);
}

int main(int argc, char **argv)
{
	int listener;

	if (argc != 4)
		return 2;
	listener = listen_on(number_arg(argv[1]));
	upstream_port = number_arg(argv[2]);
	for (int i = 0; i < number_arg(argv[3]); i++)
		start(work, 0);
	for (;;) {
		int fd = accept_on(listener);

		if (fd >= 0)
			start(serve, fd);
	}
}
