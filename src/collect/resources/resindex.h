/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESINDEX_H
#define RESINDEX_H
/*
 * From an inode, as /proc and netlink show it, to the resource id that the
 * kernel side gave it.  Filled from every WIRE_RES; asked by the collectors
 * that find the other end of a socket or the members of an epoll set.
 *
 * Holds pipes, sockets, FIFOs, devices and files; not futexes, and not
 * anonymous inodes, which share one number.  Bounded at RESINDEX_MAX, then
 * new ones are refused and counted.
 */
#include <stdint.h>

#include "base/hash.h"

struct wire_res;

#define RESINDEX_MAX 65536

struct resindex {
	struct hmap by_inode;
	uint64_t refused_cnt;
};

void resindex_release(struct resindex *x);
void resindex_add(struct resindex *x, const struct wire_res *w);

/* 0 when unknown.  dev: kernel dev_t of the superblock, 0 for sockets. */
uint64_t resindex_find(const struct resindex *x, uint32_t dev, uint64_t ino);

/* Sockets and pipes live on one kernel-internal mount each: their inode alone tells them. */
uint64_t resindex_find_sock(const struct resindex *x, uint64_t ino);
uint64_t resindex_find_pipe(const struct resindex *x, uint64_t ino);

#endif /* RESINDEX_H */
