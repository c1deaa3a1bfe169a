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
 * Bounds: PATHS_EVENTS_MAX records of a slice, then the slice ends.
 */
#include <stdbool.h>
#include <stdint.h>

struct err;
struct path_event;
struct select_opts;
struct write_limit;

#define PATHS_EVENTS_MAX (1u << 20)

struct paths_watch_opts {	/* a zero field means its default */
	const struct select_opts *select;
	uint64_t duration_ns;	/* 0: until a stop is asked for */
	uint32_t max_cost_ppm;	/* of the CPU time in use; 0: any */
	uint64_t keep;		/* capabilities that its output files need: rights.h */
	const struct write_limit *writes; /* what it may write by path; NULL: anything */
	bool unfiltered;	/* its rights stay as they are */
};

struct paths_sink {
	void *ctx;
	void (*port)(void *ctx, uint16_t port);	/* that the processes listen on: at first */
	/* Before its first event; switches: between tasks without the kernel (Go). */
	void (*process)(void *ctx, uint32_t tgid, const char *comm, bool switches);
	void (*event)(void *ctx, const struct path_event *e);
	void (*slice_end)(void *ctx);	/* once at least */
	/* NULL is fine.  Some ten times a second; events: so far. */
	void (*step)(void *ctx, uint64_t watched_ns, uint64_t event_cnt);
};

struct paths_watched {
	char selection[160];	/* for a person: "pid 7 (nginx), 3 processes" */
	uint64_t begin_ns, end_ns, followed_ns;
	uint64_t event_cnt, lost_cnt, bad_cnt;
	uint32_t slice_cnt;
	double cost_share;	/* of the CPU time in use, all of the time */
};

/* As target_resolve and source_live fail; *ret is filled in on success only. */
int paths_watch(const struct paths_watch_opts *opts, const struct paths_sink *sink,
		struct paths_watched *ret, struct err *err);

#endif /* PATHS_WATCH_H */
