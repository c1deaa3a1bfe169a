/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FINDING_H
#define FINDING_H
/*
 * What a verdict consists of: findings, the steps of their chains, their numbers, and
 * what was not covered.  Made by verdict/, read by report/ and cli/.
 *
 * All of it lives in the arena that verdict_make was given.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tail;

enum finding_class {
	FIND_HEALTHY = 0,
	FIND_CPU_OWN = 1,
	FIND_CPU_NEIGHBOUR = 2,
	FIND_CPU_QUOTA = 3,
	FIND_LOCK_HELD = 4,
	FIND_LOCK_CONVOY = 5,
	FIND_DEADLOCK = 6,
	FIND_WORKERS = 7,
	FIND_CONN_LIMIT = 8,
	FIND_DISK_OWN = 9,
	FIND_DISK_NEIGHBOUR = 10,
	FIND_DISK_LIMIT = 11,
	FIND_FSYNC = 12,
	FIND_MEMORY = 13,
	FIND_EXTERNAL = 14,
	FIND_PEER = 15,
	FIND_LOOP_BLOCKED = 16,
	FIND_CLIENTS = 17,
	FIND_UNKNOWN = 18,
	FIND_TIMER = 19,	/* the application sleeps on purpose: back-off, poll interval */
	FIND_STOPPED = 20,	/* SIGSTOP, job control, a debugger */
	FIND_ENDLESS = 21,	/* a thread runs on and answers nobody */
	FIND_DIED = 22,		/* a signal ended the process */
	FIND_CNT
};

enum confidence { CONF_LOW = 1, CONF_MEDIUM = 2, CONF_HIGH = 3 };

struct party {			/* a thread or process blamed or named */
	uint32_t pid, tid;	/* tid 0: the process as a whole; pid 0: none */
	const char *comm;	/* "" when none */
};

enum step_does { STEP_OTHER = 0, STEP_RUNS = 1, STEP_WAITS = 2 };
enum fns_what { FNS_RUNS = 1, FNS_WAITS = 2, FNS_ENDED = 3 }; /* by whom the wait is ended */

/* The functions of a step, from the stacks of all threads that are alike. */
struct step_fns {
	uint8_t what;		/* enum fns_what */
	struct party who;	/* of FNS_ENDED: who ended most of it, comm "" unknown */
	double share;		/* of the step's time that has stacks, 0..1 */
	uint64_t cnt;		/* samples or waits with this function */
	const char *names[4];	/* the function and its callers, innermost first */
	const char *modules[4];	/* base names, "" none */
	uint32_t name_cnt;
	uint8_t nameless;	/* bits: names[i] is but a module and an offset */
};

struct step {			/* of the chain, from the client-facing thread on */
	uint32_t thread;	/* model idx, NO_IDX: outside (a client, a remote host, a disk) */
	struct party who;
	const char *role;	/* "event loop", "worker", "disk", "remote host", ... */
	uint32_t like_cnt;	/* threads that behave like this one, itself included */
	const char *doing;	/* "waits for futex 0x7f.. (lock)", "runs", ... */
	const char *resource;	/* "" when it runs */
	const char *res_kind;	/* res_kind_name, "" none */
	double share;		/* of the demand that passes through this step, 0..1 */
	uint64_t per_request_ns;/* 0: no requests were seen */
	uint64_t cnt;		/* waits */
	uint32_t res;		/* model idx of resource, NO_IDX */
	uint8_t does;		/* enum step_does */
	uint32_t states;	/* of STEP_WAITS without res: 1 << wait class, 0 any */
	uint32_t enders;	/* of STEP_WAITS: 1 << waker ctx, 0 any */
	struct step_fns *fns; size_t fn_cnt; /* none where no stack was taken */
	uint8_t in_nameless_code; /* 1: much of it lies in or below code made at run time */
};

enum figure_form {		/* how a sentence writes it */
	FIGURE_WORD = 0,	/* not a number */
	FIGURE_CNT, FIGURE_AVG, FIGURE_NS, FIGURE_SHARE, FIGURE_PER_S, FIGURE_KIB, FIGURE_MIB,
	FIGURE_BYTES_PER_S, FIGURE_SHARE_DEC, FIGURE_RAW_BYTES_PER_S,
	FIGURE_BARE_S,
};

struct figure {			/* a number of a sentence: verdict/context/figures.h */
	const char *key;	/* "longest": what it is of, stable */
	double value;		/* as it was measured, in figure_unit */
	const char *text;	/* of FIGURE_WORD */
	uint8_t form;
};
struct figures { const struct figure *items; size_t cnt; };

struct finding {
	uint8_t cls;		/* enum finding_class */
	uint8_t conf;		/* enum confidence: confidence.h */
	uint8_t lacks;		/* levels of it that missing evidence costs */
	const char *lack;	/* what was not seen that its class should show; NULL nothing */
	const char **doubts; size_t doubt_cnt; /* why it is not surer, the heaviest first */
	uint8_t of_tail;	/* 1: of the slow requests, share is of their time */
	double share;		/* of the demand it explains, 0..1 */
	const char *summary;	/* one sentence */
	const char *next_step;	/* what to do about it, in figures of this verdict */
	const char *resource;	/* name a person knows; "" none */
	const char *res_kind;
	struct party culprit;
	const char **evidence; size_t evidence_cnt;
	struct figures *figures; /* of each of these its numbers; NULL: none has any */
	const char **refute; size_t refute_cnt; /* "would be wrong if ..." */
	struct step *chain; size_t chain_len;
};

struct change {			/* against a baseline; largest first */
	const char *what;	/* "p99 of requests", "waits for futex 0x7f.." */
	const char *unit;	/* "ns", "1/s", "s/s": seconds of threads or requests a second */
	double was, is;
	double score;		/* see compare.c */
};

enum { NAMELESS_MAX = 3 };	/* files that one sentence lists */

#define NAMELESS_CODE "code made at run time" /* instead of a file */

/* Files of the chain's functions that have no names there, and who runs them. */
struct nameless {
	const char *files[NAMELESS_MAX]; /* without their directories */
	size_t cnt;
	uint32_t pid;
	size_t at;		/* of unseen: the sentence that says so; only with cnt */
};

struct verdict {
	struct finding *findings; /* [0] is the verdict, HEALTHY, CLIENTS and UNKNOWN too */
	size_t finding_cnt;
	struct finding *candidates; /* two, when findings[0].cls is UNKNOWN; else none */
	size_t candidate_cnt;
	const char **unseen; size_t unseen_cnt; /* drops, missing hooks, limits, short window */
	struct nameless nameless;
	const char *subject;	/* "redis-server (pid 1234), 5 threads" */
	double seconds;
	uint8_t compared;	/* 1: with a baseline; without changes they are the same */
	struct change *changes; size_t change_cnt;
	struct tail *tail;	/* verdict/context/tail.h; NULL where no requests were seen */
};

/* "lock-held": stable, used in JSON.  "lock held too long": for people. */
const char *finding_name(unsigned cls);
const char *finding_title(unsigned cls);
/* Not of healthy, clients and unknown. */
bool finding_holds_up(unsigned cls);
/* Something in the program is to blame, not somebody else or nobody. */
bool finding_is_its_own(unsigned cls);
const char *confidence_name(unsigned conf);
/* "ns", "share", "bytes", "bytes/s", "1/s" or "count"; NULL for a word. */
const char *figure_unit(const struct figure *n);

#endif /* FINDING_H */
