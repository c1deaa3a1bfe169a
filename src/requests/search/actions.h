/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTIONS_H
#define ACTIONS_H
/*
 * What a round asks for, and how it is said.  Private to the control logic:
 * strategies (strategy_hedge.c, strategy_vaif.c) append actions, control.c takes them, located.c
 * keeps what was located.
 */
#include "requests/search/hypothesis.h"

struct action {
	uint32_t tree, node;
	struct edge_class edge;	/* point FOREST_NONE: none */
	uint64_t only;		/* as a node's */
	struct pick pick;
	double score, gain_ns;
	struct forest_decision why; /* the numbers; its words are filled in when it is taken */
};

struct actions {
	VEC(struct action) items;
};

/* Ours: strategy_hedge.c.  The paper's: strategy_vaif.c.  Append what the tree asks for. */
void weigh_tree(struct control *c, uint32_t tree, struct actions *out);
void paper_tree(struct control *c, uint32_t tree, struct actions *out);

/* Notes a decision; words are printf's, in c->arena. */
void control_note(struct control *c, const struct forest_decision *d, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- located.c */

/* An edge found once is so many times as likely to be found as another. */
#define TRUST_FOUND 3

/*
 * The edge is as small as it gets.  Several nodes may say so of one edge: that
 * is one finding, in which each request counts once.
 */
void control_found(struct control *c, const struct action *a);

/* Was the edge dealt with for (most of) the same requests in another node: then it is here too. */
bool found_elsewhere(struct control *c, const struct action *a);

/* "exit of service/name". */
const char *event_words(struct control *c, struct forest_event e);
const char *point_words(struct control *c, uint32_t point);
/* "begin of service/name"; both sides are the name alone. */
const char *sided_words(struct control *c, uint32_t point, uint32_t sides);

struct forest_decision decision_blank(const struct control *c, uint32_t tree, uint32_t node,
				      enum decision_kind kind);
void hidden_query_of(const struct control *c, uint32_t tree, uint32_t node,
		     const struct edge_class *edge, struct hidden_query *ret);
struct search search_of(const struct control *c, const struct hyp_tree *t, double fresh);

#endif /* ACTIONS_H */
