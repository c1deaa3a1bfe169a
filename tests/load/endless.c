/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endless: one request makes a search go round for ever; others are sound, and wait.
 * Truth: the thread that runs on without answering, in index_find.
 *
 * default: one event loop; the request comes a second after it is ready
 * --before: it came before that, and no call is made from then on
 * --pool: thread a connection: only one of them spins, the others answer
 * --dies: a watchdog aborts the process when its loop has not turned for 1.5 s
 */
#include "load_net.h"

#define SETTLE_MS 1500
#define NODES 64

static uint64_t bad_at_ns;
static unsigned next_of[NODES];

__attribute__((noinline)) static unsigned index_find(unsigned key)
{
	unsigned at = 0;

	while (at != key)	/* never where the list is a ring */
		at = ((volatile unsigned *)next_of)[at];
	return at;
}

__attribute__((noinline)) static unsigned lookup(unsigned key)
{
	return index_find(key) + 1;
}

static void handle(struct load_msg *m)
{
	load.page->num[0] = load_now_ns();
	if (m->kind)
		m->pad[1] = (uint8_t)lookup(NODES);
	load_burn_us(20);
	m->pad[0]++;
}

static void *watchdog(void *arg)
{
	(void)arg;
	for (;;) {
		load_sleep_us(100000);
		if (load.page->num[0] && load_now_ns() - load.page->num[0] > 1500000000)
			abort();
	}
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port);

	for (unsigned i = 0; i < NODES; i++)
		next_of[i] = (i + 1) % NODES;
	if (load_flag("--dies"))
		load_thread("watchdog", watchdog, NULL);
	if (load_flag("--pool"))
		load_serve_threads(lfd, handle);
	load_serve_epoll(lfd, handle);
}

static uint32_t once(uint32_t conn, uint64_t seq)
{
	static int done;

	(void)seq;
	if (conn || done || load_now_ns() < bad_at_ns)
		return 0;
	return done = 1;
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 4, .think_us = 20000, .kind = once };
	pid_t pid;

	load_init(argc, argv, "[--before] [--pool] [--dies]");
	bad_at_ns = load_now_ns() + (load_flag("--before") ? 700 : SETTLE_MS + 1000) * 1000000ull;
	pid = load_fork("endless", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(SETTLE_MS);
	load_ready("pid=%d class=%s culprit_pid=%d function=index_find", pid,
		   load_flag("--dies") ? "died" : "endless-loop", pid);
	load_run();
}
