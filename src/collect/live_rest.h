/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIVE_REST_H
#define LIVE_REST_H
/*
 * Inside the live source: rests that keep its cost below watch_opts.max_cost_ppm.
 *
 *	live_rest_begin at the start of the watch, live_rest_step now and then,
 *	around the tick that ends a turn: live_rest_pause, live_rest_sleep
 *
 * Without such a limit all of it does nothing.
 */
#include <stdint.h>

struct event_sink;
struct live;
struct live_bpf;

/* CLOCK_MONOTONIC without the rests: the clock of all events. */
uint64_t live_now(const struct live *l);
uint64_t live_rested_ns(const struct live *l);

void live_rest_begin(struct live *l);
void live_rest_release(struct live *l);

/* Takes off what the kernel counted by itself during rests; sink gets what is left. */
struct event_sink *live_rest_sink(struct live *l, struct event_sink *sink);

void live_rest_step(struct live *l, uint64_t now);
void live_rest_pause(struct live *l);
void live_rest_sleep(struct live *l);

/* live_bpf.c: takes off, puts back what runs most often.  _rise: 0 or -errno. */
void live_bpf_rest(struct live_bpf *b);
int live_bpf_rise(struct live_bpf *b);

/* What the BPF programs took so far, from what was measured; 0 unknown. */
uint64_t live_rest_bpf_ns(const struct live *l);

#endif /* LIVE_REST_H */
