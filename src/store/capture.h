/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAPTURE_H
#define CAPTURE_H
/*
 * Writes a capture file.
 *
 *	capture_create, capture_sink or capture_put for each event,
 *	capture_finish, capture_free
 *
 * The events go to PATH.PID.partial beside PATH and replace PATH only when
 * capture_finish has written all: a good capture that was there stays whole
 * until then.  Each tick is written out, so that after a crash the partial
 * file is readable up to the last tick.  When a signal ends the process at
 * once (stop.h), it goes if it has no events yet, else its name is printed.
 * Memory: one chunk, below 1 MiB.
 */
#include <stdbool.h>
#include <stdint.h>

#include "store/event.h"

struct capture;
struct err;

struct capture_opts {
	bool force; /* replace a file that is not a capture */
};

struct capture_stats {
	uint64_t event_cnt;
	uint64_t raw_bytes;
	uint64_t stored_bytes; /* of the file so far */
	uint64_t begin_ns, end_ns;
	uint64_t tick_cnt;
	uint64_t loss_cnt;     /* of EV_LOSS: what the source could not deliver */
};

/*
 * path "-" is standard output.  -EEXIST when there is a file that is not a
 * capture and !force, -EINVAL when standard output is a terminal.
 */
int capture_create(const char *path, const struct capture_opts *opts, struct capture **ret_cap,
		   struct err *err);

/* An event must be whole; its chunk is written at a tick or when it is full. */
int capture_put(struct capture *c, const struct event_hdr *ev, struct err *err);

/* As capture_put; the first error stays with c and capture_finish gives it. */
struct event_sink capture_sink(struct capture *c);

/*
 * Completes the file and gives it its name.  After a write error what was
 * written is kept under a name that the error says.
 */
int capture_finish(struct capture *c, struct err *err);

const struct capture_stats *capture_stats(const struct capture *c);

/* NULL is fine.  Unfinished: the partial file stays when it holds events. */
void capture_free(struct capture *c);

#endif /* CAPTURE_H */
