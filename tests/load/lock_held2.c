/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock-held, second shape: a read-write lock.  Requests hold it for reading; a
 * checkpoint thread (tid[1]) holds it for writing while it writes 800 pages,
 * each with its own fdatasync, then lets go for 20 ms.
 * Truth: the lock's futex held by the checkpoint thread, which is itself in
 * fdatasync of the data file: the lock and the fsync are both right.
 */
#include "load_net.h"
#include "load_sys.h"

static pthread_rwlock_t tree_lock;

static void handle(struct load_msg *m)
{
	pthread_rwlock_rdlock(&tree_lock);
	load_burn_us(20);
	m->pad[0]++;
	pthread_rwlock_unlock(&tree_lock);
}

static void *checkpoint(void *arg)
{
	int fd = open(arg, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char page[8192] = { 1 };

	if (fd < 0)
		load_fail(arg);
	load.page->tid[1] = load_tid();
	for (unsigned turn = 0;; turn++) {
		pthread_rwlock_wrlock(&tree_lock);
		for (unsigned i = 0; i < 800; i++) {
			page[0] = (char)(turn + i);
			if (pwrite(fd, page, sizeof(page), (off_t)(i * 37 % 800) * 8192) < 0 ||
			    fdatasync(fd))
				load_fail("checkpoint");
		}
		pthread_rwlock_unlock(&tree_lock);
		load_sleep_us(20000);
	}
	return NULL;
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port);
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&tree_lock, &attr);
	load_thread("checkpointer", checkpoint, load.file);
	load_serve_threads(lfd, handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16, .think_us = 1000 };
	pid_t pid;

	load_init(argc, argv, "");
	load_path("pages.db");
	pid = load_fork("lock_held2", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_await(&load.page->tid[1]);
	load_settle(1000);
	load_ready("pid=%d class=lock-held|fsync culprit_pid=%d culprit_tid=%d resource=futex|%s",
		   pid, pid, load.page->tid[1], load.file);
	load_run();
}
