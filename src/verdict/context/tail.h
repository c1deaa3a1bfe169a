/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VERDICT_TAIL_H
#define VERDICT_TAIL_H
/*
 * The verdict of the tail: which stalls are worth naming, and what each is.
 * Part of struct verdict, in the same arena.
 */
#include <stdbool.h>

#include "verdict/context/finding.h"

struct stall;

enum tail_quantile { TAIL_P50 = 0, TAIL_P90 = 1, TAIL_P99 = 2, TAIL_P999 = 3, TAIL_QUANTILES = 4 };

struct stall_finding {
	struct finding f;	/* share: of this group's time that is explained so */
	const char *what;	/* without numbers: "event loop of srv (pid 1) blocked in handle" */
	uint32_t cnt, req_cnt;	/* stalls; requests recorded in them */
	uint64_t min_ns, median_ns, max_ns; /* the longest request of each */
	uint64_t every_ns;	/* mean, from begin to begin; 0 for one alone */
	bool regular;
	double share;		/* of all slow requests' time, 0..1 */
	double time_share;	/* of the window, in which one of them went on, 0..1 */
	const char *function;	/* "" not known */
	uint32_t affects;	/* 1 << enum tail_quantile */
	bool of_mean;		/* what the mean request is held up by as well */
	bool own;		/* requests that their own threads held up, no others */
	bool heads;		/* the verdict's first finding is this one */
	const struct stall *stalls; /* cnt of them, by time; waits/tail.h */
};

struct tail {
	uint64_t requests;	/* of the targets, answered */
	uint64_t p50_ns, p99_ns, p999_ns;
	uint64_t slow_ns, slow_cnt; /* from here on slow, and how many were */
	uint64_t late_cnt; /* as slow beside half of all, however many they are */
	struct stall_finding *stalls; size_t stall_cnt; /* those worth naming, largest first */
};

/* "p50", ..., "p999": stable, used in JSON. */
const char *tail_quantile_name(unsigned q);

#endif /* VERDICT_TAIL_H */
