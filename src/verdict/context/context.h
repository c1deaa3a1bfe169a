/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTEXT_H
#define CONTEXT_H
/*
 * All that a verdict is made from, and the candidate of each finding: the demand that
 * explains it, and what is known of it so far.  Private to verdict/.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "model/model.h"
#include "stacks/stacks.h"
#include "verdict/context/finding.h"
#include "waits/waits.h"

struct cand {
	uint8_t cls;
	double ns;		/* demand that it explains */
	double more_ns;		/* part of ns, of other carriers, which are named by themselves */
	const struct cause *top; /* largest single cause, NULL when it has none */
	double top_ns;
	uint32_t lock;		/* index in locks, NO_IDX */
	uint32_t end;		/* index in ends, NO_IDX */
	uint32_t peer;		/* proc idx of a local peer, NO_IDX */
	uint32_t neighbour;	/* tgid that takes the CPU or the disk, 0 none */
	const char *neighbour_comm;
	uint32_t dev;		/* index in devs, NO_IDX */
	uint32_t group;		/* index in groups: the pool, NO_IDX */
	uint32_t loop;		/* thread idx, NO_IDX */
	bool steal;		/* the neighbour is outside this virtual machine */
	uint8_t kept_by;	/* of a pool: the finding that fills it, 0 none */
	bool by_run;		/* of a lock: known from what runs in the stalls only */
	bool hangs;		/* of requests that hang through the whole window */
};

/* A carrier is named beside the first of its class from this part of the demand on. */
#define CARRIER_MIN 0.15
#define CARRIERS_MAX 4

/* Less than this of all CPUs to spare, and they are used up. */
#define HOST_FULL_IDLE 0.10

struct context {
	const struct model *m;
	const struct waits_result *w;
	const struct stacks_result *s; /* NULL: no stacks were taken */
	struct arena *arena;
	uint8_t *cause_cls;	/* by index of cause: the finding that claims it */
	struct cand cand[FIND_CNT];
	struct cand more[CARRIERS_MAX]; /* other carriers: weigh/carriers.h */
	size_t more_cnt;
	struct cand pool;	/* that another finding fills; ns 0: none */
	double cpu_queue_ns;	/* of cpu-own: requests that lie unread since there is no CPU */
	double demand_ns;	/* of the target, with what the findings added */
	double window_ns;
	double turns;		/* requests answered */
	double host_idle;	/* 0..1 of all CPUs over the window */
	double host_steal;
	bool *beside;		/* by proc idx: a target's child that no request waits for */
	bool unasked;		/* a server, and no request came */
	bool unwatched;		/* no states of its threads are known */
	bool of_stalls;		/* made of the slow requests of a group of stalls alone */
};

void cand_init(struct cand *c, unsigned cls);
/* The results are borrowed; arena is for all that the verdict consists of. */
void context_init(struct context *k, const struct model *m, const struct waits_result *w,
		  struct arena *arena);

/* The finding that claims a cause of k->w, once they are weighed. */
static inline unsigned cause_finding(const struct context *k, const struct cause *c)
{
	return k->cause_cls[c - k->w->causes];
}

static inline double part_of(double part, double of) { return of > 0 ? part / of : 0; }
static inline double percent(double part, double of) { return 100 * part_of(part, of); }

#endif /* CONTEXT_H */
