/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATHS_RULES_H
#define PATHS_RULES_H
/*
 * By which evidence a call belongs to a request: the rules in the order in which
 * they are applied, and their gates.  A call that an earlier rule has given to a
 * request stays there.  Every rule refuses what would lie outside of
 * [arrival, last reply] of the request.
 *
 * The reply is the main evidence, not the wake: a thread that is busy takes its
 * next task without being woken.  What looks forward is believed only in a
 * process where calls known by earlier rules confirm it (`gated`).  What no rule
 * gives stays unknown.
 */
#include <stdbool.h>

enum call_rule {
	PATH_RULE_NONE,
	PATH_RULE_THREAD,	/* one open request was read by the thread that calls */
	PATH_RULE_FINISH,	/* a worker's calls since the reply before are of this reply */
	PATH_RULE_RESULT,	/* the caller wakes who waits for it with one open request */
	PATH_RULE_ANSWER,	/* an answer was read, then a reply sent, no read between */
	PATH_RULE_READ,		/* a request was read, then a call sent, no read between */
	PATH_RULE_NEXT,		/* an answer was read, then the next call sent */
	PATH_RULE_IDLE,		/* who has one open request wakes an idle thread that calls */
	PATH_RULE_ONLY,		/* one open request of the process contains the call */
	PATH_RULE_SIBLING,	/* starts beside a call of the request and overlaps it */
	PATH_RULE_CNT,
};

struct call_rule_def {
	const char *name;
	bool gated;		/* by what calls known by earlier rules confirm */
	bool likely;		/* what it gives is likely, not sure */
};

extern const struct call_rule_def call_rules[PATH_RULE_CNT];

/*
 * Gates.  Measured on some thirty shapes of servers at 1, 16 and 128 requests in
 * flight; docs/requests.md has the table.
 */
#define PATH_GATE_AGREE 0.995	/* so many of those known must agree ... */
#define PATH_GATE_CNT 20	/* ... and at least so many must be known */
/*
 * Of the answers so many are followed by a reply or a next call: replies come from
 * answers here.  Below, as with a timer between, the few that are look like
 * others' by chance.
 */
#define PATH_GATE_HABIT 0.97
/* So many of the known calls of one request that overlap start side by side. */
#define PATH_GATE_BESIDE 0.90
/* A thread is a loop that has read a request while another was open for so many of its reads. */
#define PATH_LOOP_SHARE 0.01
/* A worker that replies has no call under way, but for so many of its replies. */
#define PATH_BUSY_SHARE 0.02
/* Requests without a known call: if more, requests here need not make any. */
#define PATH_IDLE_SHARE 0.05
/*
 * A peer that waits for each reply acknowledges all of it with its next bytes, and has
 * sent nothing that lies unread when the reply begins.  In so many exchanges of a
 * connection it did not wait: one is an upload that was answered early.  The first ones
 * of a connection do not count, since handshakes overlap what follows.
 */
#define PATH_OVERLAP_CNT 2
#define PATH_SETUP_CNT 2
/*
 * So many calls, and such a share of those that led to a reply, began before what was
 * read last on the reply's connection: they are an earlier request's, which is answered
 * after the next one came.  Fewer are work between two requests, such as a ping.
 */
#define PATH_CROSS_CNT 2
#define PATH_CROSS_SHARE 0.1
/* Calls that no open request contains, as those of a timer, of all calls of the process. */
#define PATH_ALONE_SHARE 0.05

#endif /* PATHS_RULES_H */
