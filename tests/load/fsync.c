/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsync: each request appends a record to a log and is answered when the log
 * is on the disk.  One writer thread does the commits, at most BATCH records
 * at a time (write, then fdatasync); each request thread waits for its own on
 * a condition variable.
 * Truth: fdatasync of the log file by the writer (tid[1]); the futexes that
 * the others wait for are only the way to it.
 */
#include "load_net.h"
#include "load_sys.h"

#define RECORD (16 * 1024)
#define BATCH 2
#define LOG_BYTES (64 << 20)	/* then from the start, so that a long run fills no disk */

struct record {
	pthread_cond_t durable;
	int done;
	struct record *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t appended = PTHREAD_COND_INITIALIZER;
static struct record *first, **last = &first;

static void handle(struct load_msg *m)
{
	struct record r = { .durable = PTHREAD_COND_INITIALIZER };

	m->pad[0]++;
	pthread_mutex_lock(&lock);
	*last = &r;
	last = &r.next;
	pthread_cond_signal(&appended);
	while (!r.done)
		pthread_cond_wait(&r.durable, &lock);
	pthread_mutex_unlock(&lock);
}

static void commit(int fd, int record_cnt, off_t *at)
{
	static char buf[BATCH * RECORD];
	size_t len = (size_t)record_cnt * RECORD;

	if (*at >= LOG_BYTES) {
		if (ftruncate(fd, 0))
			load_fail("ftruncate");
		*at = 0;
	}
	memset(buf, (int)*at, len);
	if (pwrite(fd, buf, len, *at) != (ssize_t)len || fdatasync(fd))
		load_fail("log");
	*at += (off_t)len;
}

static void *log_writer(void *arg)
{
	int fd = open(arg, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), n;
	struct record *batch[BATCH];
	off_t at = 0;

	if (fd < 0)
		load_fail(arg);
	load.page->tid[1] = load_tid();
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!first)
			pthread_cond_wait(&appended, &lock);
		for (n = 0; n < BATCH && first; n++) {
			batch[n] = first;
			first = first->next;
		}
		if (!first)
			last = &first;
		pthread_mutex_unlock(&lock);
		commit(fd, n, &at);
		pthread_mutex_lock(&lock);
		while (n--) {
			batch[n]->done = 1;
			pthread_cond_signal(&batch[n]->durable);
		}
	}
	return NULL;
}

static void serve(void *arg)
{
	int lfd = load_listen(arg, 128, &load.page->port);

	load_thread("log-writer", log_writer, load.file);
	load_serve_threads(lfd, handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16 };
	pid_t pid;

	load_init(argc, argv, "");
	load_path("commit.log");
	pid = load_fork("fsync", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_await(&load.page->tid[1]);
	load_settle(1000);
	load_ready("pid=%d class=fsync culprit_pid=%d culprit_tid=%d resource=%s", pid, pid,
		   load.page->tid[1], load.file);
	load_run();
}
