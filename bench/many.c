/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes, or many forks, for measuring what following them costs.
 *
 *	many procs N MS		N children that sleep MS milliseconds again and again
 *	many forks N		N forks a second, each child exits at once
 *
 * Once a second `many forks` prints how many it did in it.  Both run until killed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define BURST_NS 5000000	/* forks are made in bursts of what is due in this */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	nanosleep(&ts, NULL);
}

static void procs(long cnt, long ms)
{
	for (long i = 0; i < cnt; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			sleep_ns((uint64_t)ms * 1000000);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

static void fork_one(void)
{
	if (!vfork())
		_exit(0);
}

static void forks(long rate)
{
	uint64_t begin = now_ns(), done = 0, said = 0, second = begin;

	signal(SIGCHLD, SIG_IGN);	/* the kernel reaps */
	for (;;) {
		uint64_t now = now_ns();
		uint64_t due = (uint64_t)((double)(now - begin) / 1e9 * (double)rate);

		if (now - second >= 1000000000) {
			printf("%llu forks/s\n", (unsigned long long)(done - said));
			fflush(stdout);
			said = done;
			second = now;
		}
		if (done >= due)
			sleep_ns(BURST_NS);
		for (; done < due && now_ns() - now < 200000000; done++)
			fork_one();
	}
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "procs"))
		procs(atol(argv[2]), atol(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "forks"))
		forks(atol(argv[2]));
	fprintf(stderr, "usage: many procs N MS | many forks N\n");
	return 2;
}
