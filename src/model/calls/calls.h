/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_CALLS_H
#define MODEL_CALLS_H
/*
 * The part of the model that tells of system calls: a window of them, by
 * thread, and what the calls are named.  Filled by model_add and
 * model_finish; read it after model_finish.
 *
 * Bounded: at most model_opts.max_calls are kept, the newest win; those left
 * out are counted in model_calls.dropped_cnt, and begin_ns is where the window
 * is whole from.  40 bytes a call at most.
 *
 * A thread's calls do not overlap: one that was said to last into the next is
 * cut where that begins.  A thread that is known by its calls only is not
 * tracked.  Where a recorder took blocking calls only (EV_CALLS_PART) these are
 * made of the waits and have CALLF_WAIT; of a call that went on while the
 * recorder began to take all there is one, with the begin that the wait tells.
 * Of more windows in one stream, flags holds what is true of all,
 * and reason is the last one's.
 */
#include <stddef.h>
#include <stdint.h>

#include "store/event_calls.h"

struct model;

struct call {			/* sorted by thread, then begin_ns; 32 bytes */
	uint64_t begin_ns, dur_ns;
	uint32_t thread;	/* idx in model threads */
	uint32_t stack;		/* idx in model stacks, NO_IDX: not taken */
	uint16_t nr, cpu;
	uint8_t result, kind;	/* enum call_result, enum res_kind */
	uint8_t flags, pad;	/* enum call_flags */
};

/*
 * A part of the window: in aways nothing was recorded, in parts blocking calls
 * only, and in coarse, which lies in parts, of these only those over
 * WAIT_LONG_NS: a pause between two of them is no pause.
 */
struct call_away { uint64_t begin_ns, end_ns; };

struct call_run { uint32_t first, cnt; }; /* of one thread in calls[] */

struct model_calls {
	struct call *calls; size_t cnt;
	struct call_run *runs;	/* by model thread idx, thread_cnt of them */
	uint64_t begin_ns, end_ns; /* the window that all calls end in; both 0: there is none */
	uint64_t lost_cnt, skipped_cnt, dropped_cnt;
	struct call_away *aways; size_t away_cnt; /* these three: by time, apart from each other */
	struct call_away *parts; size_t part_cnt;
	struct call_away *coarse; size_t coarse_cnt;
	uint32_t flags;		/* enum window_flags */
	const char *reason;	/* "" none */
	uint32_t nr_cnt;	/* one more than the largest nr */
	const char **names;	/* by nr: model_call_name */
};

/* "read", "futex", ...; "call-N" for a number that was never named, "call" if it has no call. */
const char *model_call_name(const struct model *m, unsigned nr);

/* Time from begin to end that was not recorded, or coarsely. */
uint64_t calls_away_ns(const struct model_calls *c, uint64_t begin_ns, uint64_t end_ns);

/* Time from begin to end that lies in one of the three lists. */
uint64_t calls_time_in(const struct call_away *list, size_t cnt, uint64_t begin_ns,
		       uint64_t end_ns);

/* Recorded time from the end of the call before, which is the same thread's, to calls[i]. */
uint64_t calls_pause_ns(const struct model_calls *c, size_t i);

#endif /* MODEL_CALLS_H */
