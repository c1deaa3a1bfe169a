/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WAITS_H
#define WAITS_H
/*
 * The waits engine: whose time goes where, and who is waited for.
 *
 * Its unit is demand: nanoseconds that something outside wanted an answer
 * and had none.  For a server that is the sum of its open requests over time
 * (Little's law: requests x time each is open), for a program without
 * conversations the lives of its threads.  Demand is laid on causes by
 * cascading each wait to what its waker did meanwhile (wPerf, OSDI'18,
 * section 3.3, here with exact intervals and over processes).
 *
 *	waits_analyse: model in, result in the caller's arena.
 *
 * Judges nothing: that is verdict/.  Bounded: at most WAITS_MAX_DEPTH hops and
 * opts.max_visits visits; what that leaves is CAUSE_UNSEEN.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAITS_MAX_DEPTH 12
#define LOCK_MAY_HOLD_MAX 4 /* sessions to name where any may have it: what a person asks after */
#define WAITS_STALL_NS 50000000 /* what nobody at the other end notices is shorter */
#define WAITS_MAX_LINE 48 /* hops while they follow a line for one lock, each waiter to the next */

struct arena;
struct model;
struct waits_tail;
/* Purpose of a thread, inferred from its waits when it has no request. */
enum role {
	ROLE_T_NONE = 0,
	ROLE_T_ENTRY = 1,   /* reads requests and answers them itself */
	ROLE_T_LOOP = 2,    /* event loop that serves many connections */
	ROLE_T_WORKER = 3,  /* one of several that take work from the same place */
	ROLE_T_HELPER = 4,  /* a single thread others wait for (log writer, ...) */
	ROLE_T_ACCEPT = 5,
	ROLE_T_KERNEL = 6,
	ROLE_T_IDLE = 7,    /* did nothing in the window */
	ROLE_T_OTHER = 8,
};

/* Ends of the cascade. */
enum cause_kind {
	CAUSE_UNSEEN = 0,   /* not known: lost, too deep, or no waker recorded */
	CAUSE_RUN = 1,	    /* a thread computing */
	CAUSE_RUNQ_SELF = 2,/* waiting for a CPU that the watched processes use */
	CAUSE_RUNQ_OTHER = 3, /* ... that others use, or the hypervisor */
	CAUSE_RUNQ_QUOTA = 4, /* ... held back by a cgroup's quota */
	CAUSE_LOCK = 5,	    /* a lock whose holder is not seen doing anything else */
	CAUSE_DISK = 6,
	CAUSE_FSYNC = 7,
	CAUSE_MEMORY = 8,   /* faults, reclaim, swap */
	CAUSE_EXTERNAL = 9, /* a peer on another host, or one that is not tracked */
	CAUSE_TIMER = 10,   /* sleeps on purpose */
	CAUSE_CLIENT = 11,  /* waiting for the client itself */
	CAUSE_IDLE = 12,    /* nothing to do */
	CAUSE_KLOCK = 13,
	CAUSE_QUEUE = 14,   /* request is open or unread and no thread works on it */
	CAUSE_CYCLE = 15,   /* waits for one that waits for it */
	CAUSE_CHILD = 16,
	CAUSE_OTHER = 17,
	CAUSE_STOPPED = 18, /* by a signal, a debugger or a freezer */
	CAUSE_CNT
};

struct cause {		    /* demand that ends here; by ns, largest first */
	uint8_t kind;
	uint32_t thread;    /* model idx where it ends, NO_IDX */
	uint32_t res;	    /* model idx, NO_IDX */
	uint32_t entry_proc;/* whose requests paid; model idx */
	uint32_t entry;	    /* the thread they were open in, NO_IDX */
	uint64_t ns;
	uint64_t cnt;	    /* intervals */
	uint64_t max_ns;
	uint32_t via;	    /* thread idx one hop before, NO_IDX */
	uint32_t via_res;   /* resource that hop waited on, NO_IDX */
	uint32_t lock;	    /* first lock on the way, index in locks, NO_IDX */
	uint32_t end;	    /* conversation, model idx in ends, NO_IDX */
	uint32_t depth;	    /* hops, most of any interval in the sum */
};

struct wedge {		    /* waiter -> waker on a resource, in demand time; by ns */
	uint32_t from, to;  /* thread idx; to NO_IDX: see ctx */
	uint32_t res;
	uint8_t ctx;	    /* enum waker_ctx */
	uint8_t cls;	    /* enum wait_class */
	uint64_t ns, cnt, max_ns;
};

enum lock_class { LOCK_NONE = 0, LOCK_HANDOFF = 1, LOCK_LOCK = 2, LOCK_RESULT = 3 };

struct site { uint32_t stack, frame; }; /* model stack, NO_IDX unknown; of its user frames */

struct lock {		    /* a resource, or several that behave as one */
	uint32_t res;	    /* the busiest of them */
	uint32_t res_cnt;
	uint8_t cls;	    /* enum lock_class */
	uint8_t virt;	    /* 1: inferred from who wakes whom, not from one futex */
	uint8_t gate;	    /* 1: threads without a request take turns under it at taking one */
	uint8_t presumed;   /* 1: nobody let go of it; the holder is who stopped first */
	uint32_t waiter_cnt, holder_cnt; /* distinct threads */
	uint32_t holder;    /* thread idx that held it longest, NO_IDX */
	uint64_t wait_ns, wait_cnt, max_ns;
	uint64_t busy_ns;   /* at least one waiter */
	double avg_waiters; /* while busy */
	uint64_t hold_ns;   /* how long it is kept, weighted by that: what a comer meets */
	uint64_t holder_ns; /* busy time that ended with this holder's wake-up */
	uint64_t holder_st[32]; /* what the holders did meanwhile, by ST_* */
	double holders_avg; /* that have it at one time: 1 a lock, more a counted limit */
	uint32_t pending_cnt; /* still waiting at the end */
	uint32_t may_hold[LOCK_MAY_HOLD_MAX], may_hold_cnt; /* where nobody is presumed */
	struct site site, release, held_in; /* virtual: waited for, let go; presumed: held */
};

struct wthread {	    /* index as model threads */
	uint8_t role;
	uint32_t home_res;  /* where it waits for work, NO_IDX */
	uint64_t idle_ns, demand_ns; /* waits nobody depends on; time with a request open */
	/* waits that are not idle; of these for one client's words, while others lie unaccepted */
	uint64_t blocked_ns, silent_ns;
	uint32_t group;	    /* threads of a process with the same role and comm */
	uint64_t turn_cnt;
	/* loop: kept from turning, for WAITS_STALL_NS and more at a time */
	uint64_t stall_ns, stall_max_ns, stall_cnt;
};

struct wgroup { uint32_t proc; uint8_t role; const char *comm; uint32_t thread_cnt, busy_cnt;
	uint64_t life_ns, idle_ns, run_ns, runq_ns, blocked_ns; uint32_t home_res; };

struct wreq {		    /* requests of one process */
	uint32_t proc;
	uint64_t turns, demand_ns; /* open requests x time, plus unread */
	uint64_t queue_ns;  /* arrived and not yet read */
	uint64_t service_ns, answer_max_ns;
	uint64_t p50_ns, p99_ns;
	double open_avg;    /* requests open, mean over the window */
	double out_avg;	    /* requests of ours to others that were open */
	double unread_avg;
	uint64_t open_now, open_oldest_ns;
	uint64_t stale_cnt; /* of open_now: open since before the window */
	uint64_t owed_cnt, stale_oldest_ns; /* connections whose client spoke last, before it */
	uint32_t conns;
	uint64_t txblock_ns;/* clients slow to read */
	uint64_t partial_cnt;
	uint64_t idle_ns;   /* connections with nothing asked */
};

struct wcycle {
	uint32_t thread[16], res[16], len;
	uint64_t ns;
	uint8_t pending;
};

struct waits_opts {
	uint64_t max_visits;	/* default 4 million */
	bool by_wait;		/* fill wait_demand_ns, run_demand_ns, wait_idle */
};

struct waits_result {
	struct wthread *threads;	/* model->thread_cnt */
	struct wgroup *groups; size_t group_cnt;
	struct cause *causes; size_t cause_cnt;
	uint64_t demand_ns;		/* laid on causes, sum of causes[].ns */
	uint8_t demand_kind;		/* 1 requests, 2 threads' lives */
	double ticked_ns; /* of requests answered all at once by the server's own doing: news */
	struct wedge *edges; size_t edge_cnt;
	struct lock *locks; size_t lock_cnt; /* by wait_ns */
	struct wreq *reqs; size_t req_cnt;   /* by demand_ns */
	struct wreq total;		/* of the targets together; proc NO_IDX */
	struct wcycle *cycles; size_t cycle_cnt;
	double part; /* of the window that waits are known of; demand is stretched to all of it */
	uint64_t visits, cut_cnt;	/* interval visits, cascades cut by a bound */
	uint64_t folded_cnt; /* causes over the bound on combinations: time kept, path not */
	/*
	 * The targets' demand by where it was spent, NULL unless opts.by_wait.  What is
	 * passed on counts in the wait it came through as well; of a line for one lock
	 * in the first wait only.
	 */
	double *wait_demand_ns;		/* by model wait idx */
	double *run_demand_ns;		/* by model thread idx: while it ran */
	uint8_t *wait_idle;		/* by model wait idx: 1 nobody's request depends on it */
	struct waits_tail *tail;	/* waits/tail.h; NULL where no requests were seen */
};

/* opts may be NULL.  Arrays live in arena. */
struct waits_result *waits_analyse(const struct model *m, const struct waits_opts *opts,
				   struct arena *arena);

/* Middle of the quantile's bucket of the answer times in a struct end's hist, 0 when empty. */
uint64_t hist_quantile_ns(const uint64_t *hist, double q, uint64_t longest_ns);
/* The sum of those of ns or more, as far as their buckets say. */
double hist_sum_from(const uint64_t *hist, uint64_t ns);

const char *role_name(unsigned role);
const char *cause_name(unsigned kind);  /* "runq-other": stable, used in JSON */
const char *cause_words(unsigned kind); /* "waiting for a CPU that others use" */

#endif /* WAITS_H */
