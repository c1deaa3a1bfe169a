/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GUARD_H
#define GUARD_H
/*
 * On a machine in trouble (it swaps, its CPUs are taken) a watch must not wait
 * behind what it is to explain: while it goes on, the calling thread has the
 * highest ordinary priority and its process' memory stays in RAM.
 *
 *	guard_raise, then guard_check now and then, guard_drop
 *
 * Never a real-time policy.  Threads and processes begun meanwhile do not get
 * the priority.  One that was started with a nice value of its own keeps it.
 * Locked are pages that are touched, up to GUARD_LOCK_MAX and a sixteenth of
 * the RAM.  What rights forbid is left out.
 *
 * The OOM killer goes by size, and a watch is small: its score is left alone.
 */
#include <stdint.h>

#define GUARD_LOCK_MAX (128ull << 20)

void guard_raise(void);
/* The rights that keep the memory locked once other rights are given away: rights.h. */
uint64_t guard_rights(void);
/* Lets the memory go where it has become too large. */
void guard_check(void);
void guard_drop(void);

#endif /* GUARD_H */
