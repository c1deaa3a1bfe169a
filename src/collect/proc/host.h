/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_H
#define HOST_H
/*
 * Host-wide sums, memory of a process and heldup's own cost, from /proc.
 * Each call opens, reads and closes; what a kernel lacks stays 0.
 */
#include <stdint.h>

struct ev_host;
struct ev_self;

/* Fills all but the header; TCP counters are of the namespace that tgid is in; 0 our own. */
void host_read_for(uint32_t tgid, struct ev_host *ret_host);

/* CPU time in use so far, of all CPUs, alone: as cpu_busy_ns. */
uint64_t host_busy_ns(void);

/* 0 and both values, or -ESRCH; a kernel thread has 0 of each. */
int host_proc_mem(uint32_t tgid, uint64_t *ret_rss_bytes, uint64_t *ret_swap_bytes);

/* cpu_ns, rss_bytes and rss_max_bytes of this process; the rest of *self is left as it is. */
void host_self(struct ev_self *self);

#endif /* HOST_H */
