/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MACHINE_H
#define MACHINE_H
/* Use of the machine over the window: plain values, part of model/model.h. */
#include <stdint.h>

struct culprit {
	uint32_t victim, culprit; /* tgid */
	const char *comm;
	uint32_t tid;
	uint64_t ns, cnt;
};

struct disk_use {
	uint32_t dev, tgid, tid, op; /* tid 0: not one of the watched */
	const char *comm;
	uint64_t ios, sectors, lat_ns, lat_max_ns;
};

struct dev { uint32_t dev; const char *name; uint64_t busy_ns, inflight_ns; };
struct cgroup {
	uint64_t id;
	const char *path;
	uint32_t tgid;	    /* a watched process inside, targets before peers; 0 unknown */
	uint64_t nr_periods, nr_throttled, throttled_ns; /* over the window */
	uint64_t quota_us, period_us, io_rbps, io_wbps, io_riops, io_wiops;
	uint64_t mem_limit_bytes, mem_used_bytes, mem_failcnt;
};

#endif /* MACHINE_H */
