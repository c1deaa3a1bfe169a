/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATH_H
#define PATH_H
/*
 * A critical path as groups take it in: durations of edges and what makes each
 * the same edge as another path's.
 */
#include <stdint.h>

#include "trace/trace.h"
#include "requests/stats/result.h"

struct arena;
struct cpath;
struct points;

/*
 * Of a path of more than PATH_EDGES_MAX edges those between the same tracepoints are one
 * (EDGE_ALL); where these are still more, what is over is added up in the last, "other".
 */
enum {
	PATH_EDGES_MAX = 1024,
};

struct path {
	struct trace_id id;
	uint64_t id_hash;	/* decides which members are sampled */
	int64_t total_ns;	/* sum of took_ns */
	const int64_t *took_ns;
	const struct edge_key *keys;	/* NULL until path_name_edges */
	const uint64_t *hashes;		/* of keys, the same in every run */
	uint32_t edge_cnt;
	uint32_t type_point;	/* the tracepoint its type is named by; filled in by requests.c */
	const uint32_t *firsts;	/* of a path that long: by edge, the step of the first; or NULL */
	uint32_t united_cnt;	/* edges that are one with an earlier one */
	uint32_t folded_cnt;	/* edges in "other" */
	bool clipped;		/* durations were out of bounds */
};

void path_of(const struct trace_id *id, const struct cpath *cpath, struct arena *arena,
	     struct path *ret);

/* Fills keys and hashes; not needed for a path that is known edge by edge. */
void path_name_edges(struct path *path, const struct cpath *cpath, const struct points *points,
		     struct arena *arena);

/* Hash of the key of folded edges. */
uint64_t path_other_hash(void);

#endif /* PATH_H */
