/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORE_LIVE_H
#define EXPLORE_LIVE_H
/*
 * The search in running servers: stacks say which functions there are
 * (explore_space.h), requests are followed round by round with some of them on
 * (collect/paths), and explore/explore.h decides.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/watch/explore_space.h"
#include "collect/paths/paths_watch.h"
#include "explore/explore.h"

struct arena;
struct cmd;
struct err;
struct explore_view;
struct model;
struct select_opts;

struct explore_live_opts {
	const struct cmd *cmd;		/* whose options name output files, */
	const void *cmd_opts;		/* parsed */
	const struct select_opts *select;
	uint64_t duration_ns;		/* of all */
	uint32_t max_cost_ppm;		/* of the CPU time in use; 0: any */
	struct model *seen;		/* watched with stacks before, finished; NULL: watch them */
	bool progress;			/* lines on stderr: what is tried and what it showed */
};

struct explore_live {
	struct explore_space space;
	struct explore *explore;
	struct explore_result result;
	struct paths_watched watched;
	uint16_t port;			/* of the requests that it is about; 0: a unix socket */
	uint64_t other_cnt;		/* requests on others */
	uint64_t took_ns;		/* with reading stacks */
};

/*
 * As explore_space_watch and paths_watch; -ENODATA where no request was seen.  ret is all
 * zero before, and to be given back in any case; what it has lives in the arena, too.
 */
int explore_live(const struct explore_live_opts *opts, struct arena *arena,
		 struct explore_live *ret, struct err *err);
void explore_live_release(struct explore_live *l);

/* For report/explore; valid as long as l and the arena. */
void explore_live_view(const struct explore_live *l, uint32_t max_cost_ppm, struct arena *arena,
		       struct explore_view *ret);

#endif /* EXPLORE_LIVE_H */
