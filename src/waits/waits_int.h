/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WAITS_INT_H
#define WAITS_INT_H
/*
 * What the steps of the waits engine share.  Private to waits/.
 *
 *	runq_shares, places_find, looks_find, locks_find, parks_find, roles_assign, looks_find,
 *	relays_find, virtual_locks_find, crowds_find, reqs_sum, demand_lay, edges_sum,
 *	cycles_find, tail_find
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "model/model.h"
#include "waits/tail.h"
#include "waits/waits.h"

struct causes;
struct claims;

/* A thread that looks whether it may go on is away from its wait for less than this. */
#define LOOK_AGAIN_NS 5000000

struct tinfo {			/* index as model threads */
	bool reads;		/* read a request in the window, or had one open */
	bool serves;		/* had a request open, or a client's connection of its own */
	bool asleep;		/* with a request, since before the watch: see asleep.c */
	bool answers;		/* ended a turn, or woke a tracked thread */
	bool on_stack;		/* being explained */
	bool relays;		/* wakes others by its client's words: see relays.c */
	bool line;		/* takes new connections, and some lie there: see callers.c */
	uint32_t server_read_cnt, server_most_cnt; /* reads, those from one socket */
	uint32_t fed_cnt;	/* turns it began on sockets that another thread polls */
	bool polls;		/* waited for a set or a list of files */
	uint32_t home_cls;	/* enum wait_class of its home wait, WAIT_CLASS_CNT none */
	uint32_t open_max;	/* requests open in it at one time */
	uint64_t open_home_ns, open_away_ns; /* waits with one open, at home and elsewhere */
};

struct runq_share { double self, other, quota; };
struct engine {
	const struct model *m;
	struct waits_result *r;
	struct arena *arena;
	struct tinfo *tinfo;
	uint32_t *wait_lock;	/* by wait idx: index in r->locks, NO_IDX */
	uint32_t *look_begin, *look_end; /* by wait idx: first and last piece, see timed_retry.c */
	struct runq_share *runq;/* by proc idx */
	uint8_t *sets;		/* by res idx: what is in a set of files, see asleep.c */
	bool *at_work;		/* by proc idx: a thread of it is asleep with a request */
	uint32_t *asks;		/* by proc idx: its only conversation, in which it asks; NO_IDX */
	bool *owes;		/* by proc idx: a connection had no answer when the watch began */
	bool *parked; /* by wait idx: for work, whatever request the probe counts as its thread's */
	uint32_t *family;	/* by proc idx: the first process of the same name */
	uint32_t *place; /* by res idx: the first res that is the same place for work */
	uint64_t from_ns;	/* waits begin here; all times are on model/view_clock.h's clock */
	struct claims *claims;	/* NULL: nobody asks for them; claims.h */
	uint64_t max_visits;
	uint32_t max_depth;	/* of hops, but in a line for one lock */
	bool by_wait;
};

struct place {			/* what a cause is charged to besides kind and time */
	uint32_t entry_proc, entry, via, via_res, lock, end, depth;
	bool unasked;		/* waits for a lock with no request open */
};

/* demand, causes */
struct causes *causes_new(const struct engine *e);
void causes_free(struct causes *c);
void causes_add(struct causes *c, unsigned kind, uint32_t thread, uint32_t res,
		const struct place *at, double ns);
/* Adds an interval of which only this part is kept: it counts, and lasted, accordingly. */
void causes_add_part(struct causes *c, unsigned kind, uint32_t thread, uint32_t res,
		     const struct place *at, double ns, double part);
/* Demand at, that wait idx held up; where the engine tells demand by wait. */
void causes_lay(struct causes *c, uint32_t wait, const struct place *at, double ns);
void causes_scale(struct causes *c, double factor);
/* The same with the counts of intervals, by a factor over 1. */
void causes_stretch(struct causes *c, double factor);
void causes_merge(struct causes *into, const struct causes *from);
double causes_total(const struct causes *c);
/*
 * The largest end of demand: kind and thread, NO_IDX for kinds whose end is no thread's
 * doing; RUNQ_SELF stands for all waits for a CPU.  ns 0: there is none.
 */
struct lead { uint8_t kind; uint32_t thread, res, lock, via, end, depth; double ns; };
struct lead causes_lead(const struct causes *c);
/* True if such a cause ends by no thread's doing. */
bool cause_ends_outside(unsigned kind);
/* Sorted into the arena. */
void causes_finish(const struct causes *c, struct engine *e);

/* Lays one wait of t on causes, clipped to [a, b). */
void cascade_wait(struct engine *e, struct causes *c, uint32_t wait, uint64_t a, uint64_t b,
		  double weight, const struct place *at);
struct stack;
/* sites.c: the begin of the function that user frame i is in, else the frame. */
uint64_t frame_place(const struct model *m, const struct stack *s, uint32_t i);
/* All functions of a stack of the program as one number, 0: there are none. */
uint64_t stack_site(const struct model *m, uint32_t stack);
/* The same of its innermost functions, the C library's way to the kernel left out. */
uint64_t stack_inner_site(const struct model *m, uint32_t stack);

/* Finds the sites of virtual locks: waited for, released and held. */
void lock_sites(const struct engine *e);

/* True where nobody's request depends on this wait. */
bool wait_is_idle(const struct engine *e, const struct wait *w);
/* How long w slept, with what of it is not kept. */
uint64_t wait_real_ns(const struct wait *w);
/* Nanoseconds of t in [a, b) by state, added to st[ST_CNT]. */
void thread_states(const struct model *m, uint32_t t, uint64_t a, uint64_t b, uint64_t *st);
/* Index of the first wait of t that ends after a; t's first_wait + wait_len if none. */
uint32_t wait_after(const struct model *m, uint32_t t, uint64_t a);

/* Which waits are one wait with looks in between: fills look_begin, look_end; after roles too. */
void looks_find(struct engine *e);
void locks_find(struct engine *e);
void relays_find(struct engine *e);
void virtual_locks_find(struct engine *e);
void crowds_find(struct engine *e);
void parks_find(struct engine *e);
void asleep_find(struct engine *e);
/* The stack that t sleeps with at w, or slept with there before; NO_IDX: not known. */
uint32_t sleep_stack(const struct model *m, const struct wait *w);
/* On a client's socket, or on a set that has one; in open() of a FIFO nobody else has open. */
bool waits_for_client(const struct engine *e, const struct wait *w);
bool opens_fifo(const struct wait *w);
void locks_finish(struct engine *e);
/*
 * Requests open in its thread at the time, none where it waits for work.  A thread
 * that slept when the watch began has not been seen to read; it counts as one while
 * its process owes answers, unless it sleeps where requests come from.
 */
unsigned wait_open(const struct engine *e, const struct wait *w);
/* For an answer, while connections lie unaccepted before its process: see callers.c. */
bool keeps_callers(const struct engine *e, const struct wait *w);
/* For the words of one client, while others wait: who else has connected waits for him too. */
bool is_silent_client(const struct engine *e, const struct wait *w);
void callers_find(struct engine *e);
/* At the place where a loop waits for whatever comes next. */
bool wait_is_home(const struct engine *e, const struct wait *w);
void places_find(struct engine *e);
void roles_assign(struct engine *e);
void groups_make(struct engine *e);
void reqs_sum(struct engine *e);
void demand_lay(struct engine *e);
/* unanswered.c: requests that hang through the whole window, and whom they wait for */
double unanswered_cnt(const struct engine *e, uint32_t proc);
/* The source of answers to requests that nobody works on: other clients' words, own clock. */
enum news { NEWS_NONE = 0, NEWS_CLIENTS, NEWS_OWN };
enum news waits_for_news(const struct engine *e, uint32_t proc);
void unanswered_lay(struct engine *e, uint32_t proc, uint32_t loop, struct causes *into);
/* A socket of this conversation, NO_IDX: none is known. */
uint32_t res_of_end(const struct model *m, const struct end *n);
void edges_sum(struct engine *e);
void cycles_find(struct engine *e);
void runq_shares(struct engine *e);
void tail_find(struct engine *e);
/* tail_spans.c, tail_stuck.c, tail_stalls.c: private to tail_find */
struct span {			/* a slow request, or a wait that held some */
	uint64_t begin_ns, read_ns, end_ns; /* in the window */
	uint64_t len_ns;	/* with what lies before it */
	uint32_t thread, answerer, proc; /* idx; who read it, who answered */
	bool turn;		/* recorded as a request */
	bool own;		/* held by its own thread's doing: nobody else is */
	bool unasked;		/* a wait with no request open in its thread */
	struct causes *causes;
	struct lead lead;
	uint64_t where;		/* besides kind and thread, what tells its reason from others */
	uint64_t group;		/* the same for its group of stalls */
};
struct sample_at { uint32_t thread, idx; uint64_t ts_ns; };
struct tail_work {
	struct engine *e;	/* of the view */
	struct waits_tail *tail;
	struct span *spans; size_t span_cnt;
	const struct model *m;	/* the view */
	struct sample_at *samples; /* all of m's, by thread, then time */
	uint64_t samples_from_ns; /* samples before are not kept; UINT64_MAX: none at all */
	uint32_t *asks; size_t ask_cnt; /* idx in m->turns: slow requests to others */
	struct hmap runs, news;	/* what is_one_run found; by proc idx: 1 waits for news, 0 not */
	VEC(struct hmap) places; /* of a thread's samples; place_idx: by thread, + 1 */
	struct hmap place_idx;
};
void spans_collect(struct tail_work *k);
void spans_explain(struct tail_work *k);
void stalls_make(struct tail_work *k, struct arena *arena);
/* A thread did one thing in [a, b) where it did not wait long: it ran, and of a loop that
 * serves others, in one function that it is not in otherwise. */
bool is_one_run(struct tail_work *k, uint32_t t, uint64_t a, uint64_t b);
void samples_index(struct tail_work *k, struct arena *tmp);
/* A socket at which requests arrive.  res may be NO_IDX. */
bool res_is_server(const struct model *m, uint32_t res);

#endif /* WAITS_INT_H */
