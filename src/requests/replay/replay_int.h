/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPLAY_INT_H
#define REPLAY_INT_H
/*
 * What the files of the replay share; not for others.
 */
#include "base/arena.h"
#include "requests/replay/replay.h"
#include "requests/graph/span_ends.h"
#include "requests/forest/space.h"

struct replay {
	struct replay_input in;
	struct replay_opts opts;
	struct space *space;
	struct arena arena;
	uint32_t *order;	/* of the live traces */
	uint32_t point_cnt;	/* numbers of operations there are */
	uint32_t space_cnt;	/* tracepoints in the space: see replay_count */
	uint32_t always_cnt;
	uint8_t *known, *always; /* enum sides by point: of the space; of these always on */
	struct replay_truth truths[INJECT_MAX_CNT];
	uint32_t truth_cnt, least_cnt;
};

/* One run of a strategy. */
struct replay_job {
	struct replay *r;
	struct arena *arena;	/* for the result */
	struct replay_result *ret;
	uint8_t *on, *ever;	/* enum sides by point; ever: without those always on */
};

/* The nth trace of the round (from 1), everything on, with what is injected. */
void replay_trace(struct replay *r, uint32_t round, uint32_t nth, struct arena *arena,
		  struct trace *ret, struct inject_hits *hits);

/* As it would be with only job->on; counts what is shown. */
void replay_show(struct replay_job *job, const struct trace *full, struct arena *arena,
		 struct trace *ret);

/* Begins the next round; false: there is none. */
bool replay_next_round(struct replay_job *job);

void replay_switch_on(struct replay_job *job, struct sided one);

/* Tracepoints of one operation: a span, or apart its begin and its end. */
uint32_t replay_count(const struct replay *r, uint32_t sides);

/* Finds truths and least_cnt. */
void replay_find_truths(struct replay *r);

void replay_rule_run(struct replay_job *job);
void replay_astraea_run(struct replay_job *job);

#endif /* REPLAY_INT_H */
