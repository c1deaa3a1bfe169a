/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that stand, or run, in frames of all kinds, for t_unwind: a handler
 * on its own stack, libc's qsort below our function, realigned stacks, deep
 * recursion, variable frames, calls through the PLT.  Says "ready" and waits.
 */
#include <alloca.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef long wide __attribute__((vector_size(64)));
static void *volatile sink;
static volatile long total;

static __attribute__((noinline)) void stand(void)
{
	for (;;)
		pause();
}

static void handler(int sig)
{
	total += sig;
	stand();
}

static void *in_handler(void *altstack)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	stack_t ss = {.ss_sp = altstack, .ss_size = 65536};

	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	pthread_kill(pthread_self(), SIGUSR1);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	stand();
	return *(const int *)a - *(const int *)b;
}

static void *in_qsort(void *arg)
{
	int values[] = {3, 1, 2};

	qsort(values, 3, sizeof(values[0]), compare);
	return arg;
}

static __attribute__((noinline)) void realigned(size_t len)
{
	wide w[3];
	char *vary = alloca(len);

	sink = w;
	memset(vary, 0, len);
	sink = vary;
	stand();
	total += w[1][0] + vary[len / 2];
}

static void *in_realigned(void *arg)
{
	realigned(1000 + (size_t)total % 2);
	return arg;
}

static __attribute__((noinline)) int deep(int depth)
{
	volatile char frame[100];

	frame[depth % 100] = 1;
	if (depth == 0)
		stand();
	else
		deep(depth - 1);
	return frame[3];
}

static void *in_deep(void *arg)
{
	total += deep(300);
	return arg;
}

/* Never stands: whatever instruction a stop meets. */
static void *running(void *arg)
{
	char text[64];
	void *volatile block = NULL;

	for (unsigned long i = 0;; i++) {
		snprintf(text, sizeof(text), "%lu %a", i, sin((double)i));
		total += (long)strlen(text) + (long)strtoul(text, NULL, 10);
		free(block);
		block = malloc(i % 5000);
	}
	return arg;
}

int main(void)
{
	void *(*const threads[])(void *) = {in_handler, in_qsort, in_realigned, in_deep, running};
	pthread_t t;

	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		if (pthread_create(&t, NULL, threads[i], malloc(65536)))
			return 1;
	usleep(200000);
	puts("ready");
	fflush(stdout);
	stand();
	return 0;
}
