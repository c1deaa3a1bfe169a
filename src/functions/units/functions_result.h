/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_RESULT_H
#define FUNCTIONS_RESULT_H
/* The answer of functions.h: units of a window, their clusters, the functions to blame. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

enum units_rule {
	UNITS_WORK = 0,		/* from one wait for work to the next */
	UNITS_PAPER = 1,	/* another thread or CPU in the order of all calls, or 0.6 s */
};
/* How a unit deviates from its like. */
enum dev_kind {
	DEV_MORE = 0,		/* makes more calls of the kind */
	DEV_SLOWER = 1,		/* its calls take longer */
	DEV_NEVER = 2,		/* a call did not return */
	DEV_OWN = 3,		/* spends longer between calls */
	DEV_SPINS = 4,		/* runs without making calls at all */
	DEV_COST = 5,		/* does not deviate: this is where time goes */
	DEV_HELD = 6,		/* the same of requests: they wait in it */
	DEV_WORKS = 7,		/* and: are computed in it */
	DEV_ENDS = 8,		/* the same: their wait chain ends in it */
	DEV_KIND_CNT
};

/* Why a unit counts as abnormal. */
enum unit_reason {
	UNIT_NEIGHBOUR = 1 << 0,/* far from its nearest neighbours */
	UNIT_CENTRE = 1 << 1,	/* far from the middle of its cluster */
	UNIT_RARE = 1 << 2,	/* one of fewer than four of its kind: a prior, no finding */
	UNIT_LONG_KIND = 1 << 3,/* all of its kind take far longer than the usual kind */
	UNIT_BASELINE = 1 << 4,	/* compared with the good capture, or the signatures' baseline */
	UNIT_STUCK = 1 << 5,	/* holds a call that did not return, or spins */
	UNIT_RESTS = 1 << 6,	/* but most likely idle */
	UNIT_UNFELT = 1 << 7,	/* of a thread that no request waits for */
};

enum { UNIT_DEVS = 3, FN_EVIDENCE_MAX = 6, FN_UNITS_MAX = 5, FN_PATH_MAX = 12 };

struct unit_dev {
	uint16_t nr;		/* of the call; NR_OWN for DEV_OWN, DEV_SPINS */
	uint8_t kind;		/* enum dev_kind */
	uint8_t pad;
	uint32_t cnt;		/* calls in the unit */
	float usual_cnt;	/* in the middle of its like */
	uint64_t mean_ns, usual_ns; /* of one call; DEV_OWN: between two, DEV_NEVER: its age */
	uint64_t max_ns;	/* the longest of these */
	uint64_t harm_ns;	/* what it cost */
};
#define NR_OWN UINT16_MAX

struct unit_report {		/* an abnormal unit, most harm first */
	uint32_t thread;	/* idx in model threads */
	uint32_t first, cnt;	/* run of calls[]; cnt 0: a thread that makes none */
	uint32_t cluster;	/* idx in clusters, NO_IDX */
	uint32_t next, before;	/* idx of units in this list that follow, led here; NO_IDX */
	uint32_t waits_for;	/* thread idx it waits for, NO_IDX */
	uint32_t reasons;	/* enum unit_reason */
	float score;		/* distance, in robust standard deviations */
	uint64_t begin_ns, end_ns;
	uint64_t harm_ns;
	struct unit_dev devs[UNIT_DEVS];
	uint32_t dev_cnt;
};

struct cluster_report {		/* most units first */
	const uint16_t *nrs;	/* the calls that most of its units make */
	uint32_t nr_cnt;
	uint32_t pattern_cnt;	/* distinct sets of calls in it */
	uint64_t unit_cnt, abnormal_cnt;
	uint64_t usual_ns;	/* how long its units take, the median */
	bool small;		/* fewer than four units */
};

struct fn_evidence {		/* one kind of deviation of one call, through the function */
	uint16_t nr;
	uint8_t kind;		/* enum dev_kind */
	bool self;		/* the function made the calls itself */
	uint64_t harm_ns;	/* of the harm, or requests' time, what passed through it */
	uint64_t usual_ns;	/* of the normal units' time, the same */
	uint64_t cnt;		/* abnormal calls */
	uint32_t unit_cnt;	/* abnormal units */
	uint32_t stack;		/* model stack idx that carries most of it, NO_IDX */
	const char *episode;	/* without stacks: the calls that named the function, "" none */
};

struct fn_report {
	const char *name, *module;
	uint32_t rank;		/* from 1; the members of a tie share the first one's */
	uint32_t tie;		/* number of the tie group from 1; 0: alone */
	uint32_t tie_cnt;	/* functions in it, 1 alone */
	uint32_t group;		/* of functions whose signatures are the same, 0 alone */
	double score;		/* 0 to 1 */
	double place;		/* the score it is sorted by: of its group's best */
	double self;		/* part of the harm made in calls of its own, 0 to 1 */
	double harm_share;	/* of all harm, what passed through it */
	double usual_share;	/* of the normal work, what passed through it */
	double held_share;	/* of the time that requests were open, the same */
	struct fn_evidence evidence[FN_EVIDENCE_MAX]; /* most harm first */
	uint32_t evidence_cnt;
	uint32_t units[FN_UNITS_MAX]; /* idx in units, most harm first */
	uint32_t unit_cnt;	/* of those above */
};

enum outside_kind { OUTSIDE_NONE = 0, OUTSIDE_DISK = 1, OUTSIDE_CPU = 2, OUTSIDE_ALL = 3 };
struct outside_report {		/* the cause lies outside of the program */
	uint8_t kind;		/* enum outside_kind */
	uint32_t hit_cnt, thread_cnt; /* threads hit, of those that worked */
	uint64_t onset_ns;	/* when most were first hit */
	uint64_t spread_ns;	/* between the quarters of those times */
	double share;		/* of the harm, in calls of that kind */
	const char *who;	/* other processes that did it, "" not known */
	const char *words;	/* what the waits tell of it, a sentence; NULL: they do not */
};
enum functions_thin {		/* what remains unknown, and why */
	THIN_NO_CALLS = 1 << 0,
	THIN_NO_STACKS = 1 << 1,    /* functions are known by signatures only */
	THIN_NO_SIGNATURES = 1 << 2,/* and there are none: no functions */
	THIN_SIGS_OTHER = 1 << 3,   /* signatures are of another build */
	THIN_FEW_UNITS = 1 << 4,    /* too few to tell what is usual */
	THIN_NO_HARM = 1 << 5,	    /* nothing stands out: ranked by where time goes */
	THIN_LOST = 1 << 6,	    /* calls were lost */
	THIN_NO_TIMES = 1 << 7,	    /* the trace has no durations */
	THIN_NO_SAMPLES = 1 << 8,   /* time between calls has no samples */
	THIN_NO_NAMES = 1 << 9,	    /* most functions are known by address only */
	THIN_MANY_PATTERNS = 1 << 10, /* over the bound: the rarest were put with their like */
	THIN_AWAY = 1 << 11,	    /* the recorder left time out: --max-cost */
	THIN_QUEUED = 1 << 12,	    /* most of the requests' time is in no function */
	THIN_GUESS = 1 << 13,	    /* most of the harm is where signatures know nobody */
	THIN_BLOCKING = 1 << 14,    /* mostly blocking calls only */
	THIN_COARSE = 1 << 15,	    /* and of these mostly the long ones */
	THIN_SILENT = 1 << 16,	    /* a window without calls */
	THIN_MANY_CALLS = 1 << 17,  /* over DIMS_CALLS_MAX kinds: the rarest were left out */
};

struct functions_result {
	const struct model *m;
	uint64_t begin_ns, end_ns;
	uint64_t call_cnt, noise_cnt, lost_cnt, skipped_cnt, folded_cnt; /* THIN_MANY_CALLS */
	uint64_t stack_cnt;	/* calls with a stack */
	uint64_t away_ns;	/* of the window, not recorded; lost_cnt has an estimate of it */
	uint64_t part_ns, part_cnt; /* of the window, blocking calls only; these */
	uint64_t coarse_ns;	/* of part_ns: only those over WAIT_LONG_NS */
	uint64_t unit_cnt, abnormal_cnt, idle_cnt; /* idle: only waits for work */
	uint64_t torn_cnt;	/* units seen in part only, left out */
	uint64_t busy_ns;	/* of all units, waits for work not in it */
	uint64_t harm_ns;	/* of the abnormal ones, what was more than usual */
	uint64_t held_ns;	/* requests' time of which it is known where it was spent */
	uint64_t total_fn_cnt;	/* 0: not known */
	uint64_t seen_fn_cnt;	/* functions seen on stacks or in signatures */
	uint64_t candidate_cnt;	/* functions with any evidence */
	uint64_t mem_bytes;	/* taken by the analysis, beside the model */
	uint32_t pattern_cnt, thin; /* enum functions_thin */
	bool by_signatures;	/* no stacks: by signatures */
	bool baseline;		/* compared with what is normal, not with the window itself */
	struct cluster_report *clusters; size_t cluster_cnt;
	struct unit_report *units; size_t unit_report_cnt; /* the most harmful */
	struct fn_report *fns; size_t fn_cnt; /* by rank */
	struct outside_report outside;
};

#endif /* FUNCTIONS_RESULT_H */
