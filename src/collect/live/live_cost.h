/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIVE_COST_H
#define LIVE_COST_H
/*
 * Inside the live source: what the watch costs, measured all along, and which
 * detail is shed so that it costs no more than it may
 * (watch_opts.max_cost_ppm; 0: nothing is shed).
 *
 *	live_cost_begin once all programs are attached, live_cost_step until
 *	live_cost_next_ns or sooner, live_cost_end before the last tick
 *
 * Never shed: the sums of states, waits of WAIT_LONG_NS and more with their
 * stacks and wakers, slow requests.
 */
#include <stdint.h>

struct live;

void live_cost_begin(struct live *l);
void live_cost_release(struct live *l);

/* now: CLOCK_MONOTONIC.  Ends and begins slices of detail, sends EV_COARSE. */
void live_cost_step(struct live *l, uint64_t now);
uint64_t live_cost_next_ns(const struct live *l);
void live_cost_end(struct live *l, uint64_t now);

/* CPU time of the BPF programs so far, with the calls of them. */
uint64_t live_cost_bpf_ns(const struct live *l);

/* The CPU time that all of the watch may have taken until now, 0: any. */
uint64_t live_cost_bound_ns(const struct live *l);

#endif /* LIVE_COST_H */
