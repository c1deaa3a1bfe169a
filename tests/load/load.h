/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOAD_H
#define LOAD_H
/*
 * What every load program shares: the supervisor's life cycle.  The process
 * that a person starts only supervises.  It forks the server (the process to
 * watch), the clients and the culprits, prints what they put into one shared
 * page, and at the end kills them and removes what they made.
 *
 *	load_init, load_fork.., load_await, load_settle, load_ready, load_run
 *
 * load_init	options, signals, the shared page, the burn calibration
 * load_fork	one child with its own name; dies with the supervisor
 * load_await	waits until a child has set a word of the shared page
 * load_ready	the line that a test reads: what to watch and what is true
 * load_run	one stat line a second until SIGTERM or the end; cleans up
 *
 * Header only, with bodies over the usual three lines, so that each program
 * is compiled alone: gcc -std=gnu11 -pthread NAME.c -lrt.  One supervisor a
 * process, hence the one static `load`.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE		/* so load.h comes before every other header */
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOAD_FN static __attribute__((unused))
#define LOAD_SKIP 77		/* exit status: this machine can't show it */
#define LOAD_MAX_KIDS 40
#define LOAD_MAX_SECONDS 600
#define LOAD_BUCKETS 256	/* latency: 8 per doubling, from 1 us */

struct load_page {		/* shared by all processes of one program */
	_Atomic int port;	/* server listens */
	_Atomic int upstream_port;
	_Atomic int tid[16];	/* what the program's own comment says */
	_Atomic uint64_t num[16];
	_Atomic uint64_t done_cnt;
	_Atomic uint64_t hist[LOAD_BUCKETS];
};

struct load_kid {
	pid_t pid;
	const char *name;
};

struct load {
	const char *name;
	int argc;
	char **argv;
	uint64_t end_ns;
	uint64_t burn_per_ms;	/* loop turns */
	struct load_page *page;
	struct load_kid kids[LOAD_MAX_KIDS];
	int kid_cnt;
	char dir[96];		/* made by load_dir */
	char cgroup[160];	/* made by load_cgroup */
	char netns[32];		/* made by load_netns */
	char file[160];		/* last load_path */
	void (*at_end)(void);	/* after the children are gone */
};

static struct load load;

LOAD_FN uint64_t load_clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

LOAD_FN uint64_t load_now_ns(void)
{
	return load_clock_ns(CLOCK_MONOTONIC);
}

LOAD_FN pid_t load_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

LOAD_FN void load_sleep_us(uint64_t us)
{
	struct timespec ts = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

LOAD_FN void load_spin(uint64_t turns)
{
	volatile uint64_t x = 88172645463325252u;

	while (turns--)
		x = x * 6364136223846793005u + 1442695040888963407u;
}

/* CPU time, not wall time: a thread that waits for a CPU has not done its work. */
LOAD_FN void load_burn_us(uint64_t us)
{
	load_spin(load.burn_per_ms * us / 1000);
}

#include "load_life.h"

#endif /* LOAD_H */
