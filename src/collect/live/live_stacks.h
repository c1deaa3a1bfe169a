/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIVE_STACKS_H
#define LIVE_STACKS_H
/*
 * Stacks in the live source, a part of live_int.h.  Where no stacks are taken
 * these functions do nothing.
 *
 *	live_stacks_open, _clocks, _watch the processes that are to be watched;
 *	_begin when they are; _step between two drains of the ring, _tick at the end of a tick;
 *	live_stacks_release
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ev_wait;
struct live;
struct wire_maps;
struct wire_sample;
struct wire_stack;
struct wire_task;
struct wire_wait;

void live_stacks_open(struct live *l);
void live_stacks_release(struct live *l);
/* Samples of running threads, from here on. */
void live_stacks_clocks(struct live *l);
/* Time between two samples of a running thread, 0 when there are none. */
uint64_t live_sample_ns(const struct live *l);
/* Processes whose stacks will be walked; their code is read in _begin, for a flight at once. */
void live_stacks_watch(struct live *l, const uint32_t *tgids, size_t cnt);
void live_stacks_asked(struct live *l, const struct wire_maps *w);
/* An exec: another program's code, to be read as soon as it is asked for. */
void live_stacks_exec(struct live *l, uint32_t tgid);
/* The process ended. */
void live_stacks_exit(struct live *l, uint32_t tgid);
void live_stacks_step(struct live *l, uint64_t now);
void live_stacks_tick(struct live *l, uint64_t now, bool last);
void live_stack(struct live *l, const struct wire_stack *w, size_t size);
/* The watch has begun and all threads are seen: reads code, and walks those that sleep. */
void live_stacks_begin(struct live *l);
/* A thread that was asleep before the watch began, with its registers. */
void live_stacks_sleeper(struct live *l, const struct wire_task *w);
/* EV_STACK id of what a thread slept with then, 0 none. */
uint32_t live_stacks_asleep(const struct live *l, uint32_t tid);
/* As _step, but tells no event of it. */
void live_stacks_learn(struct live *l, uint64_t now);
/* EV_STACK id of a wait, 0 none. */
uint32_t live_wait_stack(struct live *l, const struct wire_wait *w);

/* A lock of a runtime's own takes the place of the futex that its waiter slept on. */
void live_wait_lock(struct live *l, const struct wire_wait *w, struct ev_wait *ev);
/* EV_STACK id of one of the kernel side's, 0 none. */
uint32_t live_stack_id(struct live *l, uint32_t id);
void live_sample(struct live *l, const struct wire_sample *w);
void live_stacks_loss(struct live *l, uint64_t *loss);
uint64_t live_stacks_bytes(const struct live *l);

#endif /* LIVE_STACKS_H */
