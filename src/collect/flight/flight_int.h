/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLIGHT_INT_H
#define FLIGHT_INT_H
/*
 * The flight recorder inside the live source (live_int.h), shared by its
 * files and by live*.c:
 *
 *	flight.c	what comes before the freeze, and the freeze
 *	flight_dump.c	the rings to events
 *	flight_keep.c	where all calls are recorded only now and then
 *	flight_pause.c	a bound on the cost where all are
 *	flight_watch.c	the detector's eyes; flight_anomaly.c judges
 *	flight_info.c	what is known of each call, by its number
 *
 * Where nothing is recorded live.flight is NULL.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/flight/flight.h"
#include "collect/live/live_int.h"
#include "wire/calls.h"
#include "wire/stacks.h"

#define FLIGHT_CPUS_MAX 4096
#define FLIGHT_GAPS 4096 /* of a tenth of a second and more each: over five minutes */
#define FLIGHT_STACK_WORDS ((CALL_STACK_MASK + 1) / 64)

struct flight_mark {
	uint64_t ts_ns;
	uint64_t *heads; /* of each CPU, then */
};

struct tape;

/* The hooks were away meanwhile. */
struct flight_gap {
	uint64_t begin_ns, end_ns, lost_cnt;
};

struct flight_duty {
	uint64_t begin_ns;	/* of the phase in progress, 0 none yet */
	uint64_t away_ns, back_ns; /* away since, until; back_ns 0: here */
	double rate;		/* calls per ns in the last phase */
	struct call_head *before; /* heads when it began */
	struct flight_gap gaps[FLIGHT_GAPS];
	size_t gap_cnt;		/* that there were */
	bool was_away;		/* at the freeze */
};

/* With opts.blocking. */
struct flight_keep {
	struct tape *tape;	/* NULL: played, events pass through */
	struct event_sink in, *out;
	uint64_t fired_ns;	/* something froze it: 0 not yet */
	volatile int stop_asked;
	bool is_few;		/* calls, when they were counted last */
};

struct live_flight {
	struct flight_opts opts;
	struct flight_report report;
	uint32_t cpu_cnt, ring_cnt;	/* records of one CPU's ring */
	/* mapped from the kernel side, read only */
	const struct call_rec *ring;
	const struct call_head *heads;
	const struct call_slot *slots;
	const struct wire_task *tasks;
	struct flight_mark marks[2];	/* the newer one first; each a window old or more */
	uint64_t start_ns, freeze_ns;	/* freeze_ns 0: not yet */
	uint64_t seeded_ns;		/* calls that seem older began before the recording */
	live_record_fn fn;		/* the live source's own, meanwhile */
	uint64_t trigger_ns;		/* next time it is asked */
	uint64_t seen_cnt;		/* threads that the first iteration found */
	struct flight_kept {
		struct hmap at; /* the kernel side's id to 1 + offset in bytes */
		VEC(char) bytes; /* struct wire_stack, as they came */
		uint64_t lost_cnt;
	} stacks;
	struct flight_sampled {		/* of running threads before the freeze */
		VEC(struct wire_sample) items; /* at the bound a ring */
		uint64_t cnt;		/* that there were */
	} samples;
	struct flight_watch *watch;	/* of the detector; NULL: not begun */
	struct flight_duty duty;
	struct flight_keep keep;
	uint64_t named[(SYS_NR_MAX + 63) / 64]; /* EV_CALL_NAME is out */
};

/* flight_info.c: settings of the kernel side, and names. */
void flight_info_fill(volatile const uint8_t *info, volatile const uint8_t *errs);
/* "read"; NULL where it has none. */
const char *flight_call_name(unsigned nr);
/* epoll's own descriptor and the like: better known by the call than by the file. */
uint8_t flight_kind(unsigned nr, uint8_t kind);

/* flight.c.  Sizes and settings between open and load of the programs. */
int flight_open(struct live *l, struct err *err);
void flight_settings(struct live_flight *f, struct heldup_bpf *skel);
int flight_map(struct live *l, struct err *err);
void flight_release(struct live *l);
/* Gives the threads of the chosen processes their slots. */
int flight_begin(struct live *l, struct err *err);
/* A second of recording: 1 goes on, 0 it is frozen now, -errno. */
int flight_wait(struct live *l, struct err *err);
/* Ends the recording; what is in memory stays.  Does nothing the second time. */
void flight_freeze(struct live *l, const char *reason);
/* Is there a process left to watch? */
bool flight_alive(struct live *l);
/* The chosen processes are now those that live, with the children that were followed. */
void flight_retarget(struct live *l);

/* Remembers where the rings are, once in a window. */
void flight_mark(struct live_flight *f, uint64_t now);
/* Something says that it is time; then reason has it. */
bool flight_is_time(struct live *l, uint64_t now, char *reason, size_t size);

/*
 * flight_keep.c.  All but the first four do nothing without opts.blocking; the pair of
 * _begin and _end goes by watch_opts.blocking where nothing is recorded.
 * The sink for the live source: sink itself, or the tape until it is played.
 */
void flight_keep_open(struct live_flight *f);
void flight_keep_release(struct live_flight *f);
/* Since when it has the events. */
uint64_t flight_keep_play(struct live *l);
struct event_sink *flight_sink(struct live *l, struct event_sink *out);
/* After EV_META. */
void flight_keep_begin(struct live *l);
/* With the last tick: the window ends here. */
void flight_keep_end(struct live *l, uint64_t now);
/* Some ten times a second: ends it by l->end_ns; 0, or what attaching says. */
int flight_turn(struct live *l, uint64_t now, struct err *err);
/* A stop was asked for: true when it needs no more than to say so here. */
bool flight_takes_stop(struct live *l);

/* Stacks that came meanwhile and that calls in the window have: now they become events. */
void flight_stacks_put(struct live *l, const uint64_t *used);

/* Samples kept since begin_ns: their stacks in used, or after these as events. */
void flight_samples_mark(const struct live_flight *f, uint64_t begin_ns, uint64_t *used);
void flight_samples_put(struct live *l, uint64_t begin_ns);

/* flight_watch.c: true when the detector, if it is on, says that it is time. */
bool flight_watch(struct live_flight *f, uint64_t now, char *ret_reason, size_t size);
void flight_watch_free(struct flight_watch *w);

/* flight_pause.c: lets the hooks go and come back.  0, or what attaching says. */
int flight_duty(struct live *l, uint64_t now, struct err *err);
void flight_duty_end(struct live_flight *f);
/* Its parts: a phase with hooks begins, they come back. */
void flight_phase_begin(struct live_flight *f, uint64_t now);
int flight_duty_back(struct live *l, uint64_t now, struct err *err);
/* Calls that were missed since then, about, and for how long the hooks were away. */
uint64_t flight_duty_lost(const struct live_flight *f, uint64_t since_ns, uint64_t *ret_away_ns);

/* flight_dump.c.  Of one record: now is a time soon after it. */
const struct call_rec *flight_rec(const struct live_flight *f, uint32_t cpu, uint64_t at);
uint64_t flight_rec_begin(const struct call_rec *r, uint64_t now);
uint64_t flight_rec_dur(const struct call_rec *r);
/* Threads that ended, calls, the window. */
void flight_dump(struct live *l);

#endif /* FLIGHT_INT_H */
