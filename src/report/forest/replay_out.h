/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPLAY_OUT_H
#define REPLAY_OUT_H
/*
 * Renders what strategies found in replayed traces.  Each appends to out.
 */
#include <stddef.h>

#include "requests/replay/replay.h"
#include "requests/forest/space.h"

struct buf;
struct pen;

struct replay_view {
	const struct points *points;
	const struct strtab *strings;
	const struct space_view *space;
	const struct replay_input *input;
	const struct replay_result *results;
	size_t result_cnt;
	uint32_t batch;
	uint32_t point_cnt, always_cnt; /* tracepoints of the space; of these always on */
	bool apart;		/* they are begins and ends of spans; else spans */
	double mean_ns;		/* of the requests learnt from */
	uint64_t learnt_cnt;	/* requests in the search space */
	bool split;		/* learnt from one half, the other replayed */
	bool stopped;		/* Ctrl-C: a part of the requests, or of the strategies */
};

/* One line a strategy; with one strategy alone what it decided, round by round. */
void replay_text(const struct replay_view *v, struct pen *pen);

/* One object, docs/replay.schema.json. */
void replay_json(const struct replay_view *v, struct buf *out);

/* "SERVICE NAME" as it came, for JSON; in text it goes through the pen. */
void replay_point_name(const struct replay_view *v, uint32_t point, struct buf *out);

extern const char embed_replay_schema_json[];

#endif /* REPLAY_OUT_H */
