/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes context switches at a fixed rate, for measuring what watching costs.
 *
 *	switcher --rate N --threads N --rings N [--pipe] [--depth N]
 *
 * The threads form rings.  In each ring a token goes round: every hop wakes
 * the next thread, by futex or by pipe, and the sender blocks for its own
 * next turn.  The holder of a token that is ahead of its rate sleeps five
 * milliseconds.  So the switches spread evenly over all threads.  Once a
 * second it prints the hops done in it.  With --depth so many functions more
 * lie under each thread's loop.  Runs until it is killed.
 */
#include <errno.h>
#include <getopt.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 20000
#define STACK_BYTES 65536
#define DEPTH_MAX 100	/* times the largest frame below: it fits into a stack */

struct ring {
	uint64_t start_ns;
	double hops_per_ns;
	uint64_t hop_cnt;	/* only the holder of the token writes it */
};

struct seat {
	struct ring *ring;
	struct seat *next;
	_Atomic uint32_t token;	/* futex word: 1 if the token lies here */
	int pipe_fds[2];
};

static int use_pipe, depth;
static _Atomic uint64_t total_hops;

static void die(const char *what)
{
	fprintf(stderr, "switcher: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void take_token(struct seat *seat)
{
	char c;

	if (use_pipe) {
		if (read(seat->pipe_fds[0], &c, 1) != 1)
			die("read");
		return;
	}
	while (!atomic_exchange(&seat->token, 0))
		syscall(SYS_futex, &seat->token, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void give_token(struct seat *seat)
{
	if (use_pipe) {
		if (write(seat->pipe_fds[1], "", 1) != 1)
			die("write");
		return;
	}
	atomic_store(&seat->token, 1);
	syscall(SYS_futex, &seat->token, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Sleeps while the ring is ahead of its rate. */
static void keep_pace(struct ring *ring)
{
	const struct timespec pause = { 0, 5000000 };

	for (;;) {
		double due = (double)(mono_ns() - ring->start_ns) * ring->hops_per_ns;

		if ((double)ring->hop_cnt < due)
			return;
		nanosleep(&pause, NULL);
	}
}

static void *sit(void *arg)
{
	struct seat *seat = arg;

	for (;;) {
		take_token(seat);
		keep_pace(seat->ring);
		seat->ring->hop_cnt++;
		atomic_fetch_add_explicit(&total_hops, 1, memory_order_relaxed);
		give_token(seat->next);
	}
	return NULL;
}

/*
 * A thread goes down through several functions with frames of several sizes,
 * as a server's do: the same rule again and again would be too easy.
 */
static void *go_down(struct seat *seat, int left);

#define DOWN(name, bytes)                                                  \
	static __attribute__((noinline)) void *name(struct seat *seat, int left) \
	{                                                                  \
		volatile char room[bytes];                                 \
		void *ret;                                                 \
                                                                           \
		room[0] = (char)left;                                      \
		ret = go_down(seat, left);                                 \
		room[bytes - 1] = room[0]; /* and no jump instead of the call */ \
		return ret;                                                \
	}
DOWN(down_a, 16)
DOWN(down_b, 80)
DOWN(down_c, 40)
DOWN(down_d, 200)
DOWN(down_e, 8)
DOWN(down_f, 120)
DOWN(down_g, 300)
DOWN(down_h, 64)

static inline __attribute__((always_inline)) void *go_down(struct seat *seat, int left)
{
	static void *(*const down[])(struct seat *, int) = {
		down_a, down_b, down_c, down_d, down_e, down_f, down_g, down_h,
	};

	return left ? down[left % 8](seat, left - 1) : sit(seat);
}

static void *start(void *arg)
{
	return go_down(arg, depth);
}

static void start_ring(struct ring *ring, int seat_cnt, double hops_per_s)
{
	struct seat *seats = calloc((size_t)seat_cnt, sizeof(*seats));
	pthread_attr_t attr;
	pthread_t thread;

	if (!seats)
		die("calloc");
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	ring->hops_per_ns = hops_per_s / 1e9;
	ring->start_ns = mono_ns();
	for (int i = 0; i < seat_cnt; i++) {
		seats[i].ring = ring;
		seats[i].next = &seats[(i + 1) % seat_cnt];
		if (use_pipe && pipe(seats[i].pipe_fds))
			die("pipe");
	}
	for (int i = 0; i < seat_cnt; i++) {
		errno = pthread_create(&thread, &attr, start, &seats[i]);
		if (errno)
			die("pthread_create");
	}
	give_token(&seats[0]);
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "rate", required_argument, NULL, 'r' },
		{ "threads", required_argument, NULL, 't' },
		{ "rings", required_argument, NULL, 'n' },
		{ "pipe", no_argument, NULL, 'p' },
		{ "depth", required_argument, NULL, 'd' },
		{ NULL, 0, NULL, 0 },
	};
	int rate = 20000, thread_cnt = 8, ring_cnt = 2, opt;
	uint64_t before = 0;

	while ((opt = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		switch (opt) {
		case 'r': rate = atoi(optarg); break;
		case 't': thread_cnt = atoi(optarg); break;
		case 'n': ring_cnt = atoi(optarg); break;
		case 'p': use_pipe = 1; break;
		case 'd': depth = atoi(optarg); break;
		default: return 2;
		}
	}
	if (rate < 1 || ring_cnt < 1 || thread_cnt < 2 * ring_cnt || thread_cnt > THREADS_MAX ||
	    depth < 0 || depth > DEPTH_MAX) {
		fprintf(stderr,
			"switcher: needs a rate, two threads for each ring, depth up to %d\n",
			DEPTH_MAX);
		return 2;
	}
	for (int i = 0; i < ring_cnt; i++) {
		struct ring *ring = calloc(1, sizeof(*ring));

		if (!ring)
			die("calloc");
		start_ring(ring, thread_cnt / ring_cnt, (double)rate / ring_cnt);
	}
	for (;;) {
		uint64_t now;

		sleep(1);
		now = atomic_load(&total_hops);
		printf("%llu\n", (unsigned long long)(now - before));
		fflush(stdout);
		before = now;
	}
}
