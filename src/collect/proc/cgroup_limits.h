/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUP_LIMITS_H
#define CGROUP_LIMITS_H
/*
 * Reads the limit and counter files of one cgroup directory into an
 * EV_CGROUP; a file that is missing leaves its fields as they are.
 * Each parser takes the text of one file.  Used by cgroups.c only.
 */
#include <stdint.h>

struct ev_cgroup;

void cgroup_read_v2(int dir_fd, struct ev_cgroup *ev);
void cgroup_read_v1_cpu(int dir_fd, struct ev_cgroup *ev);
void cgroup_read_v1_blkio(int dir_fd, struct ev_cgroup *ev);
void cgroup_read_v1_memory(int dir_fd, struct ev_cgroup *ev);

/* "max 100000" or "50000 100000" */
void cgroup_parse_cpu_max(const char *text, struct ev_cgroup *ev);
/* cpu.stat of either version: throttled_usec or throttled_time (ns) */
void cgroup_parse_cpu_stat(const char *text, struct ev_cgroup *ev);
/* io.max: a line "8:16 rbps=max wbps=1048576 ..." for each device; the smallest counts */
void cgroup_parse_io_max(const char *text, struct ev_cgroup *ev);
/* blkio.throttle.*_device: lines "8:16 1048576"; the smallest, 0 none */
uint64_t cgroup_parse_throttle(const char *text);
/* memory.max and the like: "max" or bytes; 0 none */
uint64_t cgroup_parse_limit(const char *text);

#endif /* CGROUP_LIMITS_H */
