/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OWED_H
#define OWED_H
/* Answers that clients wait for in vain. */
#include "verdict/context/context.h"

/* Connections that wait for an answer, lie unread or are not accepted, at the end. */
uint32_t owed(const struct context *k);
/* Requests that hang through the window for what was not seen: waits/idle/unanswered.c. */
uint32_t hung_cnt(const struct context *k);
/* Nothing was answered though clients wait, or nothing to some of them. */
bool is_hung(const struct context *k);
/* A client waits for an answer for longer than the p99: no state to be sure of health in. */
bool is_owed(const struct context *k);
void owed_line(struct context *k, struct finding *f);
/* Questions that hang in conversation n through the whole window. */
void unanswered_line(struct context *k, struct finding *f, const struct end *n);

#endif /* OWED_H */
