/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock-held between processes: four forked workers accept from one listening
 * socket and serve a connection at a time; each request needs a process-shared
 * mutex in shared memory.  `janitor`, one more process that maps it at another
 * address, holds it 200 ms at a time (asleep) and leaves it for 40 ms.
 * Watch one worker (or the master, whose children they are).
 * Truth: the shared futex, held by the janitor (culprit_pid).
 */
#include "load_net.h"

#define WORKERS 4

static struct shared {
	pthread_mutex_t lock;
	uint64_t counter;
} *shared;

static int shm_fd;

static struct shared *map_shared(void)
{
	void *at = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, shm_fd, 0);

	if (at == MAP_FAILED)
		load_fail("mmap");
	return at;
}

static void handle(struct load_msg *m)
{
	pthread_mutex_lock(&shared->lock);
	load_burn_us(20);
	m->seq = shared->counter++;
	pthread_mutex_unlock(&shared->lock);
}

static void janitor(void *arg)
{
	struct shared *mine = map_shared();

	(void)arg;
	load.page->tid[1] = load_tid();
	for (;;) {
		pthread_mutex_lock(&mine->lock);
		load_sleep_us(200000);
		mine->counter = 0;
		pthread_mutex_unlock(&mine->lock);
		load_sleep_us(40000);
	}
}

static void serve(void *arg)
{
	load_serve_forked(load_listen(arg, 128, &load.page->port), WORKERS, NULL, handle);
}

static void make_shared(void)
{
	pthread_mutexattr_t attr;

	shm_fd = memfd_create("counters", MFD_CLOEXEC);
	if (shm_fd < 0 || ftruncate(shm_fd, 4096))
		load_die("memfd: %s", strerror(errno));
	shared = map_shared();
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->lock, &attr);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 12, .think_us = 500, .per_conn = 20 };
	pid_t master;

	load_init(argc, argv, "");
	make_shared();
	master = load_fork("mplock", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("janitor", janitor, NULL);
	load_fork("client", load_clients_main, &c);
	load_await(&load.page->tid[1]);
	load_await(&load.page->tid[2]);
	load_settle(1000);
	load_ready("pid=%d class=lock-held culprit_pid=%d culprit_tid=%d master_pid=%d "
		   "resource=futex", load.page->tid[2], load.page->tid[1], load.page->tid[1],
		   master);
	load_run();
}
