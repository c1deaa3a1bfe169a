/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUEUE_LINES_H
#define QUEUE_LINES_H
/* Requests that wait for their turn, in words: of pools and of limits alike. */
#include "verdict/context/context.h"

/* Requests open and unread, and connections not accepted. */
void queue_lines(struct context *k, struct finding *f);
/* "; 5 of 6 requests wait for their turn", "" where fewer than one does. */
const char *queue_words(struct context *k);

#endif /* QUEUE_LINES_H */
