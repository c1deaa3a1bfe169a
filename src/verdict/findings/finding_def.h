/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FINDING_DEF_H
#define FINDING_DEF_H
/*
 * All that there is to know of a finding, in one place.  Each file find_X.c defines one, or
 * those that share a mechanism; findings.c has them in order.
 *
 * Text goes to f by say(), refute() and lack() of context/say.h.  A function that is NULL
 * adds nothing.
 */
#include "verdict/context/context.h"

struct stall_finding;
struct stall_group;

/* Through what its demand comes: each of several locks or peers is named by itself. */
enum carrier_kind { CARRIER_ANY = 0, CARRIER_LOCK = 1, CARRIER_PEER = 2 };

struct finding_def {
	uint8_t cls;		/* enum finding_class */
	const char *name;	/* "lock-held": stable, in JSON */
	const char *title;	/* "lock held too long" */

	/* Demand: a cause goes to the first finding of the table that claims it. */
	bool (*claims)(const struct context *k, const struct cause *c);
	/* The part of a cause that cls claims which is this one's, 0..1. */
	double (*claims_part)(const struct context *k, const struct cause *c, unsigned cls);
	/* Then each in turn moves demand to itself, or on to another, of these only: 1 << cls. */
	uint32_t moves_from;
	void (*weigh)(struct context *k);
	/* The same of a group of stalls, where few waits of few requests are the evidence. */
	void (*weigh_stalls)(struct context *k, const struct stall_group *g);
	/* Seen without any demand: adds the first finding to v; true: it did. */
	bool (*find)(struct context *k, struct verdict *v);

	/* Summary, resource, culprit, evidence. */
	void (*explain)(struct context *k, struct finding *f, const struct cand *c);
	/* "Would be wrong if": the last line of it; or else what makes that line. */
	const char *refuted_if;
	void (*refute)(struct context *k, struct finding *f, const struct cand *c);
	/* Steps at the end of the chain: threads, whose functions are added, and then others. */
	void (*chain_threads)(struct context *k, struct finding *f, const struct cand *c);
	void (*chain_end)(struct context *k, struct finding *f, const struct cand *c);
	/* Missing evidence: it should show this, and this one does not. */
	void (*lacks)(struct context *k, struct finding *f, const struct cand *c);
	/* One sentence of advice; c NULL: it was made of no candidate. */
	const char *(*next_step)(struct context *k, const struct finding *f, const struct cand *c);

	/* A stall in words, without numbers; NULL: the title. */
	const char *(*stall_words)(struct context *k, const struct cand *c,
				   const struct stall_finding *s);
	/* Names the culprit of stalls where it differs from that of the mean; may change f->cls. */
	void (*stall_culprit)(struct context *k, const struct cand *c, struct finding *f);
	/* Stalls of it are worth a word; NULL: as of any, see tail/tail.c. */
	bool (*stall_counts)(const struct stall_finding *s);
	/* As the verdict on the mean of this share it yields to stalls; felt: to many. */
	bool (*yields)(const struct context *k, double share, bool felt);

	uint8_t carrier;	/* enum carrier_kind */
	uint8_t outside;	/* enum outside_kind: no function of the program can mend it */
	bool no_hold_up;	/* healthy, clients, unknown: compete with no other */
	bool not_its_own;	/* somebody else's doing, or nobody's */
	bool may_be_work;	/* part of its usual work is to wait so */
	bool is_certain;	/* known from the threads themselves, not from sums of time */
	bool stands_alone;	/* other findings are no matter any more */
	bool is_held;		/* in stalls, request threads that wait for it wait for a lock */
	bool stall_is_vague;	/* of stalls it says little, and never heads the verdict */
	bool stall_forks;	/* a fork may be what the stall went into */
	bool keeps_lines;	/* its evidence holds for stalls too */
};

#endif /* FINDING_DEF_H */
