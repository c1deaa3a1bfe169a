/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONVERSATIONS_H
#define CONVERSATIONS_H
/* The conversation, and the process at its other end, that a cause ended at or came through. */
#include "verdict/context/context.h"

/* Model index in ends of a socket, or of a cause; NO_IDX none. */
uint32_t end_of_res(const struct model *m, uint32_t res);
uint32_t end_of_cause(const struct model *m, const struct cause *c);
/* Process of this host that c ended in, not one of the targets; NO_IDX none. */
uint32_t peer_of_cause(const struct context *k, const struct cause *c);
/* It ended in the sleep of a program that a target runs, as a CGI's is. */
bool sleeps_in_program(const struct context *k, const struct cause *c);
/* Two namespaces or hosts lie between, even where the process at the other end is known. */
bool through_network(const struct context *k, const struct cause *c);
/* A unix socket or a loopback address, whether its process is known or not. */
bool on_this_host(const struct context *k, const struct cause *c);
/* Nobody listens there: connections are refused, and none is answered. */
bool is_refused(const struct end *n);

#endif /* CONVERSATIONS_H */
