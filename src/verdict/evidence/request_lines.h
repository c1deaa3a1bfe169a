/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUEST_LINES_H
#define REQUEST_LINES_H
/* Lines of evidence that several findings have: requests, waits, the busiest thread. */
#include "verdict/context/context.h"

/* The address that clients connect to: as it is listened on, or as one was seen to. */
const char *served_at(struct context *k);
/* The conversations that clients have with the target, and answers that it owes. */
void request_lines(struct context *k, struct finding *f);
void busiest_line(struct context *k, struct finding *f);
/* Waits of t's process for res, one by one; nothing of NO_IDX. */
void waits_line(struct context *k, struct finding *f, uint32_t t, uint32_t res);

#endif /* REQUEST_LINES_H */
