/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EVIDENCE_AGE_H
#define EVIDENCE_AGE_H
/* Forgetting in the control logic; private to it, as hypothesis.h. */
struct control;
struct hyp_node;
struct hyp_tree;

/* At the begin of a round's decisions: what is too old goes, and what is too many. */
void age_trees(struct control *c);
void age_decisions(struct control *c);

/* The node's young evidence, in a tree that has such. */
void age_begin(struct control *c, struct hyp_tree *t, struct hyp_node *n);

#endif /* EVIDENCE_AGE_H */
