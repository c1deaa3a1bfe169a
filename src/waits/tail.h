/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TAIL_H
#define TAIL_H
/*
 * The tail: what held up the slow requests, however few they are.
 *
 * A stall is a stretch of real time in which one or more requests of the
 * targets were held for one reason.  It is found from two kinds of evidence:
 * requests that took long (ev_turn), and threads that serve requests and were
 * kept by one long wait, whether a request was recorded of it or not.
 *
 *	waits_analyse makes it, as waits_result.tail; NULL where no requests were seen
 *
 * Judges nothing but which requests count as slow: which stalls are worth
 * naming is for verdict/.  Bounded: TAIL_SPANS_MAX requests, the longest win.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAIL_SPANS_MAX 4096

struct cause;
struct model;
struct waits_result;

struct stall {
	uint64_t begin_ns, end_ns;
	uint64_t len_ns;	/* the longest request in it */
	uint64_t sum_ns;	/* all requests in it */
	uint32_t req_cnt;	/* recorded ones; a thread's wait without a record counts as one */
	uint32_t thread;	/* model idx where most of it ends, NO_IDX */
	uint32_t entry;		/* the thread that had the longest request, NO_IDX */
	uint8_t kind;		/* enum cause_kind */
	uint8_t own;		/* 1: a request that its own thread held up, no other */
};

struct stall_group {		/* stalls with one reason; by sum_ns */
	const struct stall *stalls; size_t stall_cnt; /* by begin_ns */
	uint64_t min_ns, median_ns, max_ns; /* of len_ns */
	uint64_t every_ns;	/* mean time from begin to begin, 0 for one alone */
	bool regular;		/* those times differ little */
	uint64_t sum_ns;
	uint64_t busy_ns;	/* real time in which one of them went on */
	uint32_t req_cnt;
	struct cause *causes; size_t cause_cnt; /* of all its requests, as in waits_result */
};

struct waits_tail {
	uint64_t requests;	/* of the targets, answered */
	uint64_t p50_ns, p90_ns, p99_ns, p999_ns;
	uint64_t slow_ns;	/* from here on a request is slow */
	uint64_t slow_cnt;	/* slow requests, recorded or only counted */
	uint64_t late_cnt;	/* as slow beside half of all, however many they are */
	uint64_t sum_ns;	/* of those recorded and of the waits without a record */
	uint64_t left_out_cnt;	/* over TAIL_SPANS_MAX */
	uint64_t hist[48];	/* answer times of the targets, as in struct end */
	const struct model *view; /* the model with its long waits for waits */
	const struct waits_result *w; /* locks and edges of the view; threads, groups are shared */
	struct stall_group *groups; size_t group_cnt;
};

/* Requests at least this long, of those in hist; its resolution is half a power of two. */
uint64_t hist_from(const uint64_t *hist, uint64_t ns);

#endif /* TAIL_H */
