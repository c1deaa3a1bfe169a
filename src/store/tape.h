/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TAPE_H
#define TAPE_H
/*
 * The newest events of a live run, kept so that they can be written to a
 * capture afterwards and fed to a fresh model.  Not a file: see store/.
 *
 *	tape_new, tape_add for each event, tape_replay ..., tape_free
 *
 * Bounded: whole batches over max_bytes, or older than keep_ns, fall off the
 * front; packed, they take a sixth of the room and some work.  What later
 * events still refer to (strings, tasks, resources) and the newest value of
 * each growing counter stays in the base, which a replay delivers first.
 * The base forgets ended threads, sums of who is gone, and the resources unused longest when
 * there are more than TAPE_BASE_MAX entries.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/event.h"

enum { TAPE_BASE_MAX = 1 << 16 };

struct tape;

struct tape_opts {		/* a zero field means its default */
	size_t max_bytes;	/* default 12 MiB */
	uint64_t keep_ns;	/* default: no bound */
	bool packed;
};

/* opts may be NULL. */
struct tape *tape_new(const struct tape_opts *opts);
void tape_free(struct tape *t);

/* Copies ev. */
void tape_add(struct tape *t, const struct event_hdr *ev);

/* Lets whole batches go that lie before, as if they were too old. */
void tape_forget(struct tape *t, uint64_t before_ns);

/*
 * All of it, in an order that store/event.h allows; stops at the sink's first
 * error.  What came since the last tick is not in it but for tape_replay_open.
 */
int tape_replay(const struct tape *t, struct event_sink *sink);
int tape_replay_open(const struct tape *t, struct event_sink *sink);

/* Since when it is complete, 0 while empty; what it holds. */
uint64_t tape_begin_ns(const struct tape *t);
size_t tape_bytes(const struct tape *t);
uint64_t tape_dropped_batches(const struct tape *t);

#endif /* TAPE_H */
