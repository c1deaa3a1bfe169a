/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATH_PROCS_H
#define PATH_PROCS_H
/* Facts of processes that following their requests needs, from /proc. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each TCP port that somebody listens on in the network namespaces of the processes. */
void path_procs_ports(const uint32_t *tgids, size_t cnt, void (*port)(void *ctx, uint16_t port),
		      void *ctx);

/*
 * Does its runtime switch between tasks on one thread without the kernel?  So Go's
 * does, which is known by the build id that its linker writes; false where nothing
 * can be read.
 */
bool path_proc_switches(uint32_t tgid);

#endif /* PATH_PROCS_H */
