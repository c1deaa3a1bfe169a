/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeps in a hundred stacks, each after the same one, again and again. */
#include <stdio.h>
#include <unistd.h>

#define STACKS 100

static volatile unsigned total;

static __attribute__((noinline)) void down(unsigned left)
{
	if (left)
		down(left - 1);
	else
		usleep(2000);
	total++; /* so that the call above is one */
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (unsigned i = 0;; i++)
		down(i & 1 ? STACKS : i / 2 % STACKS); /* one of them each other time */
}
