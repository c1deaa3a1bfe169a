/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEBUGINFOD_H
#define DEBUGINFOD_H
/*
 * Asking the servers of DEBUGINFOD_URLS for a debug file by build id, through
 * elfutils' client library, which is loaded when it is first needed and keeps
 * what it fetched in its own cache.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod;

/* True when the environment names a server; nothing is loaded or asked. */
bool debuginfod_wanted(void);

/*
 * max_bytes: of all files together; a server that sends without end would fill
 * the disk.  NULL when no server is named or the library is not there.
 */
struct debuginfod *debuginfod_new(uint64_t max_bytes);
void debuginfod_free(struct debuginfod *d);

/*
 * A descriptor and *ret_path, the caller's.  Waits until deadline_ns
 * (clock_mono_ns) at most.  -ETIME then, -EFBIG for more bytes than are left, of
 * which the client's cache keeps none, -ENOENT when no server has it, or the
 * client's -errno.
 */
int debuginfod_open(struct debuginfod *d, const uint8_t *build_id, size_t len,
		    uint64_t deadline_ns, char **ret_path);

#endif /* DEBUGINFOD_H */
