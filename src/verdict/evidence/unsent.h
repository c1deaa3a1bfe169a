/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNSENT_H
#define UNSENT_H
/* Data that lay in send buffers both when the watch began and when it ended. */
#include "verdict/context/context.h"

/* Connections to with, NULL those of clients, that had the end of a message kept back. */
double held_conns(const struct context *k, const struct end *with);
/* Answers that clients do not take: connections times the window. */
double unsent_ns(const struct context *k);

#endif /* UNSENT_H */
