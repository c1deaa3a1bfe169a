/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DRIVE_H
#define DRIVE_H
/*
 * Drives the tracepoints of running programs by what their requests show: learns which there
 * are from some requests in which all are on, then has requests/search decide which few are.
 * Where the type was learnt before, that is what is usual, and nothing is learnt again.
 *
 *	drive_new; drive_take for each request that gather.h gives out, drive_step now and then;
 *	drive_result at any time; drive_end when all is to be off; drive_free
 *
 * A request counts for a decision when no span of it is older than what the decision before
 * asked for, and when it is whole.  Evidence decides when the next decision is due, not time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "requests/search/control.h"
#include "traced/board.h"
#include "traced/gather.h"

struct arena;
struct drive;
struct space;

enum drive_phase {
	DRIVE_LEARN,	/* all are on, in a part of the requests */
	DRIVE_SEARCH,
	DRIVE_DONE,	/* the search has ended; or drive_end was called */
};

struct drive_opts {	/* a zero field means its default */
	const char *type;	/* borrowed; of the requests */
	uint32_t learn_cnt;	/* requests to learn from; 110 */
	uint32_t look_cnt;	/* new requests that a decision needs; 40 */
	double max_cost;	/* of the CPU time of the programs; 0: any */
	/* Learnt before, with the same points and strings: copied.  NULL: nothing was. */
	const struct space *known;
};

/* Why nothing is said: the first that holds. */
enum drive_doubt {
	DRIVE_SURE = 0,
	DRIVE_NO_AGENT,		/* no program asked which tracepoints are on */
	DRIVE_NO_REQUEST,	/* none of the type came whole */
	DRIVE_LOST,		/* too many spans are missing */
	DRIVE_OLD,		/* most requests have another switch state than was asked for */
	DRIVE_CALM,		/* nothing varies, and nothing is slower than the rest */
	DRIVE_OPEN,		/* there was no time for more */
};

struct drive_counts {
	uint64_t trace_cnt;		/* that a decision could be made by */
	uint64_t learnt_cnt;		/* of these: all were on */
	uint64_t old_cnt;		/* under a switch state from before */
	uint64_t foreign_cnt;		/* of nobody who was asked for them */
	uint64_t incomplete_cnt;	/* spans of it are missing */
	double incomplete_share, dropped_share;
};

struct drive_result {
	enum drive_phase phase;
	enum drive_doubt doubt;
	uint32_t round_cnt;
	uint32_t point_cnt;	/* tracepoints that requests of the type come to */
	uint32_t always_cnt;	/* of these on all the time: begins, forks and joins of requests */
	uint32_t most_on_cnt;	/* on at a time while it searched, with those */
	double mean_on;		/* on while it searched, over its requests */
	const struct control_located *located; /* best first */
	uint32_t located_cnt;
	const struct forest *forest;	/* NULL: it did not begin to search */
	struct drive_counts counts;
	double share;		/* of the requests that are traced now */
	double cost_share;	/* of the CPU time of the programs, over all of it */
};

/* All but opts (copied) is borrowed for its life. */
struct drive *drive_new(const struct drive_opts *opts, struct board *board, struct points *points,
			struct strtab *strings);
void drive_free(struct drive *d);

void drive_take(struct drive *d, const struct gathered *t);

/* True: what is on has changed, or the search has ended. */
bool drive_step(struct drive *d, uint64_t now_ns);

/* All that is known of requests by now, for a later search; borrowed until drive_free. */
const struct space *drive_space(const struct drive *d);

enum drive_phase drive_phase(const struct drive *d);

/* Asks for all to be off. */
void drive_end(struct drive *d);

/* Lives in arena. */
void drive_result(const struct drive *d, uint64_t now_ns, struct arena *arena,
		  struct drive_result *ret);

/* The tracepoint that a located edge is in; FOREST_NONE: none of its own. */
uint32_t drive_owner(const struct control_located *l);

#endif /* DRIVE_H */
