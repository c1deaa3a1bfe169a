/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLIGHT_ANOMALY_H
#define FLIGHT_ANOMALY_H
/*
 * Something is wrong with the answers: the flight recorder's own detector.
 *
 * An answer is a thread's first write to a socket after it has read from one,
 * and takes from the end of that read to the end of the write.  Once a second
 * two numbers are taken: the mean time of the answers given, and the age of
 * the oldest read that is not answered yet.  Either is wrong when it is both
 *
 *	over 4 times what it was (median of the last minute; for the oldest
 *	read the longest answer there was), and over median + 8 scaled MADs,
 *	over a tenth of a second, or a second for the oldest read,
 *
 * three seconds in a row, after 20 quiet ones to learn from.  The number of
 * answers is not looked at: clients may stop asking.  Reads count only of
 * threads that have answered before: for a server that reads in one thread
 * and writes in another it is blind rather than wrong.
 *
 * anomaly_call for each call in the order of its end, anomaly_second once a
 * second.  Bounded: ANOMALY_THREADS_MAX threads, more are not looked at.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define ANOMALY_THREADS_MAX 16384
#define ANOMALY_SECONDS 60

enum anomaly_op { ANOMALY_READ = 1, ANOMALY_WRITE = 2 };

struct anomaly_series {
	double last[ANOMALY_SECONDS];
	unsigned cnt, bad; /* taken so far; wrong ones in a row */
};

struct anomaly {
	struct hmap reads;	/* tid to the end of a read that is not answered */
	struct hmap answerers;	/* tids that have answered */
	uint64_t sum_ns, cnt, most_ns; /* answers of this second */
	struct anomaly_series answer, longest;
	unsigned stuck_cnt;	/* seconds in a row */
};

/* All-zero is valid. */
void anomaly_release(struct anomaly *a);
void anomaly_call(struct anomaly *a, uint32_t tid, enum anomaly_op op, uint64_t end_ns);
void anomaly_gone(struct anomaly *a, uint32_t tid);
/* Calls went unseen until now: what was begun before may have been answered. */
void anomaly_away(struct anomaly *a);
/* True when it is time to look; then reason says what is wrong. */
bool anomaly_second(struct anomaly *a, uint64_t now, char *ret_reason, size_t size);

#endif /* FLIGHT_ANOMALY_H */
