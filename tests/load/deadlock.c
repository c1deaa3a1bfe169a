/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deadlock: after a second of service three background threads take three
 * mutexes in a cycle (tid[1] has A and wants B, tid[2] has B and wants C,
 * tid[3] has C and wants A) and never come back; each request needs one of
 * the three, so the request threads pile up behind them.
 * Truth: the cycle of tid[1], tid[2], tid[3].
 *
 * --abba: no background threads: two kinds of requests take A and B in either
 * order, and sooner rather than later two of them meet.
 */
#include "load_net.h"

static pthread_mutex_t locks[3] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				    PTHREAD_MUTEX_INITIALIZER };
static int abba;

static void take(int i)
{
	pthread_mutex_lock(&locks[i]);
	load.page->tid[1 + i] = load_tid();
}

static void handle(struct load_msg *m)
{
	int first = (int)((m->conn + m->seq) % (abba ? 2 : 3));

	if (!abba) {
		pthread_mutex_lock(&locks[first]);
		load_burn_us(20);
		pthread_mutex_unlock(&locks[first]);
		return;
	}
	take(first);
	load_burn_us(20);
	take(!first);
	load_burn_us(20);
	pthread_mutex_unlock(&locks[!first]);
	pthread_mutex_unlock(&locks[first]);
}

static void *cycle(void *arg)
{
	int i = (int)(intptr_t)arg;

	load_sleep_us(1000000);
	take(i);
	load_sleep_us(100000);
	pthread_mutex_lock(&locks[(i + 1) % 3]);
	load_fail("the cycle has broken");
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port);

	for (intptr_t i = 0; i < 3 && !abba; i++)
		load_thread("background", cycle, (void *)i);
	load_serve_threads(lfd, handle);
}

/* Established when no request has been answered for a second. */
static void await_standstill(void)
{
	uint64_t before;

	load_await(&load.page->tid[abba ? 2 : 3]);
	do {
		before = load.page->done_cnt;
		load_settle(1000);
	} while (load.page->done_cnt != before);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16, .think_us = 1000 };
	char third[16] = "";
	pid_t pid;

	load_init(argc, argv, "[--abba]");
	abba = load_flag("--abba");
	pid = load_fork("deadlock", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	await_standstill();
	if (!abba)
		snprintf(third, sizeof(third), "|%d", load.page->tid[3]);
	load_ready("pid=%d class=deadlock culprit_pid=%d culprit_tid=%d|%d%s resource=futex", pid,
		   pid, load.page->tid[1], load.page->tid[2], third);
	load_run();
}
