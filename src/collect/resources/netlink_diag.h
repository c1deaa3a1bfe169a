/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETLINK_DIAG_H
#define NETLINK_DIAG_H
/*
 * The kernel's socket tables through netlink (sock_diag), one network
 * namespace per descriptor.
 *
 *	int fd = diag_open(tgid);  diag_inet, diag_unix ...  close(fd)
 *
 * Blocking, but each answer of the kernel is there when the call returns;
 * a receive limit of one second guards against a kernel that never ends.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIAG_PATH_LEN 108

enum diag_state { /* of the kernel's TCP; unix sockets use the same two */
	DIAG_ESTABLISHED = 1,
	DIAG_SYN_SENT = 2,
	DIAG_CLOSE = 7, /* an unconnected UDP socket */
	DIAG_CLOSE_WAIT = 8,
	DIAG_LISTEN = 10,
};

struct diag_sock {
	uint16_t family; /* AF_INET, AF_INET6, AF_UNIX */
	uint8_t state, type;
	uint16_t lport, rport;	     /* host order */
	uint8_t laddr[16], raddr[16];
	uint32_t ino, peer_ino;	     /* peer: unix */
	uint32_t rqueue, wqueue;     /* listener: waiting, limit; else bytes */
	bool has_info;		     /* TCP, when asked for: */
	uint32_t sent_ago_ms, recv_ago_ms;
	uint64_t received_bytes, acked_bytes;
	uint32_t sent_segs;	     /* with data */
	bool held_back;		     /* see is_held_back */
	char path[DIAG_PATH_LEN + 1];/* unix; "@name" for abstract ones */
};

/* Non-zero stops the dump and is returned. */
typedef int (*diag_fn)(void *ctx, const struct diag_sock *sock);

struct diag_inet_query {
	int family, proto;   /* AF_INET or AF_INET6, IPPROTO_TCP or IPPROTO_UDP */
	uint32_t states;     /* 1 << enum diag_state */
	bool want_info;
};

/* Descriptor in the network namespace of tgid, 0 our own; -errno (EPERM: needs CAP_SYS_ADMIN). */
int diag_open(uint32_t tgid);

int diag_inet(int fd, const struct diag_inet_query *q, diag_fn fn, void *ctx);
int diag_unix(int fd, uint32_t states, diag_fn fn, void *ctx);

/*
 * The one TCP socket with these ends, seen from itself: local first.  Where
 * there is no connection but a listener that would take it, that listener.
 * 0 or -ENOENT.
 */
int diag_find_tcp(int fd, const struct diag_sock *ends, struct diag_sock *ret_sock);

int diag_find_unix(int fd, uint32_t ino, struct diag_sock *ret_sock);

#endif /* NETLINK_DIAG_H */
