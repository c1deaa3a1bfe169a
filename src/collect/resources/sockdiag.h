/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOCKDIAG_H
#define SOCKDIAG_H
/*
 * Listeners and connections of the watched processes, asked from the kernel
 * by netlink (sock_diag) in each of their network namespaces.
 *
 *	sockdiag_new, sockdiag_snapshot at the start, at the end and whenever
 *	the backlog is to be seen, sockdiag_free
 *
 * A namespace is entered by a short-lived thread that opens the netlink
 * socket there and ends: the caller's namespaces never change.
 *
 * Bounds: SOCKDIAG_NETNS_MAX namespaces; with over SOCKDIAG_DETAIL_MAX TCP
 * sockets in one, connections are not listed, and a note says so.
 */
#include <stddef.h>
#include <stdint.h>

struct emit;
struct names;
struct peers;
struct sockdiag;

#define SOCKDIAG_NETNS_MAX 16
#define SOCKDIAG_DETAIL_MAX 10000 /* about 80 ms of CPU */

enum sockdiag_what {
	SOCKDIAG_LISTEN = 1 << 0, /* EV_LISTEN: cheap, fine once a tick */
	SOCKDIAG_CONN = 1 << 1,	  /* EV_CONN: start and end */
};

/* names and peers are borrowed and must outlive it. */
struct sockdiag *sockdiag_new(struct names *names, struct peers *peers);
void sockdiag_free(struct sockdiag *s);

/*
 * Emits what the processes own, grouped.  Failures (rights, a process that
 * is gone) become notes, once each.  what: enum sockdiag_what.
 */
void sockdiag_snapshot(struct sockdiag *s, struct emit *e, const uint32_t *tgids, size_t tgid_cnt,
		       unsigned what, uint64_t ts_ns);

/* Processes that listen on (TCP) or are bound to (UDP) port, any namespace that can be reached. */
size_t sockdiag_port_owners(uint16_t port, uint32_t *ret_tgids, size_t max_cnt);

#endif /* SOCKDIAG_H */
