/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATCHING_H
#define WATCHING_H
/*
 * What commands that watch for a while share: passing events from a source
 * to a model, a capture or both, the progress line on stderr, and the end
 * that a signal asks for.
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
struct err;
struct source;

struct watching {
	struct event_sink sinks[2]; /* an unused one has put NULL */
	const char *verb;	    /* begins the progress line; NULL: none is shown */
	const char *ctrl_c;	    /* what Ctrl-C does, for that line */
	uint64_t duration_ns;	    /* 0: until stopped */
	/* out: */
	uint64_t event_cnt, tick_cnt;
	uint64_t lost_cnt;	    /* as last told by the source */
};

/*
 * Steps src to its end, or to the end that a signal asks for.  0 or the
 * source's or a sink's error; what was delivered until then stays.  The
 * progress line is shown only on a terminal and is gone at the end.
 */
int watching_pump(struct watching *w, struct source *src, struct err *err);

/* The command line of this process as it was typed, for a capture to keep. */
void watching_cmdline(struct buf *out);

#endif /* WATCHING_H */
