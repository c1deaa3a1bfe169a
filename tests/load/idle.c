/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle: a dispatcher and 8 workers, with 4 clients connected that ask for
 * nothing (one answered request each, then silence).
 * Truth: no finding; nothing is asked of the server.
 */
#include "load_net.h"

static void handle(struct load_msg *m)
{
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_serve_pool(load_listen(arg, 128, &load.page->port), 8, handle, NULL);
}

static void silent(struct load_clients *c, uint32_t conn)
{
	struct load_msg m = { .conn = conn };
	int fd = load_connect(&c->to);

	if (load_call(fd, &m))
		load_fail("call");
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 4, .session = silent };
	pid_t pid;

	load_init(argc, argv, "");
	pid = load_fork("idle", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=healthy", pid);
	load_run();
}
