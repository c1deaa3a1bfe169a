/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIMELINES_H
#define TIMELINES_H
/*
 * Followed requests (paths/paths.h) cut into parts by the functions that their threads
 * entered.  A part begins with the entry of a function and ends with the next entry
 * of one that is on, so what runs after the function returned is in it, too; which of
 * both it was, explore.h decides.
 *
 *	timelines_hit for each PATH_POINT; timelines_make when the round is over
 *
 * Time in which the request waits for an answer that it asked for is a part of its
 * own (PART_ASK), since the thread may work on other requests then; so is the time until a
 * worker takes it (PART_QUEUE).  Parts of one request add up to its time.
 *
 * Parts that begin with the same function are one.  What a hit itself costs is taken off
 * (hit_ns): else what is called often would seem to be slow, since it is looked at.
 *
 * Bounds: TIMELINE_HITS_MAX hits of a round.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "wire/path_events.h"

struct paths_result;

#define TIMELINE_HITS_MAX (1u << 20)

/* Beside numbers of tracepoints: */
#define PART_BEGIN (UINT32_MAX - 1)		/* nothing that is on was entered yet */
#define PART_ASK (UINT32_MAX - 2)
#define PART_QUEUE (UINT32_MAX - 3)

struct part {
	uint32_t point;
	uint32_t hit_cnt;		/* 0 of PART_* */
	uint64_t ns, wait_ns;		/* wait_ns: of it asleep */
	uint64_t cost_ns;		/* that was taken off */
	uint64_t wait_max_ns;
	uint32_t wait_kind;		/* of the longest sleep: PART_WAIT_* */
	uint64_t longest_ns;		/* after one hit; its arguments: */
	uint64_t args[PATH_ARG_CNT];
};

#define PART_WAIT_NONE UINT32_MAX	/* else a system call's number, and: */
#define PART_WAIT_LOCK (1u << 16)
#define PART_WAIT_FAULT (1u << 17)

struct timeline {			/* of a request */
	uint64_t ns, arrival_ns;
	uint32_t first, cnt;		/* in parts */
	uint32_t tgid, tid;		/* that replied */
	uint16_t port;			/* 0: a unix socket */
	uint64_t bytes_in, bytes_out;
	uint32_t in_flight, nth;
	struct path_sock ask;		/* whom it asked longest; family 0: nobody */
	uint32_t ask_point;		/* in which part it began to wait longest */
};

struct timelines {			/* all zero is valid */
	VEC(struct path_event) hits;
	VEC(struct timeline) items;	/* by arrival */
	VEC(struct part) parts;
	uint64_t hits_left_cnt;		/* over the bound */
	VEC(double) hit_ns;		/* by point: what a hit costs; missing: 0 */
};

void timelines_hit(struct timelines *t, const struct path_event *e);

/* Adds the requests of a round that began and ended in it; its hits are gone then. */
void timelines_make(struct timelines *t, const struct paths_result *r);

void timelines_clear(struct timelines *t);
void timelines_release(struct timelines *t);

#endif /* TIMELINES_H */
