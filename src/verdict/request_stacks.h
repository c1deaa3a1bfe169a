/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VERDICT_HELD_H
#define VERDICT_HELD_H
/*
 * The requests' time, as the waits engine lays it, on the stacks in which it
 * was spent: what the search for functions to blame needs where all units
 * of work are slow alike, or hang, so that none deviates.
 *
 * A wait without a stack of its own is spread over the stacks of the same
 * thread's waits for the same thing, running time over the samples of the
 * thread, or else of its process.  What has neither is in the sum only.
 */
struct arena;
struct held;
struct model;
struct waits_result;

/* w: with waits_opts.by_wait.  Lives in arena. */
const struct held *verdict_held(const struct model *m, const struct waits_result *w,
				struct arena *arena);

#endif /* VERDICT_HELD_H */
