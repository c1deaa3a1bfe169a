/* SPDX-License-Identifier: Apache-2.0 */
/* fork_conn PORT UPSTREAM_PORT: a process for each connection, with upstreams of its own. */
#include "common.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void serve(int fd, int upstream_port)
{
	struct conn c = {.fd = fd};
	struct upstreams up = {.port = upstream_port};
	struct request r;

	do {
		while (request_take(&c, &r)) {
			calls_make(&up, &r);
			reply_send(c.fd, &r);
		}
	} while (conn_fill(&c));
}

int main(int argc, char **argv)
{
	int listener;

	if (argc != 3)
		return 2;
	signal(SIGCHLD, SIG_IGN);	/* the kernel reaps */
	listener = listen_on(number_arg(argv[1]));
	for (;;) {
		int fd = accept_on(listener);

		if (fd < 0)
			continue;
		if (!fork()) {
			close(listener);
			serve(fd, number_arg(argv[2]));
			_exit(0);
		}
		close(fd);
	}
}
