/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/proc/fdscan.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "reads/ops.h"
#include "reads/reads.h"

long fdscan(uint32_t tgid, size_t max, fdscan_fn fn, void *ctx, bool *ret_more)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	long got = reads_fds(tgid, max < UINT32_MAX ? (uint32_t)max : UINT32_MAX, &bytes);
	struct read_fds_out head;
	struct read_fds_item item;

	if (got < (long)sizeof(head))
		return got < 0 ? got : -EIO;
	memcpy(&head, bytes.data, sizeof(head));
	for (size_t at = sizeof(head); at + sizeof(item) <= bytes.len; at += sizeof(item)) {
		memcpy(&item, bytes.data + at, sizeof(item));
		struct fdscan_item one = {.fd = item.fd, .ino = item.ino,
					  .is_pipe = item.flags & READ_FD_PIPE,
					  .readable = item.flags & READ_FD_READ,
					  .writable = item.flags & READ_FD_WRITE};
		if (fn(ctx, &one))
			break;
	}
	if (head.more && ret_more)
		*ret_more = true;
	return head.seen_cnt;
}
