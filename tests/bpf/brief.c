/* SPDX-License-Identifier: Apache-2.0 */
/* A process that computes for some milliseconds, sleeps for one and is gone. */
#include <time.h>

static volatile unsigned long sum;

static __attribute__((noinline)) void spin(unsigned long us)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (int i = 0; i < 1000; i++)
			sum += (unsigned long)i;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((unsigned long)(now.tv_sec - begin.tv_sec) * 1000000 +
		 (unsigned long)(now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

int main(void)
{
	spin(4000);
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	spin(1000);
	return 0;
}
