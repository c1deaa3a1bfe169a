/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FDSCAN_H
#define FDSCAN_H
/*
 * The sockets and pipes among a process's descriptors, from /proc/PID/fd.
 * About two microseconds each: callers bound how many they ask for.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fdscan_item {
	int32_t fd;
	uint64_t ino;
	bool is_pipe;		 /* else a socket */
	bool readable, writable; /* pipes only */
};

/* Non-zero stops. */
typedef int (*fdscan_fn)(void *ctx, const struct fdscan_item *item);

/*
 * Descriptors read, at most max, all kinds counted; -errno (EACCES rights,
 * ENOENT gone).  *ret_more is set when max was reached; it may be NULL.
 */
long fdscan(uint32_t tgid, size_t max, fdscan_fn fn, void *ctx, bool *ret_more);

#endif /* FDSCAN_H */
