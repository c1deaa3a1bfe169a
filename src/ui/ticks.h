/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TICKS_H
#define TICKS_H
/*
 * The sums that sources deliver as ever-growing counters, tick by tick, which gives the rate
 * of any kept tick: host, disks, own cost, losses,
 * requests of each process.  Not for threads and waits: the model splits
 * those itself.
 *
 *	ticks_new, ticks_add for each event, ticks_at ..., ticks_free
 *
 * Bounded: the newest max ticks, TICKS_PROCS processes and TICKS_DEVS disks.
 */
#include <stddef.h>
#include <stdint.h>

#include "store/event.h"

enum { TICKS_PROCS = 512, TICKS_DEVS = 32, TICKS_ENDS = 4096 };

struct ticks;

struct tick_proc {		/* in the tick, but for the three numbers as last seen */
	uint32_t tgid, open, out, unread;
	uint64_t turns, service_ns, rss_bytes;
};

struct tick {
	uint64_t begin_ns, end_ns;
	struct ev_host host;	/* differences; memory as seen */
	uint64_t self_cpu_ns, self_events, self_rss_bytes;
	uint64_t lost, lost_all;
	uint32_t dev_name;	/* string id of the busiest disk, 0 none */
	uint64_t dev_busy_ns, dev_inflight_ns;
	struct tick_proc *procs;
	size_t proc_cnt;
};

/* max 0: 64 */
struct ticks *ticks_new(uint32_t max);
void ticks_free(struct ticks *t);

/* Copies what it needs. */
void ticks_add(struct ticks *t, const struct event_hdr *ev);

/* Count of all ticks seen so far; those before _first are no longer kept. */
uint64_t ticks_cnt(const struct ticks *t);
uint64_t ticks_first(const struct ticks *t);

/* nth tick from the start, NULL when not kept.  Borrowed until the next ticks_add. */
const struct tick *ticks_at(const struct ticks *t, uint64_t nth);

/* The tick that ends at end_ns, NULL. */
const struct tick *ticks_ending(const struct ticks *t, uint64_t end_ns);

#endif /* TICKS_H */
