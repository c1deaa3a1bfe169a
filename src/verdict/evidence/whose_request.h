/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WHOSE_REQUEST_H
#define WHOSE_REQUEST_H
/* The client whose request a thread has in hand, by the socket that it used last. */
#include "verdict/context/context.h"

struct proc;

/* The one process at the other ends of p's connections with clients, 0: several, or not known. */
uint32_t only_client(const struct context *k, const struct proc *p, const char **ret_comm);
/* "psql (pid 9082) at 127.0.0.1:51690"; "" where it serves many clients, or none was seen. */
const char *whose_request(struct context *k, uint32_t thread);

#endif /* WHOSE_REQUEST_H */
