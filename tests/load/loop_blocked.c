/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop-blocked: one thread, an event loop with epoll; one request in 50 stays
 * in its handler for 300 ms, the others take 20 us but wait for their turn.
 * Truth: the event loop's thread (tid[0]) is held up inside one handler.
 *
 * default: the handler sleeps	--spin: it burns CPU
 * --pipe: it reads a pipe that a helper process fills 300 ms later
 */
#include "load_net.h"

static int spin, slow_pipe, ask[2], answer[2];

static void block(void)
{
	char c = 0;

	if (spin)
		load_burn_us(300000);
	else if (!slow_pipe)
		load_sleep_us(300000);
	else if (write(ask[1], &c, 1) != 1 || read(answer[0], &c, 1) != 1)
		load_fail("helper");
}

static void handle(struct load_msg *m)
{
	if (m->kind)
		block();
	else
		load_burn_us(20);
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_serve_epoll(load_listen(arg, 128, &load.page->port), handle);
}

static void helper(void *arg)
{
	char c;

	(void)arg;
	while (read(ask[0], &c, 1) == 1) {
		load_sleep_us(300000);
		if (write(answer[1], &c, 1) != 1)
			load_fail("write");
	}
}

static uint32_t one_in_50(uint32_t conn, uint64_t seq)
{
	return (seq + conn * 3) % 50 == 7;
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16, .think_us = 20000, .kind = one_in_50 };
	char more[64] = "";
	pid_t pid;

	load_init(argc, argv, "[--spin] [--pipe]");
	spin = load_flag("--spin");
	slow_pipe = load_flag("--pipe");
	if (slow_pipe) {
		if (pipe2(ask, O_CLOEXEC) || pipe2(answer, O_CLOEXEC))
			load_die("pipe: %s", strerror(errno));
		snprintf(more, sizeof(more), " helper_pid=%d resource=pipe",
			 load_fork("helper", helper, NULL));
	}
	pid = load_fork("loop_blocked", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1500);
	load_ready("pid=%d class=loop-blocked%s culprit_pid=%d culprit_tid=%d%s", pid,
		   slow_pipe ? "|peer" : "", pid, load.page->tid[0], more);
	load_run();
}
