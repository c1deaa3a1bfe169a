/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenants PORT HOW PROCESSES: a server of which one kind of request, `GET /slow/ID`, is held
 * up in one function of it, whose name says how: find_rows computes (cpu), audit sleeps
 * (sleep).  PROCESSES that are forked at the begin; 1: none.  Each reply has a number that is
 * computed from ID, so that a client sees whether the server still does what it did.
 */
#include "common.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLOW_NS 4000000
#define NOINLINE __attribute__((noinline, noclone))

static int sleeps;

static NOINLINE uint64_t mix(uint64_t n)
{
	n ^= n >> 31;
	return n * 0x9e3779b97f4a7c15u;
}

static NOINLINE uint64_t parse_query(const struct request *r)
{
	uint64_t n = r->id;

	for (size_t i = 0; r->kind[i]; i++)
		n = mix(n + (uint8_t)r->kind[i]);
	return n;
}

static NOINLINE uint64_t find_rows(uint64_t query, int tenant)
{
	uint64_t end = mono_ns() + (tenant && !sleeps ? SLOW_NS : 0), n = query;

	do {
		n += query >> 7;
	} while (mono_ns() < end);
	return query + (uint64_t)tenant + (n == 0);
}

static NOINLINE uint64_t audit(uint64_t rows, int tenant)
{
	const struct timespec ts = {.tv_nsec = SLOW_NS};

	if (tenant && sleeps)
		nanosleep(&ts, NULL);
	return rows ^ 0x55;
}

static NOINLINE void render(int fd, uint64_t rows)
{
	char text[128], body[24];
	int body_len = snprintf(body, sizeof(body), "%016lx\n", rows);
	int len = snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s",
			   body_len, body);

	send_all(fd, text, (size_t)len);
}

static NOINLINE void handle(int fd, const struct request *r)
{
	int tenant = strcmp(r->kind, "slow") == 0 ? 7 : 0;
	uint64_t rows = find_rows(parse_query(r), tenant);

	render(fd, audit(rows, tenant));
}

static void *serve(void *arg)
{
	struct conn c = {.fd = (int)(long)arg};
	struct request r;

	do {
		while (request_take(&c, &r))
			handle(c.fd, &r);
	} while (conn_fill(&c));
	close(c.fd);
	return NULL;
}

int main(int argc, char **argv)
{
	int listener, procs;

	if (argc != 4)
		return 2;
	listener = listen_on(number_arg(argv[1]));
	sleeps = strcmp(argv[2], "sleep") == 0;
	procs = number_arg(argv[3]);
	for (int i = 1; i < procs; i++)
		if (fork() == 0)
			break;
	for (;;) {
		long fd = accept_on(listener);
		pthread_t t;

		if (fd < 0)
			continue;
		if (pthread_create(&t, NULL, serve, (void *)fd))
			die("pthread_create");
		pthread_detach(t);
	}
}
