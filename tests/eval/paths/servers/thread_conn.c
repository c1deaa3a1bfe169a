/* SPDX-License-Identifier: Apache-2.0 */
/* thread_conn PORT UPSTREAM_PORT: a thread for each connection, with upstreams of its own. */
#include "common.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int upstream_port;

static void *serve(void *arg)
{
	struct conn c = {.fd = (int)(long)arg};
	struct upstreams up = {.port = upstream_port};
	struct request r;

	do {
		while (request_take(&c, &r)) {
			calls_make(&up, &r);
			reply_send(c.fd, &r);
		}
	} while (conn_fill(&c));
	for (int i = 0; i < 2; i++)
		if (up.conns[i].fd)
			close(up.conns[i].fd);
	close(c.fd);
	return NULL;
}

int main(int argc, char **argv)
{
	int listener;

	if (argc != 3)
		return 2;
	listener = listen_on(number_arg(argv[1]));
	upstream_port = number_arg(argv[2]);
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
