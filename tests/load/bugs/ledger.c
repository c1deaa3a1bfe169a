/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger: accounts with a lock each, an audit file, jobs for a thread of
 * their own.  Its bugs: locks taken in the order of the request (deadlock), a
 * wait that does not look whether it is over already (lost wake-up), and a
 * wait that asks again and again (busy loop).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame.h"

#define ACCOUNT_CNT 16
#define START_MONEY 1000
#define JOB_MAX 64
#define JOB_US 200
#define LONG 100		/* times as much for "?long" */
#define HISTORY_LEN (64 * 1024)

struct account { pthread_mutex_t lock; long money; };

struct job {
	pthread_mutex_t lock;
	pthread_cond_t over;
	bool done;
	int fd;			/* an eventfd, or -1: over is signalled */
	unsigned run_us;
	long result;
};

static struct account accounts[ACCOUNT_CNT];
static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct job *jobs[JOB_MAX];
	unsigned head, cnt;
} jobs = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};
static int audit_fd, history_fd;

/* ---- the audit file */

FN static void audit_add(const char *what, unsigned from, unsigned to, long money)
{
	char line[96];
	int n = snprintf(line, sizeof(line), "%s %u %u %ld\n", what, from, to, money);

	if (write(audit_fd, line, n) != n)
		die("audit");
}

/* ---- accounts */

FN static void account_move(struct account *from, struct account *to, long money)
{
	from->money -= money;
	to->money += money;
}

FN static void account_transfer(unsigned from, unsigned to, long money)
{
	bool turn = !bug_on("deadlock") && from > to;
	struct account *one = &accounts[turn ? to : from];
	struct account *two = &accounts[turn ? from : to];

	pthread_mutex_lock(&one->lock);
	usleep(100);		/* as a slow check of the first account */
	pthread_mutex_lock(&two->lock);
	account_move(&accounts[from], &accounts[to], money);
	audit_add("move", from, to, money);
	pthread_mutex_unlock(&two->lock);
	pthread_mutex_unlock(&one->lock);
}

FN static long account_balance(unsigned i)
{
	long money;

	pthread_mutex_lock(&accounts[i].lock);
	money = accounts[i].money;
	pthread_mutex_unlock(&accounts[i].lock);
	return money;
}

FN static void snapshot_write(void)
{
	char path[256], text[1024];
	size_t len = 0;
	int fd = open(path_in(path, sizeof(path), "snapshot", 0),
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	for (unsigned i = 0; i < ACCOUNT_CNT; i++)
		len += snprintf(text + len, sizeof(text) - len, "%u %ld\n", i,
				accounts[i].money);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		die(path);
	close(fd);
}

/* ---- the file of the past */

FN static long history_read(unsigned at)
{
	char text[512];

	return pread(history_fd, text, sizeof(text), at % (HISTORY_LEN - sizeof(text)));
}

FN static long history_size(void)
{
	struct stat st;

	return fstat(history_fd, &st) ? -1 : st.st_size;
}

/* ---- jobs */

FN static void job_init(struct job *job, bool with_fd, unsigned run_us)
{
	memset(job, 0, sizeof(*job));
	pthread_mutex_init(&job->lock, NULL);
	pthread_cond_init(&job->over, NULL);
	job->run_us = run_us;
	job->fd = with_fd ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
}

FN static void job_submit(struct job *job)
{
	pthread_mutex_lock(&jobs.lock);
	if (jobs.cnt < JOB_MAX)
		jobs.jobs[(jobs.head + jobs.cnt++) % JOB_MAX] = job;
	pthread_cond_signal(&jobs.filled);
	pthread_mutex_unlock(&jobs.lock);
}

FN static void job_finish(struct job *job, long result)
{
	uint64_t one = 1;
	int fd = job->fd;

	pthread_mutex_lock(&job->lock);
	job->result = result;
	job->done = true;
	pthread_cond_signal(&job->over);
	pthread_mutex_unlock(&job->lock);
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		die("eventfd");
}

/* The signal may have come before the wait begins. */
FN static void job_wait(struct job *job)
{
	pthread_mutex_lock(&job->lock);
	while (!job->done || bug_on("lost-wakeup")) {
		pthread_cond_wait(&job->over, &job->lock);
		if (bug_on("lost-wakeup"))
			break;
	}
	pthread_mutex_unlock(&job->lock);
}

FN static void job_poll(struct job *job)
{
	struct pollfd p = {.fd = job->fd, .events = POLLIN};
	uint64_t cnt;

	while (read(job->fd, &cnt, sizeof(cnt)) != (ssize_t)sizeof(cnt))
		poll(&p, 1, bug_on("busy-loop") ? 0 : 1000);
	close(job->fd);
}

FN static long job_run(const struct job *job, unsigned at)
{
	usleep(job->run_us);
	return history_read(at) + history_size();
}

static void *jobs_run(void *arg)
{
	struct job *job;

	(void)arg;
	for (unsigned i = 0;; i++) {
		pthread_mutex_lock(&jobs.lock);
		while (!jobs.cnt)
			pthread_cond_wait(&jobs.filled, &jobs.lock);
		job = jobs.jobs[jobs.head];
		jobs.head = (jobs.head + 1) % JOB_MAX;
		jobs.cnt--;
		pthread_mutex_unlock(&jobs.lock);
		job_finish(job, job_run(job, i));
	}
	return NULL;
}

/* ---- routes */

FN static void route_transfer(struct request *req, struct reply *rep)
{
	unsigned seed = (unsigned)(now_ns() >> 10) * 2654435761u;
	unsigned from = (seed >> 8) % ACCOUNT_CNT, to = (seed >> 16) % ACCOUNT_CNT;

	(void)req;
	if (from == to)
		to = (to + 1) % ACCOUNT_CNT;
	account_transfer(from, to, 1);
	reply_add(rep, "%u to %u\n", from, to);
}

FN static void route_balance(struct request *req, struct reply *rep)
{
	reply_add(rep, "%ld\n", account_balance((unsigned)req->fd % ACCOUNT_CNT));
}

FN static void route_snapshot(struct request *req, struct reply *rep)
{
	(void)req;
	snapshot_write();
	reply_add(rep, "written\n");
}

FN static void route_history(struct request *req, struct reply *rep)
{
	reply_add(rep, "%ld\n", history_read((unsigned)req->fd * 4099));
}

/* Waits for the thread of the jobs; some work of its own comes between. */
FN static void route_job(struct request *req, struct reply *rep)
{
	struct job *job = malloc(sizeof(*job));	/* a waiter that hangs keeps it */

	if (!job)
		die("job");
	job_init(job, false, JOB_US);
	job_submit(job);
	usleep(strcmp(req->arg, "long") ? JOB_US / 4 : 20 * JOB_US);
	job_wait(job);
	reply_add(rep, "%ld\n", job->result);
	free(job);
}

FN static void route_task(struct request *req, struct reply *rep)
{
	struct job *job = malloc(sizeof(*job));

	if (!job)
		die("job");
	job_init(job, true, strcmp(req->arg, "long") ? JOB_US : LONG * JOB_US);
	job_submit(job);
	job_poll(job);
	reply_add(rep, "%ld\n", job->result);
	free(job);
}

static void start(void)
{
	static char text[HISTORY_LEN];
	char path[256];

	for (unsigned i = 0; i < ACCOUNT_CNT; i++) {
		pthread_mutex_init(&accounts[i].lock, NULL);
		accounts[i].money = START_MONEY;
	}
	audit_fd = open(path_in(path, sizeof(path), "audit", 0),
			O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	history_fd = open(path_in(path, sizeof(path), "history", 0),
			  O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (audit_fd < 0 || history_fd < 0 || write(history_fd, text, sizeof(text)) < 0)
		die(path);
	thread_start(jobs_run, NULL, "jobs");
}

static const struct route routes[] = {
	{"/transfer", route_transfer}, {"/balance", route_balance},
	{"/snapshot", route_snapshot}, {"/history", route_history},
	{"/job", route_job}, {"/task", route_task}, {NULL, NULL},
};

static const struct bug bugs[] = {
	{"deadlock", "account_transfer", "two locks taken in either order"},
	{"lost-wakeup", "job_wait", "a wait that does not look first"},
	{"busy-loop", "job_poll", "a wait that asks again and again"},
	{NULL, NULL, NULL},
};

static const struct server server = {.routes = routes, .bugs = bugs, .start = start};

int main(int argc, char **argv)
{
	return frame_main(argc, argv, &server);
}
