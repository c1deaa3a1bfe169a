/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock-held without a futex, as between PostgreSQL's backends: each connection
 * has a forked backend; a lock in shared memory has a queue of waiters; who
 * must wait sleeps in epoll_wait on a signalfd (its latch) and is woken by
 * kill(SIGURG) from the one that hands the lock on.  A backend holds it 20 ms
 * a request, asleep.
 * Watch the master (its children are the backends).
 * Truth: a lock between the backends, held by whichever of them sleeps; the
 * kernel sees only epoll_wait.
 * With --transaction the first client asks once, and its backend answers with the lock
 * still in its hands, as in an open transaction; six others ask after it.
 * Truth: the same lock, held by that backend, which waits for its client.
 */
#include "load_net.h"
#include <sys/signalfd.h>

#define BACKENDS 16		/* as many as page->tid has room for */

static struct shared {
	_Atomic int spin;
	int held;
	int waiters[BACKENDS], head, tail;	/* pids, first come first served */
	_Atomic int granted;			/* pid of the holder */
} *shared;

static int latch_ep, latch_fd;
static int transaction;

enum { SESSIONS = 7 };	/* of --transaction */

static void spin_lock(void)
{
	while (atomic_exchange(&shared->spin, 1))
		sched_yield();
}

static void latch_wait(void)
{
	struct signalfd_siginfo info;
	struct epoll_event ev;

	if (epoll_wait(latch_ep, &ev, 1, -1) == 1 &&
	    read(latch_fd, &info, sizeof(info)) != sizeof(info))
		load_fail("signalfd");
}

static __attribute__((noinline)) void lock_take(void)
{
	int me = getpid();

	spin_lock();
	if (!shared->held) {
		shared->held = 1;
		shared->granted = me;
	} else {
		shared->waiters[shared->head++ % BACKENDS] = me;
	}
	shared->spin = 0;
	while (shared->granted != me)
		latch_wait();
}

static void lock_release(void)
{
	int next = 0;

	spin_lock();
	if (shared->head == shared->tail)
		shared->held = shared->granted = 0;
	else
		shared->granted = next = shared->waiters[shared->tail++ % BACKENDS];
	shared->spin = 0;
	if (next)
		kill(next, SIGURG);
}

static void handle(struct load_msg *m)
{
	lock_take();
	load_sleep_us(20000);
	m->pad[0]++;
	if (!transaction)
		lock_release();
}

static void backend(int fd, int nth)
{
	struct load_conn *c = malloc(sizeof(*c));
	sigset_t set;

	prctl(PR_SET_NAME, "backend");
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	sigprocmask(SIG_BLOCK, &set, NULL);
	latch_fd = signalfd(-1, &set, SFD_CLOEXEC);
	latch_ep = epoll_create1(EPOLL_CLOEXEC);
	if (latch_fd < 0 || latch_ep < 0)
		load_fail("latch");
	load_epoll_add(latch_ep, latch_fd);
	load.page->tid[nth] = getpid();
	*c = (struct load_conn){ fd, handle };
	load_conn_thread(c);
}

/* Asks once on each connection; the first is answered. */
static void clients_once(void *arg)
{
	for (int i = 0; i < SESSIONS; i++) {
		struct load_msg m = { .conn = i };
		int fd = load_connect(arg);

		load_sleep_us(20000);
		if (i ? load_write(fd, &m, sizeof(m)) : load_call(fd, &m))
			load_fail("ask");
	}
	for (;;)
		pause();
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port);
	pid_t master = getpid();

	for (int i = 0; i < (transaction ? SESSIONS : BACKENDS); i++) {
		int fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC);

		load_nodelay(fd);
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() == master)
				backend(fd, i);
			_exit(0);
		}
		close(fd);
	}
	for (;;)
		wait(NULL);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = BACKENDS, .think_us = 1000 };
	char pids[256] = "";
	pid_t pid;

	load_init(argc, argv, "[--transaction]");
	transaction = load_flag("--transaction");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		load_die("mmap: %s", strerror(errno));
	pid = load_fork("siglock", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	if (transaction) {
		load_fork("client", clients_once, &c.to);
		for (int i = 0; i < SESSIONS; i++)
			load_await(&load.page->tid[i]);
		load_settle(1000);
		load_ready("pid=%d class=lock-held culprit_pid=%d resource=lock_take", pid,
			   load_await(&load.page->tid[0]));
		load_run();
	}
	load_fork("client", load_clients_main, &c);
	for (int i = 0; i < BACKENDS; i++)
		snprintf(pids + strlen(pids), sizeof(pids) - strlen(pids), "%s%d", i ? "|" : "",
			 load_await(&load.page->tid[i]));
	load_settle(1000);
	load_ready("pid=%d class=lock-held culprit_pid=%s", pid, pids);
	load_run();
}
