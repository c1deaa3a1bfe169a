/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORE_SPACE_H
#define EXPLORE_SPACE_H
/*
 * The functions that a search may switch on: those on the stacks of the chosen
 * processes, watched for a few seconds, with who calls whom, and the place in its file
 * where each may have a tracepoint.
 */
#include <stddef.h>
#include <stdint.h>

#include "collect/points/point_sites.h"
#include "explore/explore.h"

struct arena;
struct err;
struct model;
struct select_opts;
struct symbols_opts;

struct explore_place {		/* of a function of the graph */
	uint32_t file;		/* idx in files */
	struct point_site site;
	uint8_t refusal;	/* enum point_refusal; no function of a file: POINT_NO_TABLE */
};

struct explore_file {
	struct point_file *file;	/* NULL: it could not be opened */
	bool is_program;
};

struct explore_space {
	struct explore_graph graph;
	const struct explore_place *places;	/* by function */
	struct explore_file *files;
	size_t file_cnt;
	uint32_t function_cnt;	/* that begin in the files, seen on a stack or not */
	uint64_t watched_ns, sample_cnt;
	uint32_t refused_cnt[POINT_REFUSAL_CNT];
};

struct explore_space_opts {
	const struct select_opts *select;
	const struct symbols_opts *symbols;
	uint64_t duration_ns;
	uint32_t max_cost_ppm;
};

/*
 * As source_live fails.  Gives no rights away: the search that follows does.  Strings
 * and arrays are the arena's; files are to be given back.
 */
int explore_space_watch(const struct explore_space_opts *opts, struct arena *arena,
			struct explore_space *ret, struct err *err);
/* The same of what was watched before with stacks: a model that is finished, with its waits. */
void explore_space_of(struct model *m, struct arena *arena, struct explore_space *ret);
void explore_space_release(struct explore_space *s);

#endif /* EXPLORE_SPACE_H */
