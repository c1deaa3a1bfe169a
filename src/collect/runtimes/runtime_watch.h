/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_WATCH_H
#define RUNTIME_WATCH_H
/*
 * Stacks of the threads of interpreted programs while they sleep.  Now and then
 * each of them that has run since the last time is looked at; what it was doing
 * then is known exactly, since it did not run meanwhile, and it was doing that
 * all through the wait in which it was looked at.  So a wait that began before a
 * look and ended after it has that stack; one that no look fell into has none.
 *
 *	runtime_watch_new, _add each process, _step again and again,
 *	_find for a wait that ended, _free
 *
 * What it costs is bounded: looks take one part in LOOK_COST_PART of the time, so
 * that they become rarer where threads are many or stacks deep.
 *
 * Bounds: RUNTIME_PROCS_MAX processes, RUNTIME_THREAD_MAX threads of each,
 * RUNTIME_KNOWN_MAX threads remembered with RUNTIME_LOOKS looks each,
 * RUNTIME_LOCKS_MAX locks.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/runtimes/mixed_stack.h"
#include "symbols/runtimes/runtimes.h"

struct emit;
struct runtime_stacks;
struct runtime_watch;

#define RUNTIME_PROCS_MAX 256
#define RUNTIME_KNOWN_MAX 16384 /* then all are forgotten */
#define RUNTIME_LOCKS_MAX 16384
#define RUNTIME_LOOKS 16 /* of a thread: waits come up to a second late */

/* An address of tgid as frames have it. */
typedef uint64_t runtime_place_fn(void *ctx, uint32_t tgid, uint64_t addr);

/* always: it does not end, and takes a quarter of what looking for a while may take. */
struct runtime_watch *runtime_watch_new(runtime_place_fn *place, void *ctx, bool always);
void runtime_watch_free(struct runtime_watch *w);

/*
 * Maps of the kernel side (wire/runtimes.h): it reads the frames of threads that run.
 * They are what it found with each stack, cnt words; the stack (from 1), 0: none that
 * has names.
 */
struct runtime_maps {
	int shapes, threads;
};
void runtime_watch_running(struct runtime_watch *w, const struct runtime_maps *maps);
uint32_t runtime_watch_words(struct runtime_watch *w, uint32_t tgid, const uint64_t *words,
			     size_t cnt, uint64_t now);

/* A process that may have a runtime; again after it mapped more code. */
void runtime_watch_add(struct runtime_watch *w, uint32_t tgid);
/* It ended, or became another program. */
void runtime_watch_forget(struct runtime_watch *w, uint32_t tgid);
/* True where it has a runtime, or that is not known yet. */
bool runtime_watch_may(const struct runtime_watch *w, uint32_t tgid);

/* Looks, when it is time; names found go to e. */
void runtime_watch_step(struct runtime_watch *w, struct emit *e, uint64_t now);

/* Names found since go to e: also those of what ran, for which it is not always time to look. */
void runtime_watch_emit(struct runtime_watch *w, struct emit *e, uint64_t now);

/* The stack (from 1) of a thread in a wait; 0: not looked at in it. */
struct runtime_wait {
	uint32_t tid;
	uint64_t begin_ns, end_ns;
};
uint32_t runtime_watch_find(const struct runtime_watch *w, const struct runtime_wait *wait);

struct runtime_held { /* a lock of the runtime's own that such a wait was for */
	uint64_t key;	     /* of this lock of this process, never 0 */
	uint64_t addr;
	uint32_t holder_tid; /* at the look; 0 unknown */
	const char *name;    /* borrowed until the next step */
};
bool runtime_watch_lock(const struct runtime_watch *w, const struct runtime_wait *wait,
			struct runtime_held *ret);

/* Frames of such a stack, and the native frames of tgid that they stand for. */
void runtime_watch_parts(const struct runtime_watch *w, uint32_t tgid, uint32_t stack,
			 struct mixed_parts *ret);

struct runtime_counts {
	uint64_t look_cnt;    /* threads looked at that slept */
	uint64_t ran_cnt;     /* ... that ran, or ran meanwhile */
	uint64_t bad_cnt;     /* ... whose list was damaged or led out of its memory */
	uint64_t over_cnt;    /* processes, stacks and names over a bound */
	uint64_t round_cnt, cost_ns;
};
void runtime_watch_counts(const struct runtime_watch *w, struct runtime_counts *ret);

/* The idx'th process' runtime, for notes: false behind the last. */
struct runtime_seen {
	uint32_t tgid;
	const char *lang;
	const char *version;  /* "" unknown */
	const char *problem;  /* "" none: its frames are read */
};
bool runtime_watch_seen(const struct runtime_watch *w, size_t idx, struct runtime_seen *ret);

#endif /* RUNTIME_WATCH_H */
