/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLIGHT_H
#define FLIGHT_H
/*
 * The flight recorder: keeps the last minutes of system calls of the chosen
 * processes in a bounded memory that nobody reads, until something freezes
 * it.  Then it delivers that window as events (store/event_calls.h) with the
 * threads and stacks it speaks of and, for a few seconds more, what the live
 * source sees: waits, samples, states.
 *
 * With opts.blocking the window has what the live source saw all the time, and
 * so each call that blocked; all calls are in it of the seconds after what
 * freezes it, and of the times in which the machine makes few.  A hook at each
 * call costs a busy server a tenth of its work, these waits a per cent.
 *
 *	source_flight, source_step until it returns 0, source_free
 *
 * What freezes it: the end of watch.duration_ns, source_stop (Ctrl-C), the
 * last process that ends, or opts.trigger.  Before that a step takes about a
 * second and delivers next to nothing.
 *
 * Bounded: memory_bytes for the calls, a few MB besides.  What does not fit
 * makes the window shorter, never wrong: flight_report says how long it is.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct source;
struct watch_opts;

#define FLIGHT_REASON_LEN 160
#define FLIGHT_NO_THEN UINT64_MAX
#define FLIGHT_WINDOW_MAX_NS (3600ull * 1000000000) /* what a record's time can tell apart */

enum flight_stacks {
	FLIGHT_STACKS_SLOW = 0, /* of calls that blocked or took long, within a budget */
	FLIGHT_STACKS_NONE = 1,
	FLIGHT_STACKS_ALL = 2,	/* of each call, whatever it costs */
};

/* The recorded window; filled when it is frozen. */
struct flight_report {
	uint64_t window_ns;	/* all calls of this time are there */
	uint64_t wanted_ns;	/* it was to be, or as long as it was recorded */
	uint64_t call_cnt, unfinished_cnt;
	uint64_t all_cnt;	/* since the beginning, those overwritten included */
	uint64_t lost_cnt;	/* in the window and not kept */
	uint64_t part_ns;	/* of the window: blocking calls only */
	uint64_t away_ns;	/* of the window: left out for max_cost, lost_cnt has an estimate */
	uint64_t memory_bytes;	/* of the rings and all beside them */
	bool is_over;		/* nothing is left to watch, or the time was up */
	uint32_t thread_cnt, no_slot_cnt; /* threads that made calls; those not recorded */
	char reason[FLIGHT_REASON_LEN];
};

/*
 * Asked about once in every_ns (default 1 s), between two steps of the
 * source's own work.  True freezes; then reason says why, for a person.
 */
struct flight_trigger {
	bool (*fired)(void *ctx, char *ret_reason, size_t size);
	void *ctx;
	uint64_t every_ns;
};

/*
 * Where all calls have their stacks, so do samples: what runs between calls is
 * learnt from them, and much of it takes less than a tenth of a millisecond.
 */
enum { FLIGHT_LEARN_HZ = 4999 };

struct flight_opts {		 /* a zero field means its default */
	uint64_t window_ns;	 /* default 5 min, at most FLIGHT_WINDOW_MAX_NS */
	uint64_t memory_bytes;	 /* default 1/32 of the machine's, at most 256 MiB; blocking: 64 */
	enum flight_stacks stacks;
	uint64_t slow_ns;	 /* with FLIGHT_STACKS_SLOW; default 1 ms */
	/* Live source afterwards, blocking: with all calls; default 3 s, or FLIGHT_NO_THEN. */
	uint64_t then_ns;
	/*
	 * Share of the CPU that pays most, other processes' calls with it; over
	 * it some time is left out; 0: none is.
	 */
	double max_cost;
	bool blocking;		 /* as said above; watch.max_cost_ppm bounds the cost instead */
	bool anomaly;		 /* its own detector freezes too: flight_anomaly.h */
	bool with_waits;	 /* it runs beside from the beginning instead */
	const struct flight_trigger *trigger; /* NULL: none; lives as long as the source */
	struct flight_report *report;	      /* NULL: not wanted */
};

/*
 * As source_live, with the same errors; -EINVAL (ERR_USAGE) a window or a
 * memory out of bounds.  watch->stacks, tick_ns and such are for the live
 * source.  Both are copied; what they point to is not.
 */
int source_flight(const struct watch_opts *watch, const struct flight_opts *opts,
		  struct source **ret_src, struct err *err);

#endif /* FLIGHT_H */
