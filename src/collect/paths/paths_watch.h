/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATHS_WATCH_H
#define PATHS_WATCH_H
/*
 * Loads bpf/paths, follows the chosen processes and their children for a while, and
 * hands on what it sees (wire/path_events.h).  Blocks until the time is over or a
 * stop is asked for (base/stop.h).
 *
 * All of the time is one slice, where the cost allows it.  Else slices are followed,
 * with nothing recorded between; every slice stands for itself.  The first one is
 * judged after 20 ms; each is as long as the cost of recording and of analysing it
 * allows.
 *
 * A search (sink.round) has a round for each slice: its tracepoints are switched on
 * before it and off after it.  All of it costs at most what it may in PATHS_SEARCH_NS,
 * or as long as it takes if that is longer; between two rounds it waits for that.
 *
 * Bounds: PATHS_EVENTS_MAX records of a slice, then the slice ends.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collect/paths/path_rounds.h"

struct err;
struct path_event;
struct select_opts;
struct path_limit;

#define PATHS_EVENTS_MAX (1u << 20)

struct paths_watch_opts {	/* a zero field means its default */
	const struct select_opts *select;
	uint64_t duration_ns;	/* 0: until a stop is asked for */
	uint32_t max_cost_ppm;	/* of the CPU time in use; 0: any */
	uint64_t keep;		/* capabilities that its output files need: rights.h */
	const struct path_limit *writes; /* what it may write by path; NULL: anything */
	bool unfiltered;	/* its rights stay as they are */
};

/* A search is charged as if it took so long at least: its begin costs most. */
#define PATHS_SEARCH_NS UINT64_C(10000000000)

struct paths_sink {
	void *ctx;
	void (*port)(void *ctx, uint16_t port);	/* that the processes listen on: at first */
	/* Before its first event; switches: between tasks without the kernel (Go). */
	void (*process)(void *ctx, uint32_t tgid, const char *comm, bool switches);
	void (*event)(void *ctx, const struct path_event *e);
	void (*slice_end)(void *ctx);	/* once at least */
	/* NULL is fine.  Some ten times a second; events: so far. */
	void (*step)(void *ctx, uint64_t watched_ns, uint64_t event_cnt);

	/* A search; NULL: none.  Before each slice; false: it is over. */
	bool (*round)(void *ctx, struct path_round *ret);
	/* A hit's, as measured; once, before the first round. */
	void (*price)(void *ctx, const struct point_price *price);
	/* A tracepoint of the round is off again: it is hit so often that it costs too much. */
	void (*hot)(void *ctx, uint32_t point, double hits_s);
	/* Is what the slice has so far enough?  Some 50 times a second. */
	bool (*enough)(void *ctx);
};

struct paths_watched {
	char selection[160];	/* for a person: "pid 7 (nginx), 3 processes" */
	uint64_t begin_ns, end_ns, followed_ns;
	uint64_t event_cnt, lost_cnt, bad_cnt;
	uint32_t slice_cnt;
	double cost_share;	/* of the CPU time in use, all of the time */
	/* of a search: */
	uint64_t hit_cnt;
	struct point_price price;
	struct point_differ differ;	/* of the code at its end */
	uint32_t left_out_cnt;	/* processes without tracepoints: point_links.h */
};

/* As target_resolve and source_live fail; *ret is filled in on success only. */
int paths_watch(const struct paths_watch_opts *opts, const struct paths_sink *sink,
		struct paths_watched *ret, struct err *err);

#endif /* PATHS_WATCH_H */
