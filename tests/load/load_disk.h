/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOAD_DISK_H
#define LOAD_DISK_H
/*
 * Reads that go to the device each time: O_DIRECT, at random offsets.  What
 * saturates a device differs by a factor of a thousand between devices; blocks
 * of 1 MiB with 32 in flight do on all that were tried (bandwidth, not the
 * number of requests, is what a fast one runs out of).
 */
#include "load_net.h"
#include "load_sys.h"

#define DISK_MIB 512

struct load_disk {
	const char *path;
	size_t block;		/* bytes, a multiple of 4096 */
};

/* One block from a random place, with a descriptor and a buffer of the thread's own. */
LOAD_FN void load_disk_read(const struct load_disk *d)
{
	static _Thread_local int fd = -1;
	static _Thread_local void *buf;
	static _Thread_local unsigned seed;
	off_t block_cnt = (off_t)((DISK_MIB << 20) / d->block), at;

	if (!buf) {
		fd = open(d->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
		seed = (unsigned)load_tid();
		if (fd < 0 || posix_memalign(&buf, 4096, d->block))
			load_fail(d->path);
	}
	at = rand_r(&seed) % block_cnt * (off_t)d->block;
	if (pread(fd, buf, d->block, at) != (ssize_t)d->block)
		load_fail("pread");
}

#endif /* LOAD_DISK_H */
