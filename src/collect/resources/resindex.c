/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/resources/resindex.h"

#include "wire/wire.h"

/*
 * Sockets and pipes get a device number of their own making: the true ones
 * (anonymous, major 0) differ from boot to boot and /proc does not show them.
 */
#define DEV_SOCK UINT32_MAX
#define DEV_PIPE (UINT32_MAX - 1)
#define PIPEFS_MAGIC 0x50495045u

static uint64_t inode_key(uint32_t dev, uint64_t ino)
{
	return hash_u64(ino ^ hash_u64((uint64_t)dev + 1));
}

static uint64_t find(const struct resindex *x, uint32_t dev, uint64_t ino)
{
	uint64_t res;

	return ino && hmap_get(&x->by_inode, inode_key(dev, ino), &res) ? res : 0;
}

void resindex_release(struct resindex *x)
{
	hmap_release(&x->by_inode);
	*x = (struct resindex){0};
}

void resindex_add(struct resindex *x, const struct wire_res *w)
{
	uint32_t dev = w->dev;

	switch (w->kind) {
	case RES_SOCKET:
		dev = DEV_SOCK;
		break;
	case RES_PIPE:
		if (w->magic == PIPEFS_MAGIC)
			dev = DEV_PIPE;
		break;
	case RES_FILE:
	case RES_CHARDEV:
		break;
	default:
		return;
	}
	if (!w->ino || !w->res)
		return;
	uint64_t key = inode_key(dev, w->ino);
	if (x->by_inode.cnt >= RESINDEX_MAX && !hmap_get(&x->by_inode, key, NULL)) {
		x->refused_cnt++;
		return;
	}
	hmap_put(&x->by_inode, key, w->res);
}

uint64_t resindex_find(const struct resindex *x, uint32_t dev, uint64_t ino)
{
	return find(x, dev, ino);
}

uint64_t resindex_find_sock(const struct resindex *x, uint64_t ino)
{
	return find(x, DEV_SOCK, ino);
}

uint64_t resindex_find_pipe(const struct resindex *x, uint64_t ino)
{
	return find(x, DEV_PIPE, ino);
}
