/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the ns of one send and receive over a socket pair, the least of
 * ROUNDS: callcost KIB, so much memory touched before each.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

enum { ROUNDS = 60, TURNS = 400, LINE = 64 };

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t turn(const int *ends)
{
	uint64_t begin = now_ns();
	char byte = 1;

	if (send(ends[0], &byte, 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
		exit(1);
	return now_ns() - begin;
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) * 1024 : 0;
	volatile char *mem = calloc(size + 1, 1);
	uint64_t best = UINT64_MAX;
	int ends[2];

	if (!mem || socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t sum = 0;

		for (int j = 0; j < TURNS; j++) {
			for (size_t at = 0; at < size; at += LINE)
				mem[at]++;
			sum += turn(ends);
		}
		best = sum / TURNS < best ? sum / TURNS : best;
	}
	printf("%llu\n", (unsigned long long)best);
	return 0;
}
