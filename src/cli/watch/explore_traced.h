/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORE_TRACED_H
#define EXPLORE_TRACED_H
/*
 * The search in programs with tracepoints of their own: takes their spans and questions in,
 * on one address, and drives what is on (traced/drive.h), until it has ended, the time is over
 * or a stop is asked for; then waits until all is off.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "intake/intake.h"
#include "trace/points.h"
#include "traced/board.h"
#include "traced/drive.h"
#include "traced/gather.h"

struct arena;
struct cmd;
struct err;

struct explore_traced_opts {
	const struct cmd *cmd;	/* whose options name output files, */
	const void *cmd_opts;	/* parsed */
	const char *type, *listen;
	const char *space_path;	/* what was learnt is kept there, and used; NULL: nowhere */
	uint64_t duration_ns;
	double max_cost;	/* of the CPU time of the programs; 0: any */
	bool progress;		/* lines on stderr: what is tried, and what it cost so far */
};

struct explore_traced {
	struct strtab strings;
	struct points points;
	struct board *board;
	struct gather *gather;
	struct drive *drive;
	struct intake *intake;
	struct drive_result result;	/* as it was before all went off */
	struct board_summary after;
	uint64_t took_ns, off_ns;
};

/* ret is all zero before, and to be released in any case; what it has lives in the arena, too. */
int explore_traced(const struct explore_traced_opts *opts, struct arena *arena,
		   struct explore_traced *ret, struct err *err);
void explore_traced_release(struct explore_traced *t);

#endif /* EXPLORE_TRACED_H */
