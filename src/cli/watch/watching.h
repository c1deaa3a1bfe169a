/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATCHING_H
#define WATCHING_H
/*
 * What commands that watch for a while share: passing events from a source
 * to a model, a capture or both, the progress line on stderr, the end that a
 * signal asks for, and a disk that is full before it.
 *
 *	struct watching w = {.verb = "watching", .sinks = {model_sink(m)}};
 *	watching_pump(&w, src, &err)
 *
 * All-zero but for the sinks is valid and quiet.
 */
#include <stdbool.h>
#include <stdint.h>

#include "store/event.h"

struct buf;
struct capture;
struct err;
struct select_opts;
struct source;
struct watch_opts;

struct watching {
	struct event_sink sinks[2]; /* an unused one has put NULL */
	const char *verb;	    /* begins the progress line; NULL: none is shown */
	const char *ctrl_c;	    /* what Ctrl-C does, for that line */
	uint64_t duration_ns;	    /* 0: until stopped */
	/* out: */
	uint64_t event_cnt, tick_cnt;
	uint64_t lost_cnt;	    /* as the source last reported */
};

/*
 * Steps src to its end, or to the end that a signal asks for.  0 or the
 * source's or a sink's error; what was delivered until then stays.  The
 * progress line is shown only on a terminal and is gone at the end.
 */
int watching_pump(struct watching *w, struct source *src, struct err *err);

/* The command line of this process as it was typed, for a capture to keep. */
void watching_cmdline(struct buf *out);

/*
 * For commands that print an answer: from -i, or from what -o keeps as well.
 * input and capture: the paths given, or NULL.
 */
int watching_check(const struct select_opts *select, const char *input, const char *capture,
		   struct err *err);

/* A capture to its end; -ENODATA when it has no whole interval. */
int watching_file(const char *path, struct event_sink sink, struct err *err);

/* The capture to watching_live; *ret is NULL and all is well without a path. */
int watching_capture(const char *path, struct capture **ret, struct err *err);

/*
 * Watches as opts say, the command line filled in, to the end and into w's
 * first sink, and completes the capture (or NULL), which is w's second.  After
 * a failure what was delivered until then stays: see w->tick_cnt.
 */
int watching_live(struct watching *w, struct watch_opts *opts, struct capture *cap,
		  struct err *err);

#endif /* WATCHING_H */
