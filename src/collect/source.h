/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_H
#define SOURCE_H
/*
 * Where events come from: the running kernel or a capture file.  Every
 * command reads either through this and cannot tell them apart.
 *
 *	source_live or source_file, source_step until it returns 0,
 *	source_stop from a signal or a time limit, source_free
 *
 * To add one: 1. fill a struct source_ops in a file of its own, 2. declare
 * its constructor here, 3. name it in docs/capture.md; tests/unit/t_source.c
 * runs the order rules of store/event.h on each.
 *
 * A source first delivers EV_META, then batches that end with EV_TICK.  The
 * last batch holds pending waits, snapshots and losses of the whole run.
 */
#include <stdint.h>

struct err;
struct event_sink;
struct select_opts;
struct source;
struct symbols_opts;
struct path_limit;

struct watch_opts {		/* a zero field means its default */
	const struct select_opts *select;
	const char *cmdline;	/* recorded in the capture; NULL: none */
	uint64_t tick_ns;	/* default 1 s */
	uint64_t duration_ns;	/* 0: until source_stop */
	uint32_t max_peers;	/* peer processes watched too; default 16 */
	uint32_t max_threads;	/* tracked threads; default 16384 */
	uint32_t ring_bytes;	/* default 4 MiB, a power of two */
	uint32_t arrivals;	/* 1: when data comes to each socket, which costs at each segment */
	uint32_t only_target;	/* 1: draw in no counterparts */
	uint32_t stacks;	/* 1: of waits and wakers, samples of running threads; see conf.h */
	uint32_t stacks_or_fail; /* 1: -ENOTSUP where stacks are refused, else it goes on without */
	uint32_t blocking;	/* 1: the calls that blocked are a window of calls: event_calls.h */
	uint32_t no_runtime_names; /* 1: reads no frames of interpreters from memory */
	uint32_t stack_ids_max;	/* stacks remembered by the kernel's ids; default 1 << 19 */
	uint32_t max_cost_ppm;	/* of the CPU time in use; watches part of the time then; 0: any */
	uint32_t sample_hz;	/* per CPU, with stacks; default 99 */
	const struct symbols_opts *symbols; /* with stacks; NULL: its defaults */
	uint32_t loads_again;	/* 1: this process is to load another watch's programs */
	uint32_t open_files;	/* 1: list sockets by open files, where the kernel refuses more */
	uint32_t goes_on;	/* 1: when no chosen process is left, too: see source_add */
	uint32_t unfiltered;	/* 1: its rights and system calls stay as they are: rights.h */
	uint64_t keep;		/* capabilities that its output files need: rights.h */
	const struct path_limit *writes; /* what it may write by path; NULL: anything */
};

struct source_ops {
	/* See source_step. */
	int (*step)(void *ctx, struct event_sink *sink, struct err *err);
	void (*stop)(void *ctx);
	void (*free)(void *ctx);
	/* NULL where the source is no watch: see source_full, source_add. */
	void (*full)(void *ctx);
	int (*add)(void *ctx, uint32_t tgid);
};

/* -ESRCH no process matches, -EPERM rights, -ENOTSUP kernel lacks what is needed. */
int source_live(const struct watch_opts *opts, struct source **ret_src, struct err *err);

/* -EBADMSG not a capture; a truncated one opens and ends early with a note. "-" is stdin. */
int source_file(const char *path, struct source **ret_src, struct err *err);

/* For source implementations: takes ctx over. */
struct source *source_new(const struct source_ops *ops, void *ctx);

/*
 * Waits for and delivers the next batch (live: at most about a tick).
 * 1: call again, 0: the last batch was delivered, <0: failed; what was
 * delivered before stays valid.
 */
int source_step(struct source *src, struct event_sink *sink, struct err *err);

/*
 * A watch's next tick tells of all threads, connections and the window of calls, as the
 * last one does, and the watch goes on: what was kept until then makes a whole capture.
 */
void source_full(struct source *src);

/* Watches one process more, as if it had been chosen at the beginning; 0 or -errno. */
int source_add(struct source *src, uint32_t tgid);

/* Async-signal-safe.  The next steps deliver what is left and the end batch. */
void source_stop(struct source *src);

/* NULL is fine.  Detaches everything. */
void source_free(struct source *src);

#endif /* SOURCE_H */
