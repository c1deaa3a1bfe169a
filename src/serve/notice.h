/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOTICE_H
#define NOTICE_H
/*
 * Is a service in trouble?  Judged once a second from what the kernel saw of its
 * requests (second.h) and from what the same service's seconds were like before:
 * no baseline is needed to begin, nothing is to be tuned.  notice.c has the table
 * of the rules, each with its reason and why it rarely errs.
 *
 *	struct rules r = {0};
 *	rules_learn for seconds known from before, rules_second for each second
 *
 * Bounded: RULES_LEARN seconds of one service.  No I/O.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/second.h"

enum { RULES_WINDOW = 5, RULES_LEARN = 120, RULES_REASON_LEN = 200 };

enum rule {
	RULE_NONE = 0,
	RULE_CRASHED,	/* a process ended by a signal that is a failure */
	RULE_SILENT,	/* answers stopped while requests wait */
	RULE_STUCK,	/* one request is open far longer than any was */
	RULE_REFUSING,	/* the queue of connections is full */
	RULE_GROWING,	/* open requests grow */
	RULE_BOUND,	/* p99 over the bound that a person set */
	RULE_SLOW,	/* p50 over what it was */
	RULE_TAIL,	/* p99 over what it was */
	RULE_CNT
};

/* One sound second as it is remembered. */
struct learnt_second {
	uint64_t p50_ns, p99_ns;   /* of the window that ended with it, 0: too few answers */
	uint64_t oldest_ns;	   /* of the requests open or unread */
	uint32_t answer_cnt;
	uint32_t open_cnt;	   /* requests open or unread at its end */
};

struct rules {
	struct learnt_second learnt[RULES_LEARN];
	uint32_t learnt_cnt;	   /* so far; the newest are kept */
	struct second window[RULES_WINDOW];
	uint32_t window_cnt;	   /* so far */
	uint32_t bad_cnt[RULE_CNT]; /* seconds in a row in which a rule's condition held */
	uint32_t calm_cnt;	   /* seconds in a row without any */
	enum rule rule;		   /* that has fired and whose trouble lasts; RULE_NONE: sound */
};

enum rules_step {
	RULES_SOUND = 0,
	RULES_BEGINS,	/* trouble: reason says which */
	RULES_LASTS,
	RULES_ENDS,
};

/*
 * p99_bound_ns 0: no bound.  *ret_since_ns: how long before this second the trouble began
 * (with RULES_BEGINS) or was last seen (RULES_ENDS).  reason is written with RULES_BEGINS.
 */
enum rules_step rules_second(struct rules *r, const struct second *s, uint64_t p99_bound_ns,
			     uint64_t *ret_since_ns, char reason[RULES_REASON_LEN]);

/* A sound second that is known from before. */
void rules_learn(struct rules *r, const struct learnt_second *l);

/* Quantiles of the seconds that count for now. */
uint64_t rules_p50_ns(const struct rules *r);
uint64_t rules_p99_ns(const struct rules *r);

/* "silent" and the like: stable, for machines and the store. */
const char *rule_name(enum rule rule);

#endif /* NOTICE_H */
