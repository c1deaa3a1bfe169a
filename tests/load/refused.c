/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refused: a thread a connection; for each request it connects to a port of this host
 * where nobody listens, sleeps 40 ms, tries again, and after three tries answers
 * without.
 * Truth: that address, though no call waits for it.
 */
#include "load_net.h"
#include "load_serve.h"

#define TRIES 3

static int dead_port;

static int try_connect(void)
{
	struct load_addr a = { .port = dead_port };
	struct sockaddr_storage ss;
	socklen_t len = load_sockaddr(&a, &ss);
	int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = connect(fd, (struct sockaddr *)&ss, len);

	close(fd);
	return rc;
}

static void handle(struct load_msg *m)
{
	for (int i = 0; i < TRIES && try_connect() < 0; i++)
		load_sleep_us(40000);
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_serve_threads(load_listen(arg, 128, &load.page->port), handle);
}

/* A port that was given out and given back: nobody gets it soon. */
static int port_free(void)
{
	struct load_addr any = { 0 };
	_Atomic int port = 0;

	close(load_listen(&any, 1, &port));
	return port;
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 6, .think_us = 500 };
	pid_t pid;

	load_init(argc, argv, "");
	dead_port = port_free();
	pid = load_fork("refused", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=peer resource=127.0.0.1:%d", pid, dead_port);
	load_run();
}
