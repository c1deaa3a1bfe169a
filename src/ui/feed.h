/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEED_H
#define FEED_H
/*
 * Turns a source into views: one for each tick.
 *
 *	live:	 feed_live, then feed_fd becomes readable and feed_take gives
 *		 the newest view; feed_write, feed_free
 *	capture: feed_file, feed_step, feed_take ..., feed_free
 *
 * Live, the source runs in a thread of its own, so that a key is answered
 * while it waits for events.  A capture is read FEED_AHEAD ticks further than
 * is shown: only then is it known what a long wait was for.
 *
 * Memory is bounded for a run of any length: every FEED_RENEW ticks, and when
 * the model reports a full table, the model is made anew from the tape.
 */
#include <stdbool.h>
#include <stdint.h>

struct err;
struct feed;
struct source;
struct view;

enum { FEED_AHEAD = 30, FEED_RENEW = 300, FEED_RENEW_MIN = 20 };

struct feed_state {
	bool live, ended, failed;	/* failed: the source, see feed_error */
	uint64_t tick, tick_cnt;	/* shown, counted from 0; known */
	uint64_t kept_ns, kept_bytes;	/* what feed_write would write */
	uint64_t renewed_cnt;
};

/* Takes src over and starts its thread. */
struct feed *feed_live(struct source *src);

/* Opens path; no tick is shown yet.  -errno as from source_file. */
int feed_file(const char *path, struct feed **ret_feed, struct err *err);

/* Stops the source and waits for its thread.  NULL is fine. */
void feed_free(struct feed *f);

/* Readable when a new view is there or the source ended; -1 for captures. */
int feed_fd(const struct feed *f);

/*
 * Captures: moves by ticks, at most to the ends.  1: there is a view to take,
 * 0: the capture holds no tick, <0 failed (going back reads it again).
 */
int feed_step(struct feed *f, int64_t by, struct err *err);

/*
 * Exchanges *view for the newest one, when there is one newer; *view stays
 * the caller's.  False when nothing is new.
 */
bool feed_take(struct feed *f, struct view **view);

struct feed_state feed_state(struct feed *f);

/* Why the source failed. */
void feed_error(struct feed *f, struct err *ret_err);

/* Writes what is kept to a capture; not over an existing file. */
int feed_write(struct feed *f, const char *path, struct err *err);

#endif /* FEED_H */
