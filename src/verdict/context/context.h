/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIGH_H
#define WEIGH_H
/*
 * Private to verdict/: demand sorted by the finding it speaks for.
 *
 *	weigh_causes (by cause), then weigh_* refine with what else was seen,
 *	candidates sorted by share, then explain_* write evidence and chain
 */
#include <stdbool.h>

#include "base/arena.h"
#include "model/model.h"
#include "stacks/stacks.h"
#include "verdict/context/finding.h"
#include "waits/waits.h"

struct cand {
	uint8_t cls;
	double ns;		/* demand that speaks for it */
	double more_ns;		/* of it: of other carriers, which are named by themselves */
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
	bool by_run;		/* of a lock: told by what runs in the stalls only */
	bool hangs;		/* of requests that hang through the whole window */
};

/* A carrier is named beside the first of its class from this part of the demand on. */
#define CARRIER_MIN 0.15
#define CARRIERS_MAX 4

struct court {			/* all that a verdict is made from */
	const struct model *m;
	const struct waits_result *w;
	const struct stacks_result *s; /* NULL: no stacks were taken */
	struct arena *arena;
	struct cand cand[FIND_CNT];
	struct cand more[CARRIERS_MAX]; /* other carriers: see carriers.c */
	size_t more_cnt;
	struct cand pool;	/* that another finding fills; ns 0: none */
	double cpu_queue_ns;	/* of cpu-own: requests that lie unread for want of a CPU */
	double demand_ns;	/* of the target, with what weigh_* added */
	double window_ns;
	double turns;
	double host_idle;	/* 0..1 of all CPUs over the window */
	double host_steal;
	bool *beside;		/* by proc idx: a target's child that no request waits for */
	bool unasked;		/* a server, and no request came */
	bool unwatched;		/* no states of its threads are known */
};

/* weigh.c */
void court_init(struct court *k, const struct model *m, const struct waits_result *w,
		struct arena *arena);
void weigh_causes(struct court *k);
bool thread_is_target(const struct model *m, uint32_t thread);
uint32_t end_of_res(const struct model *m, uint32_t res);
/* Of the time that a thread ran or wanted to, how much it was in direct reclaim: 0..1. */
double reclaim_share(const struct model *m, uint32_t thread);
void cand_init(struct cand *c, unsigned cls);
/* Held too long, wanted too often, or a limit. */
unsigned lock_finding(const struct court *k, uint32_t lock);
/* The finding that a cause speaks for by itself. */
unsigned finding_of_cause(const struct court *k, const struct cause *c);

/* The conversation that a cause ended at or came through, NO_IDX if none. */
uint32_t end_of_cause(const struct model *m, const struct cause *c);
/* The process of this host that a cause ended in, not one of the targets; NO_IDX none. */
uint32_t peer_of_cause(const struct court *k, const struct cause *c);

/* carriers.c: which lock, conversation or peer carries a class, by its largest */
void carriers_choose(struct court *k);
/* When all is weighed: the others that are worth a word, or hang, into more. */
void carriers_split(struct court *k);

/* disk.c, queue.c, cpu.c: move demand to the finding that the rest of the evidence names */
void weigh_disk(struct court *k);
void weigh_queue(struct court *k);
/* Of who fills a pool: what waits for the pool. */
void pool_line(struct court *k, struct finding *f);
void weigh_cpu(struct court *k);
void weigh_loop(struct court *k);
/* It runs or wants to nearly all of its life. */
bool never_rests(const struct thread *th);
/* Who has the CPU that others take. */
void weigh_neighbour(struct court *k);
/*
 * The lock on the way is but a link: who has it waits itself for a thread that has no
 * requests, and that computes without a rest.
 */
bool computes_for_holders(const struct court *k, const struct cause *c);
void weigh_clients(struct court *k);
/*
 * Connections to with, NULL those of clients, that had the end of a message kept back at
 * both ends of the watch.
 */
double held_conns(const struct court *k, const struct end *with);

/* verdict.c: nothing to speak of, top explains most beside; top NULL: nothing does */
bool at_ease(const struct court *k, const struct cand *top);

static inline double part_of(double part, double of) { return of > 0 ? part / of : 0; }
static inline double percent(double part, double of) { return 100 * part_of(part, of); }

/* explain.c, explain_work.c and chain.c */
void explain_queue(struct court *k, struct finding *f, const struct cand *c);
void backlog_lines(struct court *k, struct finding *f);
void explain_loop(struct court *k, struct finding *f, const struct cand *c);
void explain_rest(struct court *k, struct finding *f, const struct cand *c);
void explain(struct court *k, struct finding *f, const struct cand *c);
void chain_build(struct court *k, struct finding *f, const struct cand *c);
/* Threads that one step of a chain stands for. */
bool chain_alike(const struct court *k, uint32_t a, uint32_t b);
/*
 * The thread at which a lock's chain ends, or who has the lock and waits for that one; who
 * held it longest where the chain ends in line.
 */
uint32_t end_of_line(const struct court *k, const struct cand *c);
/* functions.c: a lock's function, and its caller where max is 2; "" not known */
const char *site_text(struct court *k, const struct site *site, uint32_t max);
/* explain.c: "lock in wait ← acquire of server"; "" where an address names it better */
const char *lock_name(struct court *k, const struct lock *l);
/* functions.c: what the stacks tell of the chain's steps */
void functions_add(struct court *k, struct finding *f);
void names_missing(struct verdict *v); /* fills v->nameless; _text: where to ask for them */
const char *nameless_text(const struct nameless *n, struct arena *a);
/*
 * Who ran while the target waited for a CPU, processes of one name together, whoever of
 * the target waited: by time, without heldup.  first->culprit 0: nobody did.
 */
struct ran { const struct culprit *first; double ns; bool more; };
struct ran *who_ran(const struct court *k, size_t *ret_cnt);
void culprit_lines(struct court *k, struct finding *f);
/* Forked by a target; and what that costs the target afterwards. */
bool is_child_of_target(const struct court *k, uint32_t tgid);
void copies_line(struct court *k, struct finding *f);
/* A cgroup that is at its limit of memory, NULL if none is. */
const struct cgroup *memory_full(const struct court *k);
/* What holders of a lock mostly did meanwhile, NULL when not known. */
const char *holders_did(struct court *k, const struct lock *l);
void waits_line(struct court *k, struct finding *f, uint32_t thread, uint32_t res);
const char *thread_label(struct court *k, uint32_t thread);
const char *ns_text(struct court *k, double ns);
struct party party_of(const struct model *m, uint32_t thread);
/* Adds printf text to f->evidence or f->refute; at most FINDING_LINES each. */
#define FINDING_LINES 8
void say(struct court *k, struct finding *f, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void refute(struct court *k, struct finding *f, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * spin.c: finds a thread that runs on and answers nobody, or a process that died of a
 * signal, and adds the finding.
 */
bool spin_add(struct court *k, struct verdict *v);
bool death_add(struct court *k, struct verdict *v);

/* next_step.c: what to do about f; c NULL: it was made of none */
void next_step(struct court *k, struct finding *f, const struct cand *c);
/* Those of v that have none yet, and the unknown, which its candidates tell. */
void next_steps_rest(struct court *k, struct verdict *v);

/* hung.c: nothing answered though clients wait; fills the candidates of the last finding */
bool is_hung(const struct court *k);
/* A client waits for an answer for longer than the p99: no state to be sure of health in. */
bool is_owed(const struct court *k);
void owed_line(struct court *k, struct finding *f);
/* What hangs in conversation n through the whole window. */
void unanswered_line(struct court *k, struct finding *f, const struct end *n);
/* Moves the demand of a server that nobody asks off its own sleeps. */
void weigh_unasked(struct court *k);
void hung_explain(struct court *k, struct verdict *v);

/* stopped.c: true when the targets were stopped most of the time, told as the first finding */
bool stopped_add(struct court *k, struct verdict *v);
/* The same where requests were open meanwhile, but not most of the time. */
void stopped_explain(struct court *k, struct finding *f);
/* Who let the targets go on most often, NO_IDX not known. */
uint32_t stopped_waker(const struct court *k);

/* tail.c: v->tail, and the first finding where the mean is healthy and the tail is not */
void tail_judge(struct court *k, struct verdict *v);

/* compare.c */
void compare(struct court *k, const struct model *base, const struct waits_result *bw,
	     struct verdict *v);
/* Nobody listens there: connections are refused, and none is answered. */
bool is_refused(const struct end *n);
#endif /* WEIGH_H */
