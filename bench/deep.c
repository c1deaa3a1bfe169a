/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeps again and again below so many frames: deep COUNT.  For bench/stacks. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static __attribute__((noinline)) int below(long left)
{
	const struct timespec pause = {.tv_nsec = 100000};
	volatile char frame[40];

	frame[0] = 1;
	if (left)
		return below(left - 1) + frame[0];
	for (;;)
		nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	puts("ready");
	fflush(stdout);
	return below(argc > 1 ? strtol(argv[1], NULL, 10) : 0);
}
