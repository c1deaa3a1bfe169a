/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many N: maps the program's own code N times more, each apart, and sleeps at
 * the end of a chain of calls through the first, a middle and the last of them.
 * Every other one is an anonymous page, as of code made at run time.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define GAP 4 /* pages from one to the next */

struct hop {
	void (*fn)(const struct hop *);
	int (*sleep)(const struct timespec *, struct timespec *);
	struct timespec pause;
};

/* Runs wherever it lies: nothing is referred to by distance. */
__attribute__((noinline, noclone, aligned(4096), optimize("no-optimize-sibling-calls")))
void hop(const struct hop *h);
void hop(const struct hop *h)
{
	volatile int here = 0;

	if (h->fn)
		h->fn(h + 1);
	else
		h->sleep(&h->pause, NULL);
	here++;
}

/* Of this page of the program in its file. */
static off_t file_off(uintptr_t addr)
{
	unsigned long from, to, off;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &off) == 3 && addr >= from &&
		    addr < to)
			return (off_t)(addr - from + off);
	exit(2);
}

int main(int argc, char **argv)
{
	unsigned cnt = argc > 1 ? (unsigned)atoi(argv[1]) : 2000;
	uintptr_t page = (uintptr_t)hop & ~4095ul, at = (uintptr_t)hop & 4095;
	char *area = mmap(NULL, (size_t)cnt * GAP * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	int fd = open("/proc/self/exe", O_RDONLY);
	unsigned use[3] = {0, cnt / 2 & ~1u, (cnt - 1) & ~1u};
	struct hop hops[4] = {0};

	for (unsigned i = 0; i < cnt; i++) {
		char *to = area + (size_t)i * GAP * 4096;
		int flags = MAP_PRIVATE | MAP_FIXED | (i & 1 ? MAP_ANONYMOUS : 0);

		if (mmap(to, 4096, PROT_READ | PROT_EXEC, flags, i & 1 ? -1 : fd,
			 i & 1 ? 0 : file_off(page)) == MAP_FAILED)
			return 2;
	}
	for (int i = 0; i < 3; i++)
		hops[i].fn = (void *)(area + (size_t)use[i] * GAP * 4096 + at);
	hops[3].sleep = nanosleep;
	hops[3].pause.tv_nsec = 20000000;
	puts("ready");
	fflush(stdout);
	for (;;)
		hop(hops);
}
