/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEERS_H
#define PEERS_H
/*
 * Who is at the other end of a socket or pipe on this host.  Works from the
 * inode numbers that netlink names and from the descriptors of processes
 * (/proc/PID/fd), which are read lazily: watched processes first, all others
 * only when an end was not found.  A pass that took t is not repeated before
 * 400 t have gone by, and not within PEERS_PASS_NS.
 *
 *	peers_new, peers_find for each socket or pipe, peers_free
 *
 * Bounds: PEERS_FD_MAX descriptors read in one pass over all processes,
 * PEERS_INODE_MAX inodes known, PEERS_BURST searches at once and
 * PEERS_PER_SEC on the whole, so that a server with thousands of new
 * connections a second costs no more than one with a few; what was left out
 * is counted.  What was learnt about namespaces, addresses and listeners is
 * kept for PEERS_KEEP_NS.
 */
#include <stddef.h>
#include <stdint.h>

struct peers;
struct resindex;
struct wire_res;

#define PEERS_FD_MAX 200000
#define PEERS_INODE_MAX 131072
#define PEERS_NETNS_MAX 16
#define PEERS_PASS_NS 1000000000u
#define PEERS_KEEP_NS 5000000000u
#define PEERS_BURST 1000
#define PEERS_PER_SEC 100

struct peer {
	uint32_t tgid;		/* 0: not on this host, or not found */
	uint64_t ino;		/* of its end, 0 unknown */
	uint64_t res;		/* resource id of its end, 0 when not seen yet */
	char comm[16];
};

/* index is borrowed and must outlive it. */
struct peers *peers_new(const struct resindex *index);
void peers_free(struct peers *p);

/* Reads the descriptors of these processes anew at the next need. */
void peers_watch(struct peers *p, const uint32_t *tgids, size_t tgid_cnt);

/*
 * The other end of w: a pipe's other process, a unix socket's peer, the
 * owner of the swapped 4-tuple in the same network namespace.  For a server
 * socket that is the client.  0 found, -ENOENT not on this host or not
 * found; *ret_peer is then all-zero.
 */
int peers_find(struct peers *p, const struct wire_res *w, struct peer *ret_peer);

/* The process that holds this socket inode, a watched one before any other; 0: none found. */
uint32_t peers_sock_owner(struct peers *p, uint64_t ino);

/* The same among the watched processes only: reads no others. */
uint32_t peers_watched_owner(struct peers *p, uint64_t ino);

/* The process that listens on this local address (a peer of a client socket), 0 none. */
uint32_t peers_listener(struct peers *p, uint32_t tgid, uint16_t family, const uint8_t *addr,
			uint16_t port);

/* Inode of the network namespace of tgid, 0 when it is gone. */
uint64_t peers_netns(struct peers *p, uint32_t tgid);

/*
 * Netlink descriptor (collect/resources/netlink_diag.h) in the network namespace of tgid,
 * borrowed until the next call; -errno.
 */
int peers_diag(struct peers *p, uint32_t tgid);

/* After a failure on it: closes it, so that the next call opens a new one. */
void peers_diag_drop(struct peers *p, int fd);

const struct resindex *peers_index(const struct peers *p);

/* Processes, inodes and searches that bounds or rights left out. */
uint64_t peers_skipped_cnt(const struct peers *p);

#endif /* PEERS_H */
